"""Nodes, devices, allocations, queues, logs, usage and invoices over the API."""

from collections.abc import Callable

import pytest

from console.audit.models import AuditEntry
from pool.inventory.models import Node
from pool.nodes.models import LogChunk
from pool.scheduling.models import Replica
from tests import factories
from tests.api.conftest import Api, fields
from tests.conftest import Actors
from tests.security.world import World, make_world

Make = Callable[..., Api]


@pytest.fixture
def world(actors: Actors) -> World:
    return make_world(actors)


def test_a_tenant_sees_what_it_holds_and_not_what_neighbours_hold(api: Make, world: World) -> None:
    mine = api("owner_a").get("devices").json()["results"]
    theirs = api("operator").get("devices").json()["results"]
    assert [device["id"] for device in mine] == [world.ids["devices", "public_id"]]
    assert (mine[0]["held_bp"], mine[0]["used_share_bp"]) == (10_000, None)
    assert 10_000 in [device["used_share_bp"] for device in theirs]
    assert fields(api("owner_a").get("devices", min_free_bp=20_000)) == ["min_free_bp"]


def test_cordon_drain_uncordon(api: Make, world: World) -> None:
    operator, node = api("operator"), world.ids["nodes", "public_id"]
    for action, state in (("cordon", "cordoned"), ("drain", "draining"), ("uncordon", "ready")):
        assert operator.post(f"nodes/{node}/{action}", {"reason": "fan"}).json()["state"] == state
    entry = AuditEntry.objects.filter(action="node.state").earliest("pk")
    assert '"reason":"fan"' in entry.text
    assert api("owner_a").post(f"nodes/{node}/cordon").status_code == 403
    assert Node.objects.get(public_id=node).state == "ready"


def test_labels_are_set_by_operators_and_choose_cards(api: Make, world: World) -> None:
    operator, node, device = api("operator"), world.ids["nodes", "public_id"], world.ids["devices", "public_id"]
    assert operator.post(f"nodes/{node}/labels", {"labels": {"zone": "a"}}).json()["labels"] == {"zone": "a"}
    assert operator.post(f"devices/{device}/labels", {"labels": {"tier": "x"}}).json()["labels"] == {"tier": "x"}
    assert operator.post(f"nodes/{node}/labels", {"labels": {"zone": "a\nb"}}).status_code == 422
    for who, status in (("owner_a", 403), ("member_b", 404)):
        assert api(who).post(f"nodes/{node}/labels", {"labels": {}}).status_code == status
        assert api(who).post(f"devices/{device}/labels", {"labels": {}}).status_code == status
    assert Node.objects.get(public_id=node).labels == {"zone": "a"}


def test_allocations(api: Make, world: World) -> None:
    owner = api("owner_a")
    assert len(owner.get("allocations").json()["results"]) == 2
    (live,) = owner.get("allocations", live="true").json()["results"]
    assert live["id"] == world.ids["allocations", "public_id"]
    assert live["device"]["id"] == world.ids["devices", "public_id"]
    assert owner.get("allocations", job=live["job"], isolation="mig").json()["results"] == []


def test_queues_tell_limits_and_load(api: Make, world: World) -> None:
    (queue,) = api("owner_a").get("queues").json()["results"]
    assert (queue["held_bp"], queue["active"]) == (10_000, 1)
    assert api("owner_a").get(f"queues/{queue['id']}").json() == queue


def test_logs_from_a_byte_on(api: Make, world: World) -> None:
    owner, job = api("owner_a"), world.ids["jobs", "public_id"]
    first = owner.get(f"jobs/{job}/logs").json()
    assert (first["text"], first["offset"], first["next"], first["more"]) == ("canary output", 0, 13, False)
    replica = Replica.objects.get(public_id=first["replica"])
    # 20 bytes were lost on the way, then more came
    for offset, data in ((33, "火 one\n".encode()), (41, b"two\n")):
        LogChunk.objects.create(replica=replica, stream="stdout", offset=offset, data=data, at=replica.assigned_at)
    second = owner.get(f"jobs/{job}/logs", offset=first["next"]).json()
    assert (second["missing"], second["offset"], second["text"], second["next"]) == (20, 33, "火 one\ntwo\n", 45)
    assert owner.get(f"jobs/{job}/logs", stream="stderr").json()["text"] == ""
    assert fields(owner.get(f"jobs/{job}/logs", stream="stdin")) == ["stream"]
    other = factories.make_job(world.actors.a)
    assert owner.get(f"jobs/{other.public_id}/logs").json()["replica"] is None
    assert owner.get(f"jobs/{other.public_id}/logs", replica=replica.public_id).status_code == 404


def test_usage_and_its_sums(api: Make, world: World) -> None:
    owner = api("owner_a")
    (record,) = owner.get("usage", first="2026-03-01", last="2026-03-31").json()["results"]
    assert (record["microseconds"], record["per_card_hour"], record["currency"]) == (3_600_000_000, "30.000000", "CNY")
    days = {"first": "2026-03-01", "last": "2026-03-31"}
    summary = owner.get("usage/summary", by="project", **days).json()
    assert summary["rows"][0]["label"] == "canary-project"
    assert summary["total"]["amounts"] == [{"currency": "CNY", "amount": "30.00"}]
    assert owner.get("usage/summary", tenant="boreal", **days).json()["total"]["amounts"] == []
    assert fields(owner.get("usage/summary", first="2026-03-02", last="2026-03-01")) == ["last"]


@pytest.mark.parametrize(
    ("who", "status"), [("billing_a", 200), ("member_a", 403), ("viewer_a", 403), ("finance", 200)]
)
def test_money_is_for_those_who_bill(api: Make, world: World, who: str, status: int) -> None:
    for path in ("usage", "usage/summary", "invoices"):
        assert api(who).get(path).status_code == status, path
    invoice = world.ids["invoices", "public_id"]
    assert api(who).get(f"invoices/{invoice}").status_code == status
    assert api(who).get("prices").status_code == 200


def test_an_invoice_equals_its_lines(api: Make, world: World) -> None:
    owner, invoice = api("owner_a"), world.ids["invoices", "public_id"]
    body = owner.get(f"invoices/{invoice}").json()
    assert (body["month"], body["state"], body["total"]) == ("2026-03-01", "draft", "30.00")
    assert [line["amount"] for line in body["lines"]] == ["30.00"]
    assert owner.get(body["links"]["pdf"].removeprefix("/api/v1/")).content.startswith(b"%PDF")
    csv = b"".join(owner.get(f"invoices/{invoice}/lines", format="csv").streaming_content).decode("utf-8-sig")
    assert "canary-project" in csv
    assert owner.get("invoices", month="2026-03").json()["results"][0]["id"] == invoice
    assert fields(owner.get("invoices", month="2026-13")) == ["month"]
