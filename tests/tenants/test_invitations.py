"""Invitations: one link, once, for one address."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from console.audit.models import AuditEntry
from console.common import clock
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from console.tenants import services
from console.tenants.models import Invitation, Membership, Tenant, User
from tests import factories
from tests.conftest import Actors

NEW = "ada@example.test"
PASSWORD = "a long pass phrase 7"


def invite(actors: Actors, who: str = "owner_a", **more: Any) -> tuple[Invitation, str]:
    facts: dict[str, Any] = {"email": NEW, "role": "member", **more}
    return services.invite(getattr(actors, who), actors.a, **facts)


def test_the_secret_is_kept_nowhere(actors: Actors) -> None:
    row, secret = invite(actors)
    assert secret not in str(Invitation.objects.values().get())
    assert secret not in AuditEntry.objects.get(action="invitation.create").text
    assert (row.invited_by_label, row.role) == ("owner@aurora.test", "member")


def test_a_new_person_accepts_with_a_password_and_is_in(actors: Actors) -> None:
    _, secret = invite(actors)
    client = Client()
    assert "Choose a password" in client.get(f"/invitation/{secret}/").content.decode()
    assert client.post(f"/invitation/{secret}/", {"password": "short"}).status_code == 422
    assert not User.objects.filter(email=NEW).exists()
    assert client.post(f"/invitation/{secret}/", {"password": PASSWORD}).status_code == 302
    member = Membership.objects.get(user__email=NEW)
    assert (member.tenant, member.role, member.granted_by) == (actors.a, "member", "owner@aurora.test")
    assert client.get("/jobs/").status_code == 200
    assert Client().post(f"/invitation/{secret}/", {"password": PASSWORD}).status_code == 404
    assert AuditEntry.objects.filter(action="invitation.accept").count() == 1


def test_who_has_an_account_signs_in_first(actors: Actors) -> None:
    user = factories.make_user(NEW)
    _, secret = invite(actors)
    assert "sign in, then accept" in Client().get(f"/invitation/{secret}/").content.decode()
    assert Client().post(f"/invitation/{secret}/", {"password": PASSWORD}).status_code == 422
    other = Client()
    other.force_login(actors.users["member_b"])
    assert other.post(f"/invitation/{secret}/").status_code == 403
    assert not Membership.objects.filter(user=user).exists()
    client = Client()
    client.force_login(user)
    assert client.post(f"/invitation/{secret}/").status_code == 302
    assert Membership.objects.get(user=user).role == "member"


@pytest.mark.parametrize("how", ["expired", "revoked", "inviter demoted", "inviter gone", "tenant closed", "unknown"])
def test_a_void_link_gives_nothing(actors: Actors, how: str) -> None:
    row, secret = invite(actors)
    if how == "expired":
        Invitation.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    if how == "revoked":
        services.revoke_invitation(actors.owner_a, row)
    if how == "inviter demoted":
        Membership.objects.filter(user=actors.users["owner_a"]).update(role="member")
    if how == "inviter gone":
        User.objects.filter(pk=actors.users["owner_a"].pk).update(is_active=False)
    if how == "tenant closed":
        actors.a.state = "closed"
        actors.a.save()
    secret = "x" * 43 if how == "unknown" else secret
    with pytest.raises(NotFound):
        services.accept_invitation(secret, None, PASSWORD)
    assert Client().get(f"/invitation/{secret}/").status_code == 404
    assert not User.objects.filter(email=NEW).exists()


def test_who_may_invite_whom(actors: Actors) -> None:
    for who in ("member_a", "viewer_a", "billing_a", "owner_b", "finance", "auditor"):
        with pytest.raises(NotAllowed):
            invite(actors, who)
    with pytest.raises(NotAllowed):
        services.invite(system("x"), actors.a, NEW, "member")
    with pytest.raises(Conflict):
        invite(actors, email="member@aurora.test")
    with pytest.raises(NotAllowed):  # nobody invites themselves
        invite(actors, "operator", email="operator@example.test")
    for wrong, field in (({"email": "no"}, "email"), ({"role": "king"}, "role"), ({"days": 31}, "days")):
        with pytest.raises(InvalidInput) as refusal:
            invite(actors, **wrong)
        assert refusal.value.errors[0].field == field
    assert not Invitation.objects.exists()
    invite(actors)
    with pytest.raises(Conflict):
        invite(actors)


def test_revoking_twice_is_one_entry_and_accepted_ones_stay(actors: Actors) -> None:
    row, secret = invite(actors)
    services.accept_invitation(secret, None, PASSWORD)
    with pytest.raises(Conflict):
        services.revoke_invitation(actors.owner_a, row)
    other, _ = invite(actors, email="b@example.test")
    services.revoke_invitation(actors.owner_a, other)
    services.revoke_invitation(actors.owner_a, other)
    assert AuditEntry.objects.filter(action="invitation.revoke").count() == 1


def test_the_page_shows_the_link_once_and_mails_it(actors: Actors) -> None:
    client = Client()
    client.force_login(actors.users["owner_a"])
    path = f"/tenants/{actors.a.public_id}/people/"
    page = client.post(f"{path}invite", {"email": NEW, "role": "viewer", "days": "7"}).content.decode()
    found = re.search(r"http://testserver/invitation/([\w-]{43})/", page)
    assert found is not None
    assert [one.to for one in mail.outbox] == [[NEW]]
    assert found.group(0) in mail.outbox[0].body
    again = client.get(path).content.decode()
    assert NEW in again
    assert found.group(1) not in again
    assert client.post(f"{path}invite", {"email": "no", "role": "viewer", "days": "7"}).status_code == 422


def test_a_new_tenant_can_work_at_once(actors: Actors) -> None:
    factories.make_node(devices=1)
    client = Client()
    client.force_login(actors.users["operator"])
    form = {"slug": "cirrus", "name": "Cirrus", "currency": "CNY", "time_zone": "Asia/Shanghai", "owner": NEW}
    page = client.post("/tenants/new/", form).content.decode()
    found = re.search(r"/invitation/[\w-]{43}/", page)
    assert found is not None
    owner = Client()
    assert owner.post(found.group(0), {"password": PASSWORD}).status_code == 302
    assert owner.post("/jobs/submit/", {"name": "one", "command": "true", "gpu_mode": "whole"}).status_code == 302
    assert Membership.objects.get(tenant__slug="cirrus").role == "owner"
    assert client.post("/tenants/new/", form).status_code == 409
    assert client.post("/tenants/new/", {**form, "slug": "x", "owner": "operator@example.test"}).status_code == 403
    assert not Tenant.objects.filter(slug="x").exists()


def test_without_a_mail_server_the_page_says_so(actors: Actors, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    row, _ = invite(actors)
    assert services.mail_invitation(row, "link") is False
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    assert services.mail_invitation(row, "link") is False
    row.refresh_from_db()
    assert row.mailed_at is None
