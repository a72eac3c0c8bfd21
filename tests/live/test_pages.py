"""Overview, heatmap's HTTP side, nodes and devices: who sees what, and what it costs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.common import clock
from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation, Attempt, JobEvent, Replica
from tests import factories
from tests.conftest import Actors

As = Callable[[str], Client]
pytestmark = pytest.mark.usefixtures("live")


@pytest.fixture
def as_(actors: Actors) -> As:
    def client(name: str) -> Client:
        found = Client()
        found.force_login(actors.users[name])
        return found

    return client


def hold(device: Device, tenant: Any, share: int = 10_000, **more: Any) -> Allocation:
    """A live allocation of a running job."""
    now = clock.now()
    job = factories.make_job(tenant, state="running", attempt_count=1)
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=now)
    replica = Replica.objects.create(
        attempt=attempt, job=job, role=job.roles.get(), rank=0, node=device.node, assigned_at=now, state="running"
    )
    facts = {"isolation": "vgpu", "memory_mib": 1_000, **more}
    return Allocation.objects.create(
        replica=replica,
        job=job,
        tenant=tenant,
        node=device.node,
        device=device,
        share_bp=share,
        epoch=1,
        created_at=now,
        **facts,
    )


FLEET_WIDE = [
    ("web:heatmap_layout", []),
    ("web:heatmap_tenants", []),
    ("web:heatmap_table", []),
    ("web:overview_trend", ["use"]),
]


@pytest.mark.parametrize(("route", "args"), FLEET_WIDE)
def test_what_shows_the_whole_fleet_is_for_operators_and_auditors(as_: As, route: str, args: list[str]) -> None:
    url = reverse(route, args=args)
    assert as_("operator").get(url).status_code == 200
    assert as_("auditor").get(url).status_code == 200
    for name in ("member_a", "owner_b", "finance"):
        assert as_(name).get(url).status_code == 403
    assert Client().get(url).status_code == 302


def test_every_page_of_the_room_wants_a_sign_in(db: None) -> None:
    node = factories.make_node(devices=1)
    device = node.devices.get()
    for url in (
        reverse("web:overview"),
        reverse("web:overview_strip"),
        reverse("web:overview_events"),
        reverse("web:overview_jobs"),
        reverse("inventory:node_list"),
        reverse("inventory:site_list"),
        reverse("inventory:device_list"),
        reverse("inventory:node_detail", args=[node.public_id]),
        reverse("inventory:device_detail", args=[device.public_id]),
        reverse("web:heatmap_node", args=[node.public_id]),
        reverse("web:heatmap_device", args=[node.public_id, 0]),
        reverse("web:device_at", args=[node.public_id, 0]),
        reverse("web:device_now", args=[device.public_id]),
        reverse("web:device_history", args=[device.public_id, "use"]),
    ):
        answer = Client().get(url)
        assert answer.status_code == 302, url
        assert "/accounts/login/" in answer["Location"]


def test_a_tenant_sees_only_hardware_on_which_it_holds_something(as_: As, actors: Actors) -> None:
    mine, other = factories.make_node(devices=2), factories.make_node(devices=2)
    first, second = mine.devices.order_by("index")
    hold(first, actors.a)
    hold(second, actors.b)
    page = as_("member_a").get(reverse("inventory:node_list")).content.decode()
    assert mine.name in page
    assert other.name not in page
    assert as_("member_a").get(reverse("inventory:node_detail", args=[mine.public_id])).status_code == 200
    assert as_("member_a").get(reverse("inventory:device_detail", args=[first.public_id])).status_code == 200
    for route, args in (
        ("inventory:node_detail", [other.public_id]),
        ("inventory:device_detail", [second.public_id]),
        ("web:heatmap_node", [other.public_id]),
        ("web:device_at", [mine.public_id, 1]),
        ("web:device_now", [second.public_id]),
        ("web:device_history", [second.public_id, "use"]),
    ):
        assert as_("member_a").get(reverse(route, args=args)).status_code == 404, route


def test_a_neighbour_on_a_shared_card_cannot_be_inferred(as_: As, actors: Actors, monkeypatch: Any) -> None:
    """The page is the same, byte for byte, whether or not somebody else holds the rest of the card."""
    device = factories.make_node(devices=1).devices.get()
    hold(device, actors.a, 2_500)
    client = as_("member_a")
    urls = [
        reverse("web:device_now", args=[device.public_id]),
        reverse("web:heatmap_node", args=[device.node.public_id]),
        reverse("web:device_history", args=[device.public_id, "use"]),
    ]
    alone = [client.get(url).content for url in urls]
    neighbour = hold(device, actors.b, 5_000)
    assert [client.get(url).content for url in urls] == alone
    page = client.get(reverse("inventory:device_detail", args=[device.public_id])).content.decode()
    assert neighbour.job.name not in page
    assert "boreal" not in page
    assert "boreal" in as_("operator").get(reverse("inventory:device_detail", args=[device.public_id])).content.decode()


def test_only_an_operator_may_cordon_and_drain(as_: As, actors: Actors) -> None:
    node = factories.make_node(devices=1)
    device = node.devices.get()
    hold(device, actors.a)
    url = reverse("inventory:node_state", args=[node.public_id])
    for name in ("member_a", "auditor"):
        assert as_(name).post(url, {"state": "draining"}).status_code == 403
    assert as_("member_b").post(url, {"state": "draining"}).status_code == 404
    assert Node.objects.get(pk=node.pk).state == "ready"
    assert as_("operator").post(url, {"state": "nonsense"}).status_code == 422
    assert as_("operator").post(url, {"state": "draining"}).status_code == 302
    assert Node.objects.get(pk=node.pk).state == "draining"
    fault = reverse("inventory:device_state", args=[device.public_id])
    assert as_("operator").post(fault, {"state": "faulty"}).status_code == 422  # a fault needs its reason
    assert as_("operator").post(fault, {"state": "faulty", "reason": "XID 79"}).status_code == 302
    page = as_("operator").get(reverse("inventory:device_detail", args=[device.public_id])).content.decode()
    assert "XID 79" in page
    events = as_("operator").get(reverse("web:overview_events")).content.decode()
    assert node.name in events
    assert "GPU 0" in events


@pytest.mark.parametrize("route", ["inventory:node_list", "web:heatmap_table"])
def test_a_list_of_20_costs_the_queries_of_a_list_of_2(as_: As, actors: Actors, route: str) -> None:
    client, url = as_("operator"), reverse(route)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert client.get(url).status_code == 200
        return len(asked)

    for _ in range(2):
        hold(factories.make_node(devices=1).devices.get(), actors.a)
    client.get(url)
    few = queries()
    for _ in range(18):
        hold(factories.make_node(devices=1).devices.get(), actors.a)
    assert queries() == few


def test_the_table_pages_filters_and_exports(as_: As, actors: Actors) -> None:
    for number in range(8):
        factories.make_node(f"n{number}", devices=8, rack="r01" if number < 4 else "r02")
    hold(Device.objects.get(node__name="n1", index=0), actors.a)
    client, url = as_("operator"), reverse("web:heatmap_table")
    first = client.get(url, {"rack": "r01"})
    assert len(first.context["rows"]) == 32
    assert {row.device.node.rack.name for row in first.context["rows"]} == {"r01"}
    everything = client.get(url)
    assert len(everything.context["rows"]) == 50
    second = client.get(url, {"after": everything.context["page"].after})
    assert len(second.context["rows"]) == 14
    exported = b"".join(_streamed(client.get(url, {"rack": "r01", "format": "csv"}))).decode("utf-8-sig").splitlines()
    assert len(exported) == 33
    assert any(",n1,0," in line and ",aurora," in line for line in exported)
    assert client.get(url, {"state": "nonsense"}).status_code == 422


def _streamed(response: Any) -> Any:
    import asyncio

    if not getattr(response, "is_async", False):
        return response.streaming_content

    async def gather() -> list[bytes]:
        return [chunk async for chunk in response.streaming_content]

    return asyncio.run(gather())


def test_mig_picture_shows_placements_and_marks_assumed_rows(as_: As, actors: Actors) -> None:
    device = factories.make_node(devices=1, mig=True).devices.get()
    hold(device, actors.a, 5_714, isolation="mig", mig_profile="4g.40gb", mig_start=0, mig_size=4)
    page = as_("operator").get(reverse("inventory:device_detail", args=[device.public_id]))
    rows = {row.name: row for row in page.context["profiles"]}
    assert [spot.state for spot in rows["3g.40gb"].spots] == ["held", "free"]
    assert (rows["3g.40gb"].fitting, rows["1g.10gb"].fitting, rows["7g.80gb"].fitting) == (1, 3, 0)
    states = [(part.state, round(part.width)) for part in page.context["segments"]]
    assert states == [("held", 50), ("free", 50)]
    assert "assumed" not in page.content.decode()
    device.model.mig_family = "B300-269GB"
    device.model.save()
    assert (
        "assumed" in as_("operator").get(reverse("inventory:device_detail", args=[device.public_id])).content.decode()
    )
    mine = as_("member_a").get(reverse("inventory:device_detail", args=[device.public_id]))
    assert mine.context["profiles"] == []
    assert [part.state for part in mine.context["segments"]] == ["held", "other"]


def test_what_went_wrong_is_found_among_everyday_news(as_: As, actors: Actors) -> None:
    job = factories.make_job(actors.a, name="unlucky", state="failed")
    now = clock.now()
    JobEvent.objects.create(job=job, at=now, kind="finished", params={"state": "failed", "outcome": "failed"})
    well = factories.make_job(actors.a, name="lucky", state="succeeded")
    for kind in ("submitted", "placed", "started", "finished") * 40:
        params = {"state": "succeeded", "outcome": "succeeded"} if kind == "finished" else {}
        JobEvent.objects.create(job=well, at=now, kind=kind, params=params)
    for name, sees in (("operator", True), ("member_a", True), ("member_b", False)):
        page = as_(name).get(reverse("web:overview_events")).content.decode()
        assert ("unlucky" in page) is sees
        assert ">lucky<" not in page


@pytest.mark.parametrize("name", ["operator", "auditor", "member_a", "viewer_a", "billing_a", "finance"])
def test_everybody_has_an_overview(as_: As, actors: Actors, name: str) -> None:
    hold(factories.make_node(devices=1).devices.get(), actors.a)
    job_b = hold(factories.make_node(devices=1).devices.get(), actors.b).job
    page = as_(name).get(reverse("web:overview"))
    assert page.status_code == 200
    assert ("heatmap" in page.content.decode()) is (name in {"operator", "auditor"})
    assert (job_b.name in page.content.decode()) is (name in {"operator", "auditor"})
    assert as_(name).get(reverse("web:overview_strip")).status_code == 200
    assert as_(name).get(reverse("web:overview_jobs"), {"jobs": "finished"}).status_code == 200
