"""A card's life in the pool: it is capacity from the moment it is added until it leaves, and again when it is back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.test import Client

from billing.metering import services
from billing.metering.queries import reconcile
from console.common import clock
from console.common.actor import system
from console.common.errors import Conflict
from pool.inventory import queries
from pool.inventory.filters import DeviceFilter
from pool.inventory.fleet import node_specs
from pool.inventory.importing import read_fleet
from pool.inventory.models import Device, Node, Outage, Site
from pool.inventory.services import import_fleet, set_device_state, upsert_node_from_agent
from pool.nodes.heatmap import layout
from pool.nodes.heatmap.counters import Counters, FleetChanged
from tests import factories
from tests.billing import build
from tests.conftest import Actors
from tests.inventory.conftest import hold

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
US = timedelta(microseconds=1)


class Time:
    """The clock of a test; it stands still until `at` moves it, in microseconds after T0."""

    def __init__(self) -> None:
        self.now = T0

    def at(self, microseconds: int) -> None:
        self.now = T0 + microseconds * US


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(clock, "now", lambda: time.now)
    monkeypatch.setattr("django.utils.timezone.now", lambda: time.now)
    return time


@pytest.fixture
def site(db: None) -> Site:
    return factories.make_site()


def report(site: Site, cards: int) -> None:
    devices = [{"index": i, "uuid": f"GPU-{i}", "model": "Tesla T4", "memory_mib": 15109} for i in range(cards)]
    upsert_node_from_agent({"name": "n1", "cpu_milli": 64000, "memory_mib": 65536, "devices": devices}, site=site)


def capacity(begin: int, end: int) -> tuple[int, int]:
    """(cards, card-microseconds) between two moments; the parts must sum to it."""
    result = reconcile(T0 + begin * US, T0 + end * US)
    assert result.holds
    assert sum(group.devices for group in result.groups) <= Device.objects.count()
    total = 0
    for group in result.groups:
        for balance in (group.compute, group.memory):
            parts = balance.billed + balance.running + balance.idle + balance.unusable + balance.down
            assert parts == balance.capacity
        total += int(group.compute.capacity)
    return sum(group.devices for group in result.groups), total


def test_reports_add_take_and_return_cards_to_the_microsecond(site: Site, time: Time) -> None:
    for at, cards in ((10, 1), (20, 3), (31, 2), (47, 3)):
        time.at(at)
        report(site, cards)
        report(site, cards)  # told twice is told once
    time.at(100)
    assert list(Device.objects.order_by("index").values_list("added_at", "retired_at")) == [
        (T0 + 10 * US, None),
        (T0 + 20 * US, None),
        (T0 + 20 * US, None),
    ]
    assert capacity(0, 10) == (0, 0)
    assert capacity(0, 20) == (1, 10)
    assert capacity(20, 31) == (3, 33)
    assert capacity(31, 47) == (2, 32)
    assert capacity(0, 100) == (3, 90 + 80 + 80 - 16)


def test_a_file_takes_cards_that_never_worked_and_their_idle_past_stays(
    actors: Actors, fleet_file: Callable[[str], Path], time: Time
) -> None:
    card = "{model: T4, uuid: GPU-%d}"
    text = "weir: 1\nsites: [{name: s, nodes: [{name: n, cpu_milli: 1000, memory_mib: 1024, devices: [%s]}]}]\n"
    for at, cards in ((0, (1, 2)), (1000, (1,)), (5000, (1, 2))):
        time.at(at)
        import_fleet(actors.operator, read_fleet(fleet_file(text % ", ".join(card % number for number in cards))))
    time.at(9000)
    assert capacity(0, 1000) == (2, 2000)
    assert capacity(1000, 5000) == (1, 4000)
    assert capacity(0, 9000) == (2, 9000 + 5000)
    assert list(Outage.objects.filter(kind="retired").values_list("started_at", "ended_at")) == [
        (T0 + 1000 * US, T0 + 5000 * US)
    ]


def test_what_is_held_of_a_card_that_has_left_is_capacity_until_it_ends(site: Site, time: Time) -> None:
    report(site, 2)
    card = Device.objects.get(index=1)
    work = build.interval(card, build.job(factories.make_tenant()), T0, share_bp=2500)
    time.at(40)
    report(site, 1)
    build.close(work, T0 + 60 * US)
    services.meter_closed(T0 + 60 * US)
    result = reconcile(T0, T0 + 100 * US)
    balance = result.groups[0].compute
    assert result.holds
    assert (balance.capacity, balance.billed, balance.down) == (100 + 40 + 5, 15, 100 + 30)
    assert balance.capacity == balance.billed + balance.idle + balance.unusable + balance.down


def test_a_card_that_has_left_is_in_no_list_but_its_own(actors: Actors, site: Site) -> None:
    report(site, 3)
    node = Node.objects.get()
    before = layout.read()
    counters = Counters(before)
    counters.refresh()
    report(site, 2)
    with pytest.raises(FleetChanged):
        counters.refresh()
    assert layout.read().devices == 2
    assert len(node_specs()[node.pk][1].devices) == 2
    operator = actors.operator
    assert [card.index for card in queries.devices_for(operator)] == [0, 1]
    assert [card.index for card in queries.devices_for(operator, DeviceFilter(state="retired"))] == [2]
    assert queries.devices_for(operator, DeviceFilter(state="faulty")).count() == 0
    seen: Any = queries.node_for(operator, node.public_id)
    assert (seen.device_count, seen.faulty_count) == (2, 0)
    assert queries.device_counts(operator)["all"] == 2
    assert queries.share_held(operator)[1] == 20_000
    gone = Device.objects.get(index=2)
    assert queries.device_for(operator, gone.public_id).retired_at is not None


def test_a_card_that_left_under_work_stays_known_to_the_engine_until_the_work_ends(actors: Actors, site: Site) -> None:
    report(site, 1)
    card = Device.objects.get()
    allocation = hold(card.node, card, actors.a)
    report(site, 0)
    assert [spec.schedulable for spec in node_specs()[card.node_id][1].devices] == [False]
    type(allocation).objects.filter(pk=allocation.pk).update(released_at=clock.now())
    assert node_specs()[card.node_id][1].devices == ()


def test_nobody_declares_a_card_ready_that_is_not_there(actors: Actors, site: Site) -> None:
    report(site, 1)
    report(site, 0)
    card = Device.objects.get()
    for state in ("ready", "cordoned", "faulty"):
        with pytest.raises(Conflict, match="no longer in the node"):
            set_device_state(actors.operator, card, state, "x")
    with pytest.raises(IntegrityError), transaction.atomic():
        Device.objects.update(state="ready")


def test_an_older_database_learns_when_its_cards_came_and_went(site: Site, time: Time) -> None:
    """The migration's own step, on rows as they were before it."""
    report(site, 2)
    Device.objects.update(added_at=T0 + 99 * US)
    card = Device.objects.get(index=1)
    time.at(7)
    set_device_state(system("test"), card, "faulty", "no longer in the node")
    step = import_module("pool.inventory.migrations.0006_device_life").begin
    step(apps, connection.schema_editor())
    card.refresh_from_db()
    assert card.added_at == card.node.created_at == T0
    assert card.retired_at == T0 + 7 * US
    kinds = set(Outage.objects.filter(device=card, ended_at=None).values_list("kind", "started_at"))
    assert kinds == {("retired", T0 + 7 * US)}
    time.at(20)
    assert capacity(0, 10) == (2, 10 + 7)


def test_the_page_of_a_card_that_has_left_says_so_and_offers_no_switch(actors: Actors, site: Site) -> None:
    report(site, 1)
    report(site, 0)
    client = Client()
    client.force_login(actors.users["operator"])
    page = client.get(f"/devices/{Device.objects.get().public_id}/").content.decode()
    assert "The card is no longer in the node." in page
    assert "Clear the fault" not in page
    answer = client.get("/api/v1/devices", {"state": "retired"}).json()
    assert [row["retired_at"] is not None for row in answer["results"]] == [True]
    assert client.get("/api/v1/devices").json()["results"] == []
