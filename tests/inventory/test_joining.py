"""What agents report: idempotent, quick when nothing is new, and never believed blindly."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput
from pool.agent.simulated import make_devices
from pool.inventory.models import Device, DeviceModel, Node
from pool.inventory.services import (
    import_fleet,
    set_mig_enabled,
    upsert_node_from_agent,
    upsert_nodes_from_agents,
)
from tests import factories
from tests.conftest import Actors
from tests.inventory.conftest import hold
from tests.inventory.test_import import FLEET, File, read_fleet

pytestmark = pytest.mark.django_db


def report(name: str = "n1", cards: int = 2, **more: Any) -> dict[str, Any]:
    devices = [
        {
            "index": i,
            "uuid": f"GPU-{name}-{i}",
            "model": "NVIDIA H100 80GB HBM3",
            "memory_mib": 81559,
            "nvlink_island": 0,
        }
        for i in range(cards)
    ]
    return {
        "name": name,
        "cpu_milli": 128000,
        "memory_mib": 1048576,
        "labels": {"zone": "a"},
        "pod": "p1",
        "switch": "leaf1",
        "rack": "r01",
        "devices": devices,
        **more,
    }


def test_a_new_node_with_its_place_and_cards() -> None:
    joined = upsert_node_from_agent(report(), site=factories.make_site())
    node = Node.objects.get(pk=joined.node_id)
    assert joined.created
    assert (node.name, node.rack.name, node.switch.name, node.pod.name) == ("n1", "r01", "leaf1", "p1")
    assert (str(node.rack.parent), str(node.switch.parent)) == ("switch leaf1", "pod p1")
    card = node.devices.get(index=1)
    assert (card.model.name, card.model.mig_family, card.memory_mib) == ("H100-80GB", "H100-80GB", 81559)
    assert AuditEntry.objects.get(action="node.create").actor_label == "gateway"


def test_the_same_report_again_writes_nothing_and_costs_five_reads() -> None:
    site = factories.make_site()
    upsert_node_from_agent(report(), site=site)
    entries, version = AuditEntry.objects.count(), Node.objects.get().version
    with CaptureQueriesContext(
        connection,
    ) as queries:
        joined = upsert_node_from_agent(report(), site=site)
    assert (joined.created, joined.changed) == (False, False)
    reads = [query for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(reads) == 5
    assert all(query["sql"].startswith("SELECT") for query in reads)
    assert (AuditEntry.objects.count(), Node.objects.get().version) == (entries, version)


def test_many_nodes_join_with_few_statements() -> None:
    """Not one a node, let alone one a card."""
    site = factories.make_site()
    reports = [report(f"n{number:04d}", cards=8) for number in range(256)]
    with CaptureQueriesContext(connection) as asked:
        assert sum(joined.created for joined in upsert_nodes_from_agents(reports, site=site)) == 256
        assert not any(joined.changed for joined in upsert_nodes_from_agents(reports, site=site))
    assert len(asked) < 100
    assert Device.objects.count() == 2048


def test_a_placeholder_of_the_file_becomes_the_card_itself(actors: Actors, fleet_file: File) -> None:
    text = FLEET.replace(", uuid: GPU-a", "").replace("model: T4", "model: H100-80GB")
    import_fleet(actors.operator, read_fleet(fleet_file(text)))
    first = Device.objects.get(node__name="n1", index=0)
    hold(first.node, first, actors.a)
    upsert_node_from_agent(report(rack="r1", switch="", pod=""), site=first.node.site)
    first.refresh_from_db()
    assert (first.uuid, first.state) == ("GPU-n1-0", "ready")


def test_the_operator_decides_place_and_mig_mode(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET.replace("model: T4", "model: H100-80GB"))))
    card = Device.objects.get(node__name="n1", index=0)
    set_mig_enabled(actors.operator, card, True)
    upsert_node_from_agent(report(rack="elsewhere"), site=card.node.site)
    node = Node.objects.get(name="n1")
    assert node.rack.name == "r1"
    assert node.pod.name == "p1"  # the file said nothing about it
    card.refresh_from_db()
    assert card.mig_enabled


def test_a_missing_card_is_retired_until_it_is_back(actors: Actors) -> None:
    site = factories.make_site()
    upsert_node_from_agent(report(), site=site)
    card = Device.objects.get(index=1)
    hold(card.node, card, actors.a)
    upsert_node_from_agent(report(cards=1), site=site)
    card.refresh_from_db()
    assert (card.state, card.state_reason, card.live_shared) == ("faulty", "no longer in the node", 1)
    assert card.retired_at is not None
    assert not upsert_node_from_agent(report(cards=1), site=site).changed
    upsert_node_from_agent(report(), site=site)
    card.refresh_from_db()
    assert (card.state, card.state_reason, card.retired_at) == ("ready", "", None)


def test_an_exchanged_card_under_work_is_faulty_and_keeps_its_facts(actors: Actors) -> None:
    site = factories.make_site()
    upsert_node_from_agent(report(), site=site)
    card = Device.objects.get(index=0)
    hold(card.node, card, actors.a)
    other = report()
    other["devices"][0].update(uuid="GPU-new", model="Tesla T4", memory_mib=15109)
    upsert_node_from_agent(other, site=site)
    card.refresh_from_db()
    assert (card.state, card.model.name, card.uuid) == ("faulty", "H100-80GB", "GPU-n1-0")
    assert not upsert_node_from_agent(other, site=site).changed


def test_less_memory_than_is_held_does_not_keep_a_node_out(actors: Actors) -> None:
    site = factories.make_site()
    joined = upsert_node_from_agent(report(), site=site)
    node = Node.objects.get(pk=joined.node_id)
    hold(node, None, actors.a)
    upsert_node_from_agent(report(cpu_milli=1000, memory_mib=100), site=site)
    node.refresh_from_db()
    assert (node.cpu_milli, node.memory_mib) == (4000, 8192)


def test_cards_in_another_order_after_a_restart() -> None:
    site = factories.make_site()
    upsert_node_from_agent(report(), site=site)
    other = report()
    other["devices"][0]["uuid"], other["devices"][1]["uuid"] = "GPU-n1-1", "GPU-n1-0"
    upsert_node_from_agent(other, site=site)
    assert list(Device.objects.order_by("index").values_list("uuid", flat=True)) == ["GPU-n1-1", "GPU-n1-0"]


def test_what_our_own_agent_says_is_understood() -> None:
    cards = make_devices("sim-1", 8, "A100-40GB", mig=True)
    joined = upsert_node_from_agent(
        report("sim-1", devices=[card.as_message() for card in cards], label_of_a_newer_agent=1),
        site=factories.make_site(),
    )
    rows = Device.objects.filter(node=joined.node_id).select_related("model")
    assert [row.uuid for row in rows.order_by("index")] == [card.uuid for card in cards]
    assert all(row.mig_enabled and row.model.mig_family == "A100-40GB" for row in rows)


def test_an_unknown_model_is_learnt() -> None:
    other = report()
    other["devices"][0].update(model="Voodoo 2", memory_mib=12, vendor="3dfx")
    upsert_node_from_agent(other, site=factories.make_site())
    model = DeviceModel.objects.get(name="Voodoo 2")
    assert (model.memory_mib, model.vendor) == (12, "3dfx")


def test_another_nodes_card_cannot_be_claimed() -> None:
    site = factories.make_site()
    upsert_node_from_agent(report("n1"), site=site)
    thief = report("n2")
    thief["devices"][0]["uuid"] = "GPU-n1-0"
    with pytest.raises(InvalidInput, match=r"devices\[0\].uuid: 'GPU-n1-0' is known as another node's card"):
        upsert_node_from_agent(thief, site=site)
    assert not Node.objects.filter(name="n2").exists()


def test_a_token_of_another_site_cannot_take_a_node_over() -> None:
    upsert_node_from_agent(report(), site=factories.make_site("cn-sz-1"))
    with pytest.raises(InvalidInput, match="belongs to site 'cn-sz-1'"):
        upsert_node_from_agent(report(), site=factories.make_site("cn-bj-2"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"name": None}, "name"),
        ({"cpu_milli": float("nan")}, "cpu_milli"),
        ({"cpu_milli": True}, "cpu_milli"),
        ({"memory_mib": -1}, "memory_mib"),
        ({"memory_mib": 10**309}, "memory_mib"),
        ({"labels": {"a": 1}}, "labels"),
        ({"rack": ["r"]}, "rack"),
        ({"devices": "eight"}, "devices"),
        ({"devices": [1]}, "devices[0]"),
        ({"devices": [{"index": 0, "uuid": "u", "model": "T4"}]}, "devices[0].memory_mib"),
        ({"devices": [{"index": 0, "uuid": "u\0", "model": "T4", "memory_mib": 1}]}, "devices[0].uuid"),
        ({"devices": [{"index": 0, "uuid": "u", "model": "T4", "memory_mib": 1}] * 2}, "devices[].uuid"),
    ],
)
def test_bad_reports_name_the_field_and_store_nothing(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        upsert_node_from_agent(report(**change), site=factories.make_site())
    assert field in {error.field for error in caught.value.errors}
    assert not Node.objects.exists()
