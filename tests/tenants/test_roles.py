"""Roles in tenants and projects: who may give them, what they narrow and widen."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.audit.models import AuditEntry
from console.common.actor import Actor, PlatformRole, system
from console.common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from console.tenants import queries, services
from console.tenants.models import Membership, Project, ProjectMembership
from pool.scheduling.models import Job
from pool.scheduling.services import submit_job
from tests import factories
from tests.conftest import Actors

JOB: dict[str, Any] = {"name": "one", "tenant": "aurora", "command": ["true"], "gpus": 1}


def again(actors: Actors, who: str) -> Actor:
    return queries.actor_for_user(actors.users[who])


def project(actors: Actors, slug: str = "default") -> Project:
    return Project.objects.get(tenant=actors.a, slug=slug)


@pytest.mark.parametrize("held", ["operator", "finance", "auditor"])
@pytest.mark.parametrize("wanted", ["operator", "finance", "auditor", ""])
def test_no_platform_role_gives_one(actors: Actors, held: str, wanted: str) -> None:
    for user in (actors.users[held], actors.users["viewer_a"]):
        with pytest.raises(NotAllowed):
            services.set_platform_role(getattr(actors, held), user, wanted)
        user.refresh_from_db()
        assert user.platform_role == (held if user == actors.users[held] else "")


def test_a_command_on_the_server_gives_one_and_says_who(actors: Actors) -> None:
    user = actors.users["viewer_a"]
    services.set_platform_role(system("command line"), user, "auditor")
    user.refresh_from_db()
    assert (user.platform_role, user.platform_role_by) == (PlatformRole.AUDITOR, "command line")
    assert user.platform_role_at is not None
    assert AuditEntry.objects.filter(action="user.platform_role").count() == 1
    with pytest.raises(Conflict):  # who works in a tenant audits nobody
        services.set_platform_role(system("command line"), actors.users["member_a"], "auditor")


def test_an_auditor_or_finance_officer_does_no_tenants_work(actors: Actors) -> None:
    for who in ("auditor", "finance"):
        for role in ("owner", "member"):
            with pytest.raises(Conflict):
                services.add_member(actors.owner_a, actors.a, actors.users[who], role)
        services.add_member(actors.owner_a, actors.a, actors.users[who], "viewer")
        with pytest.raises(Conflict):
            services.set_project_role(actors.owner_a, project(actors), actors.users[who], "member")


def test_nobody_gives_themselves_a_role(actors: Actors) -> None:
    services.set_project_role(actors.owner_a, project(actors), actors.users["member_a"], "admin")
    admin = again(actors, "member_a")
    for role in ("viewer", "admin", ""):
        with pytest.raises(NotAllowed):
            services.set_project_role(admin, project(actors), actors.users["member_a"], role)
    with pytest.raises(NotAllowed):
        services.add_member(actors.operator, actors.a, actors.users["operator"], "owner")
    with pytest.raises(NotAllowed):  # an admin of a project administers no role in the tenant
        services.add_member(admin, actors.a, actors.users["viewer_a"], "member")


def test_a_project_role_narrows_a_member(actors: Actors) -> None:
    factories.make_node(devices=1)
    assert submit_job(actors.member_a, JOB).project.slug == "default"
    services.set_project_role(actors.owner_a, project(actors), actors.users["member_a"], "viewer")
    narrowed = again(actors, "member_a")
    with pytest.raises(NotAllowed):
        submit_job(narrowed, JOB)
    factories.make_project(actors.a, "other")
    assert submit_job(narrowed, JOB | {"project": "other"}).project.slug == "other"
    assert Job.objects.count() == 2


def test_a_project_role_widens_a_viewer_there_only(actors: Actors) -> None:
    factories.make_node(devices=1)
    factories.make_project(actors.a, "other")
    services.set_project_role(actors.owner_a, project(actors), actors.users["viewer_a"], "member")
    widened = again(actors, "viewer_a")
    assert submit_job(widened, JOB).submitted_by_id == widened.user_id
    with pytest.raises(NotAllowed):
        submit_job(widened, JOB | {"project": "other"})
    client = Client()
    client.force_login(actors.users["viewer_a"])
    page = client.get("/jobs/submit/").content.decode()
    assert 'value="default"' in page
    assert 'value="other"' not in page


def test_a_project_role_is_for_members_of_the_tenant(actors: Actors) -> None:
    with pytest.raises(InvalidInput) as refusal:
        services.set_project_role(actors.owner_a, project(actors), actors.users["member_b"], "viewer")
    assert refusal.value.errors[0].field == "user"
    with pytest.raises(NotAllowed):
        services.set_project_role(actors.owner_b, project(actors), actors.users["member_b"], "viewer")


def test_who_leaves_loses_project_roles_and_bound_tokens(actors: Actors) -> None:
    services.set_project_role(actors.owner_a, project(actors), actors.users["member_a"], "admin")
    token, _ = services.create_token(actors.member_a, name="x", scopes=["jobs:read"], tenant=actors.a)
    services.remove_member(actors.owner_a, actors.a, actors.users["member_a"])
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert not ProjectMembership.objects.exists()
    assert (again(actors, "member_a").tenants, again(actors, "member_a").projects) == ({}, {})
    with pytest.raises(NotFound):
        services.remove_member(actors.owner_a, actors.a, actors.users["member_a"])


def test_a_tenant_keeps_an_owner(actors: Actors) -> None:
    for act in (
        lambda: services.remove_member(actors.owner_a, actors.a, actors.users["owner_a"]),
        lambda: services.add_member(actors.operator, actors.a, actors.users["owner_a"], "member"),
    ):
        with pytest.raises(Conflict) as refusal:
            act()
        assert refusal.value.code == "last_owner"
    services.add_member(actors.owner_a, actors.a, actors.users["member_a"], "owner")
    services.remove_member(actors.owner_a, actors.a, actors.users["owner_a"])
    assert Membership.objects.get(tenant=actors.a, role="owner").user == actors.users["member_a"]


def test_roles_cost_one_query(actors: Actors, django_assert_num_queries: Any) -> None:
    for each in ("default", "one", "two"):
        found = Project.objects.filter(tenant=actors.a, slug=each).first() or factories.make_project(actors.a, each)
        services.set_project_role(actors.owner_a, found, actors.users["member_a"], "viewer")
    with django_assert_num_queries(1):
        found_actor = again(actors, "member_a")
    assert len(found_actor.projects) == 3


def test_the_command(actors: Actors) -> None:
    call_command("platform_role", "viewer@aurora.test", "auditor")
    user = actors.users["viewer_a"]
    user.refresh_from_db()
    assert user.platform_role == "auditor"
    call_command("platform_role", "viewer@aurora.test", "none")
    user.refresh_from_db()
    assert user.platform_role == ""
    for email, role in (("member@aurora.test", "finance"), ("nobody@example.test", "finance")):
        with pytest.raises(CommandError):
            call_command("platform_role", email, role)
