"""What needs a second person: never the same one, once, with the rights of now."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from billing.catalog.backdating import ask_to_backdate
from billing.catalog.models import Price
from billing.catalog.services import set_price
from console.approvals import actions, queries, services
from console.approvals.models import Approval
from console.audit.models import AuditEntry
from console.common import clock
from console.common.actor import Actor, system
from console.common.errors import Conflict, InvalidInput, NotAllowed, NotFound
from console.tenants import services as tenants
from console.tenants.closing import ask_to_close
from console.tenants.models import Tenant, User
from console.tenants.queries import actor_for_token, actor_for_user
from pool.inventory.draining import ask_to_drain
from pool.inventory.models import Node
from tests import factories
from tests.conftest import Actors


def second(role: str = "operator") -> Actor:
    return actor_for_user(factories.make_user(f"second-{role}@example.test", role))


def ask(actors: Actors) -> Approval:
    return ask_to_close(actors.operator, actors.a, "contract ended")


def state_of(actors: Actors) -> str:
    return Tenant.objects.values_list("state", flat=True).get(pk=actors.a.pk)


def test_the_requester_never_approves(actors: Actors) -> None:
    row = ask(actors)
    assert state_of(actors) == "active"
    with pytest.raises(NotAllowed):
        services.approve(actors.operator, row)
    row.refresh_from_db()
    assert (row.state, state_of(actors)) == ("pending", "active")


def test_another_with_the_right_does_and_it_happens_once(actors: Actors) -> None:
    row, other = ask(actors), second()
    assert services.approve(other, row).state == "executed"
    assert state_of(actors) == "closed"
    for again in (services.approve, services.refuse):
        with pytest.raises(Conflict):
            again(other, Approval.objects.get())
    entry = AuditEntry.objects.get(action="tenant.close")
    assert entry.actor_label == "operator@example.test"
    assert entry.via == f"{row.public_id} approved by second-operator@example.test"
    assert AuditEntry.objects.filter(action="approval.approve").count() == 1


@pytest.mark.parametrize("who", ["finance", "auditor", "owner_a", "member_a"])
def test_no_other_power_asks_or_approves(actors: Actors, who: str) -> None:
    row, actor = ask(actors), getattr(actors, who)
    for act in (lambda: services.approve(actor, row), lambda: services.refuse(actor, row)):
        with pytest.raises(NotAllowed):
            act()
    with pytest.raises(NotAllowed):
        ask_to_close(actor, actors.b, "x")
    assert state_of(actors) == "active"


def test_neither_a_token_nor_the_system(actors: Actors) -> None:
    row = ask(actors)
    token, _ = tenants.create_token(second(), name="x", scopes=["jobs:write"])
    for actor in (actor_for_token(token), system("x")):
        with pytest.raises(NotAllowed):
            services.approve(actor, row)
    assert state_of(actors) == "active"


@pytest.mark.parametrize("change", [{"platform_role": ""}, {"platform_role": "finance"}, {"is_active": False}])
def test_both_rights_are_those_of_now(actors: Actors, change: dict[str, Any]) -> None:
    row, other = ask(actors), second()
    User.objects.filter(pk=actors.users["operator"].pk).update(**change)
    done = services.approve(other, row)
    assert (done.state, state_of(actors)) == ("failed", "active")
    assert "may not do it any more" in done.outcome
    assert not AuditEntry.objects.filter(action="approval.approve").exists()


def test_it_expires(actors: Actors) -> None:
    row = ask(actors)
    Approval.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    row.refresh_from_db()
    assert row.state_now == "expired"
    with pytest.raises(Conflict):
        services.approve(second(), row)
    assert state_of(actors) == "active"
    assert ask(actors).state == "pending"  # asked for anew
    assert set(Approval.objects.values_list("state", flat=True)) == {"expired", "pending"}


def test_the_same_is_asked_for_once_and_with_a_reason(actors: Actors) -> None:
    with pytest.raises(InvalidInput) as refusal:
        ask_to_close(actors.operator, actors.a, " ")
    assert refusal.value.errors[0].field == "reason"
    ask(actors)
    with pytest.raises(Conflict):
        ask(actors)
    assert Approval.objects.count() == 1


def test_refused_or_withdrawn_nothing_happens(actors: Actors) -> None:
    assert services.refuse(actors.operator, ask(actors)).state == "withdrawn"
    assert services.refuse(second(), ask(actors), "not now").state == "refused"
    assert state_of(actors) == "active"


def test_what_the_act_refuses_is_kept(actors: Actors) -> None:
    row = ask(actors)
    Tenant.objects.filter(pk=actors.a.pk).update(state="closed")
    done = services.approve(second(), row)
    assert (done.state, done.outcome) == ("failed", "the tenant is closed")
    assert AuditEntry.objects.get(action="approval.fail").result == "failed"


def test_an_act_that_breaks_leaves_it_waiting(actors: Actors, monkeypatch: pytest.MonkeyPatch) -> None:
    row, action = ask(actors), actions.action_of("tenant.close")

    def broken(*_: Any) -> None:
        tenants.create_project(actors.operator, actors.a, "half", "Half")
        raise RuntimeError("killed here")

    monkeypatch.setitem(actions._actions, action.kind, actions.Action(action.kind, "x", action.power, broken))
    other = second()
    with pytest.raises(RuntimeError):
        services.approve(other, row)
    row.refresh_from_db()
    assert row.state == "pending"
    assert not actors.a.projects.filter(slug="half").exists()
    monkeypatch.undo()
    assert services.approve(other, row).state == "executed"


def test_a_site_is_drained(actors: Actors) -> None:
    nodes = [factories.make_node(devices=1) for _ in range(2)]
    row = ask_to_drain(actors.operator, nodes[0].site, "power work")
    assert set(Node.objects.values_list("state", flat=True)) == {"ready"}
    services.approve(second(), row)
    assert set(Node.objects.values_list("state", flat=True)) == {"draining"}
    assert AuditEntry.objects.filter(action="node.state").count() == 2


def test_a_price_changes_back_in_time(actors: Actors) -> None:
    past, later = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    product = {"model_name": "T4", "isolation": "exclusive"}
    set_price(actors.finance, **product, per_card_hour="3", valid_from=past)
    facts: dict[str, Any] = {**product, "per_card_hour": Decimal("2.5"), "valid_from": later}
    with pytest.raises(InvalidInput):
        set_price(actors.finance, **facts)
    with pytest.raises(NotAllowed):
        ask_to_backdate(actors.operator, facts, "agreed")
    row = ask_to_backdate(actors.finance, facts, "agreed with the customer")
    assert Price.objects.count() == 1
    with pytest.raises(NotAllowed):
        services.approve(second("operator"), row)
    assert services.approve(second("finance"), row).state == "executed"
    assert Price.objects.get(valid_from=later).per_card_hour == Decimal("2.5")


def test_lists_show_only_ones_own_power(actors: Actors) -> None:
    row = ask(actors)
    assert list(queries.approvals_for(actors.operator)) == [row]
    assert list(queries.approvals_for(actors.auditor)) == [row]
    assert list(queries.approvals_for(actors.finance)) == []
    with pytest.raises(NotFound):
        queries.approval_for(actors.finance, row.public_id)
    with pytest.raises(NotAllowed):
        queries.approvals_for(actors.owner_a)


def test_the_pages(actors: Actors) -> None:
    client, path = Client(), f"/tenants/{actors.a.public_id}/state"
    client.force_login(actors.users["operator"])
    assert client.post(path, {"action": "close", "reason": "contract ended"}).status_code == 302
    row = Approval.objects.get()
    assert "Withdraw" in client.get("/approvals/").content.decode()
    assert client.post(f"/approvals/{row.public_id}/approve").status_code == 403
    other = Client()
    second()
    other.force_login(User.objects.get(email="second-operator@example.test"))
    assert "Approve and do it" in other.get("/approvals/").content.decode()
    assert other.post(f"/approvals/{row.public_id}/approve").status_code == 302
    assert state_of(actors) == "closed"
    assert b"contract ended" in b"".join(other.get("/approvals/?show=all&format=csv").streaming_content)


def test_the_price_page_asks(actors: Actors) -> None:
    past = datetime(2026, 1, 1, tzinfo=UTC)
    set_price(actors.finance, model_name="T4", isolation="exclusive", per_card_hour="3", valid_from=past)
    client = Client()
    client.force_login(actors.users["finance"])
    form = {"model_name": "T4", "isolation": "exclusive", "per_card_hour": "2", "valid_from": "2026-02-01T00:00"}
    refused = client.post("/billing/prices/", form)
    assert refused.status_code == 422
    assert "ask a second person" in refused.content.decode()
    assert client.post("/billing/prices/", {**form, "reason": "agreed"}).status_code == 302
    assert Approval.objects.get().kind == "price.backdate"
    assert Price.objects.count() == 1


def test_the_site_page_asks(actors: Actors) -> None:
    node = factories.make_node(devices=1)
    client = Client()
    client.force_login(actors.users["operator"])
    assert "Ask to drain" in client.get("/sites/").content.decode()
    path = f"/sites/{node.site.public_id}/drain"
    assert client.post(path, {"reason": " "}).status_code == 422
    assert client.post(path, {"reason": "power work"}).status_code == 302
    assert Approval.objects.get().kind == "site.drain"
    member = Client()
    member.force_login(actors.users["member_a"])
    assert "Ask to drain" not in member.get("/sites/").content.decode()
    assert Client().post(path, {"reason": "x"}).status_code == 302
    assert Approval.objects.count() == 1
