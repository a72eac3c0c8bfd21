"""Two at once, on whichever database this lane has: one wins, and nothing happens twice."""

import pytest

from console.approvals import services as approvals
from console.approvals.models import Approval
from console.audit.models import AuditEntry
from console.common.errors import Conflict, InvalidInput, NotFound
from console.tenants import services
from console.tenants.closing import ask_to_close
from console.tenants.models import Membership, Project, Tenant, User
from console.tenants.queries import actor_for_user
from tests import factories
from tests.billing.test_concurrency import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def refused(results: list[object]) -> list[type]:
    return [type(result) for result in results if isinstance(result, Exception)]


def test_two_who_approve_at_once_do_it_once() -> None:
    tenant = factories.make_tenant()
    asker, *others = [actor_for_user(factories.make_user(role="operator")) for _ in range(3)]
    row = ask_to_close(asker, tenant, "contract ended")
    results = at_once(*[lambda who=who: approvals.approve(who, row) for who in others])
    assert [issubclass(kind, Conflict) for kind in refused(results)] == [True]
    assert Approval.objects.get().state == "executed"
    assert AuditEntry.objects.filter(action="tenant.close").count() == 1


def test_one_asks_for_the_same_once() -> None:
    tenant = factories.make_tenant()
    both = [actor_for_user(factories.make_user(role="operator")) for _ in range(2)]
    results = at_once(*[lambda who=who: ask_to_close(who, tenant, "contract ended") for who in both])
    assert refused(results) == [Conflict]
    assert Approval.objects.count() == 1


def test_an_invitation_is_accepted_once() -> None:
    tenant = factories.make_tenant()
    owner = actor_for_user(factories.make_member(tenant, "owner"))
    user = factories.make_user("ada@example.test")
    _, secret = services.invite(owner, tenant, user.email, "member")
    results = at_once(*[lambda: services.accept_invitation(secret, user)] * 2)
    assert len(refused(results)) == 1
    assert set(refused(results)) <= {Conflict, NotFound}
    assert Membership.objects.filter(user=user).count() == 1
    assert AuditEntry.objects.filter(action="invitation.accept").count() == 1


def test_two_owners_who_leave_at_once_leave_one() -> None:
    tenant = factories.make_tenant()
    users = [factories.make_member(tenant, "owner") for _ in range(2)]
    results = at_once(*[lambda user=user: services.remove_member(actor_for_user(user), tenant, user) for user in users])
    assert refused(results) == [Conflict]
    assert Membership.objects.filter(tenant=tenant, role="owner").count() == 1


def test_two_parts_at_once_are_no_more_than_the_whole() -> None:
    tenant = factories.make_tenant()
    Tenant.objects.filter(pk=tenant.pk).update(limit_share_bp=30_000)
    owner = actor_for_user(factories.make_member(tenant, "owner"))
    factories.make_project(tenant, "other")
    rows = list(Project.objects.filter(tenant=tenant).select_related("tenant"))
    limits = {"limit_share_bp": 20_000, "limit_running_jobs": None}
    results = at_once(*[lambda row=row: services.set_project_limits(owner, row, **limits) for row in rows])
    assert refused(results) == [InvalidInput]
    assert sorted(Project.objects.values_list("limit_share_bp", flat=True), key=str) == [20_000, None]
    assert User.objects.count() == 1
