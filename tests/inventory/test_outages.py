"""When nodes and cards could take no new work: written with each change of state, once, and never rewritten."""

import sqlite3
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from console.common import clock
from pool.inventory.models import Node, Outage
from pool.inventory.outages import of_devices, of_nodes
from pool.inventory.services import remember, set_device_state, set_node_state
from pool.nodes import services as nodes
from pool.nodes.models import Agent
from pool.nodes.services.devices import set_faults
from pool.nodes.services.life import Silent
from tests import factories
from tests.conftest import Actors
from tests.scheduling.concurrency import run, session

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
US = timedelta(microseconds=1)
REFUSED = (IntegrityError, sqlite3.IntegrityError, psycopg.errors.IntegrityError)
Times = list[datetime]


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    """The clock reads the last of these."""
    told = [T0]
    monkeypatch.setattr(clock, "now", lambda: told[-1])
    return told


@pytest.fixture
def node(db: None) -> Node:
    return factories.make_node("n1", devices=3)


def later(times: Times, microseconds: int) -> None:
    times.append(T0 + microseconds * US)


def written() -> list[tuple[str, int | None, int, int | None]]:
    """(kind, index of the card, begin, end), in microseconds after T0."""
    rows = Outage.objects.order_by("started_at", "pk").values_list("kind", "device__index", "started_at", "ended_at")
    return [(kind, index, (a - T0) // US, None if b is None else (b - T0) // US) for kind, index, a, b in rows]


def test_drain_cordon_and_back_are_written_to_the_microsecond(actors: Actors, node: Node, times: Times) -> None:
    for at, state in ((3, "draining"), (10, "draining"), (11, "cordoned"), (20, "ready")):
        later(times, at)
        set_node_state(actors.operator, node, state)
    assert written() == [("draining", None, 3, 11), ("cordoned", None, 11, 20)]


def test_a_fault_and_a_cordon_of_one_card(actors: Actors, node: Node, times: Times) -> None:
    card = node.devices.get(index=1)
    for at, state in ((1, "cordoned"), (4, "faulty"), (5, "faulty"), (9, "ready")):
        later(times, at)
        set_device_state(actors.operator, card, state, "XID 79")
    assert written() == [("cordoned", 1, 1, 4), ("faulty", 1, 4, 9)]
    assert Outage.objects.get(kind="faulty").reason == "XID 79"


def test_agents_faults_come_and_go_and_the_same_report_writes_nothing(node: Node, times: Times) -> None:
    for at, faulty in ((1, [0, 2]), (5, [2]), (8, [])):
        later(times, at)
        assert set_faults(node.pk, faulty) > 0
        assert set_faults(node.pk, faulty) == 0
    assert written() == [("faulty", 0, 1, 5), ("faulty", 2, 1, 8)]


def test_a_report_that_changes_nothing_reads_no_history(node: Node, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    with django_assert_num_queries(3) as seen:  # a savepoint, its end, and a read of the node's cards
        set_faults(node.pk, [])
    assert not [query for query in seen.captured_queries if "outage" in query["sql"]]
    with django_assert_num_queries(3 if connection.vendor == "sqlite" else 4):  # PostgreSQL locks the node first
        assert nodes.set_reachable([node.pk], True) == 0


def test_a_silent_node_is_down_from_its_last_proof_of_life(node: Node, times: Times) -> None:
    later(times, 15_000_000)
    assert nodes.set_reachable([node.pk], False, {node.pk: T0 + 7 * US}) == 1
    assert nodes.set_reachable([node.pk], False, {node.pk: T0}) == 0
    later(times, 15_000_001)
    nodes.set_reachable([node.pk], True)
    # silent again, and its last report is older than its return: the two do not overlap
    later(times, 30_000_000)
    nodes.set_reachable([node.pk], False, {node.pk: T0 + 9 * US})
    assert written() == [("unreachable", None, 7, 15_000_001), ("unreachable", None, 15_000_001, None)]


def test_a_lost_node_is_down_from_the_moment_its_work_ended(node: Node, times: Times) -> None:
    agent = Agent.objects.create(node=node, credential_digest="0" * 64, last_report_at=T0)
    silent = Silent(node.pk, agent.session, False, T0)
    nodes.lose_node(silent, T0 + 3 * US, T0 + 60_000_000 * US)
    assert written() == [("unreachable", None, 3, None)]


def test_a_clock_that_was_set_back_makes_no_negative_time(actors: Actors, node: Node, times: Times) -> None:
    later(times, 50)
    set_node_state(actors.operator, node, "cordoned")
    later(times, 20)
    set_node_state(actors.operator, node, "ready")
    assert written() == [("cordoned", None, 50, 50)]


def test_a_node_is_out_of_reach_from_its_creation_on(node: Node) -> None:
    from pool.inventory.services import upsert_node_from_agent

    report = {"name": "new", "cpu_milli": 1000, "memory_mib": 1024, "devices": []}
    joined = upsert_node_from_agent(report, site=node.site)
    created = Node.objects.get(pk=joined.node_id).created_at
    assert Outage.objects.get(node=joined.node_id).started_at == created


def test_a_card_that_has_gone_is_retired_until_it_is_back(node: Node) -> None:
    from pool.inventory.services import upsert_node_from_agent

    cards = [
        {"index": i, "uuid": f"GPU-n1-{i}", "model": "H100-80GB", "memory_mib": 81559, "nvlink_island": 0}
        for i in range(3)
    ]
    report = {"name": "n1", "cpu_milli": node.cpu_milli, "memory_mib": node.memory_mib}
    upsert_node_from_agent({**report, "devices": cards[:2]}, site=node.site)
    gone = Outage.objects.get()
    assert (gone.kind, gone.device.index, gone.ended_at) == ("retired", 2, None)  # type: ignore[union-attr]
    upsert_node_from_agent({**report, "devices": cards}, site=node.site)
    gone.refresh_from_db()
    assert gone.ended_at is not None
    assert not [*of_nodes(), *of_devices()]


def test_what_history_missed_is_found_and_made_good(node: Node) -> None:
    card = node.devices.get(index=0)
    Node.objects.filter(pk=node.pk).update(reachable=False, state="draining")
    node.devices.filter(pk=card.pk).update(state="faulty", state_reason="x")
    found = {(row.public_id, row.kind) for row in (*of_nodes(), *of_devices())}
    assert found == {(node.public_id, "unreachable"), (node.public_id, "draining"), (card.public_id, "faulty")}
    for _ in range(2):
        remember(T0, nodes=[node.pk], devices=[card.pk])
        assert Outage.objects.count() == 3
        assert not [*of_nodes(), *of_devices()]


def test_a_change_that_is_rolled_back_leaves_no_history(actors: Actors, node: Node) -> None:
    with transaction.atomic():
        set_node_state(actors.operator, node, "cordoned")
        transaction.set_rollback(True)
    assert not Outage.objects.exists()


# -- the database itself, against raw SQL

INSERT = "INSERT INTO inventory_outage (node_id, device_id, kind, reason, started_at, ended_at) VALUES "


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "values",
    [
        "({node}, NULL, 'unreachable', '', '2026-11-10 04:00:00+00:00', NULL)",  # open already
        "(NULL, {card}, 'faulty', '', '2026-11-10 04:00:00+00:00', NULL)",
        "({node}, NULL, 'draining', '', '2026-11-10 04:00:00+00:00', '2026-11-10 03:59:59.999999+00:00')",
        "({node}, NULL, 'faulty', '', '2026-11-10 04:00:00+00:00', NULL)",  # no state of a node
        "(NULL, {card}, 'draining', '', '2026-11-10 04:00:00+00:00', NULL)",  # nor of a card
        "({node}, {card}, 'cordoned', '', '2026-11-10 04:00:00+00:00', NULL)",
        "(NULL, NULL, 'cordoned', '', '2026-11-10 04:00:00+00:00', NULL)",
    ],
)
def test_the_database_refuses_a_history_that_cannot_be(values: str) -> None:
    node = factories.make_node(devices=1)
    card = node.devices.get()
    Outage.objects.create(node=node, kind="unreachable", started_at=T0)
    Outage.objects.create(device=card, kind="faulty", started_at=T0)
    with session() as raw, pytest.raises(REFUSED):
        run(raw, INSERT + values.format(node=node.pk, card=card.pk))
    assert Outage.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM inventory_outage",
        "UPDATE inventory_outage SET started_at = '2026-01-01 00:00:00+00:00'",
        "UPDATE inventory_outage SET kind = 'cordoned'",
        "UPDATE inventory_outage SET reason = 'x'",
        "UPDATE inventory_outage SET ended_at = '2026-12-01 00:00:00+00:00' WHERE ended_at IS NOT NULL",
        "UPDATE inventory_outage SET ended_at = NULL WHERE ended_at IS NOT NULL",
    ],
)
def test_the_database_keeps_history_as_it_was_written(change: str) -> None:
    node = factories.make_node(devices=1)
    Outage.objects.create(node=node, kind="unreachable", started_at=T0, ended_at=T0 + US)
    Outage.objects.create(node=node, kind="unreachable", started_at=T0 + US)
    before = list(Outage.objects.order_by("pk").values())
    with session() as raw, pytest.raises(REFUSED):
        run(raw, change)
    assert list(Outage.objects.order_by("pk").values()) == before
    assert connection.vendor in {"sqlite", "postgresql"}
