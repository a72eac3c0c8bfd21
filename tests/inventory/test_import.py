"""`import_fleet` against the database: all or nothing, twice is once, never from under running work."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput, NotAllowed
from pool.inventory.importing import read_fleet
from pool.inventory.models import Device, Domain, Link, Node, Site
from pool.inventory.services import Count, import_fleet
from tests import shared_data
from tests.conftest import Actors
from tests.inventory.conftest import EXAMPLE, hold

pytestmark = pytest.mark.django_db
NODES = "openb/openb_node_list_gpu_node.csv"
FLEET = """weir: 1
sites:
  - name: s1
    racks: [{name: r1}, {name: r2}]
    nodes:
      - name: n1
        rack: r1
        cpu_milli: 64000
        memory_mib: 65536
        devices:
          - {model: T4, uuid: GPU-a}
          - {model: T4, uuid: GPU-b}
      - name: n2
        rack: r2
        cpu_milli: 64000
        memory_mib: 65536
        devices: [{model: T4, uuid: GPU-c}]
"""
File = Callable[[str], Path]


def run(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("import_fleet", str(path), *options, stdout=out)
    return out.getvalue()


def snapshot() -> list[tuple[object, ...]]:
    nodes = list(Node.objects.order_by("pk").values_list())
    return [*nodes, *Device.objects.order_by("pk").values_list(), *Link.objects.order_by("pk").values_list()]


def test_the_openb_list_twice(actors: Actors) -> None:
    draft = read_fleet(shared_data.data_file(NODES))
    devices = sum(len(node.devices or ()) for node in draft.nodes)
    report = import_fleet(actors.operator, draft)
    assert report.nodes == Count(created=len(draft.nodes))
    assert report.devices == Count(created=devices)
    assert (Node.objects.count(), Device.objects.count()) == (len(draft.nodes), devices)
    before, entries = snapshot(), AuditEntry.objects.count()
    again = import_fleet(actors.operator, draft)
    assert not again.changed
    assert again.nodes == Count(unchanged=len(draft.nodes))
    assert snapshot() == before
    assert AuditEntry.objects.count() == entries


def test_the_example_by_the_command(db: None) -> None:
    assert "Nodes: 4 created, 0 updated, 0 unchanged" in run(EXAMPLE)
    assert Link.objects.count() == 56
    rack = Domain.objects.get(kind="rack")
    assert (str(rack.parent), str(rack.parent.parent)) == ("switch leaf-1", "pod pod-1")
    node = Node.objects.get(name="sz-r01-n03")
    assert (node.rack, node.switch.name, node.pod.name) == (rack, "leaf-1", "pod-1")
    assert Device.objects.get(uuid__startswith="GPU-6f1c").mig_enabled
    before = snapshot()
    text = run(EXAMPLE)
    assert "nothing was changed" in text
    assert "Nodes: 0 created, 0 updated, 4 unchanged" in text
    assert snapshot() == before


def test_the_audit_log_tells_who_and_what(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    summary = AuditEntry.objects.get(action="fleet.import")
    assert summary.actor_label == "operator@example.test"
    assert '"nodes created":2' in summary.text
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET.replace("cpu_milli: 64000", "cpu_milli: 32000", 1))))
    change = AuditEntry.objects.get(action="node.update")
    assert change.object_id == Node.objects.get(name="n1").public_id
    assert '"before":{"cpu_milli":64000}' in change.text


def test_a_dry_run_changes_nothing(db: None, fleet_file: File) -> None:
    text = run(fleet_file(FLEET), "--dry-run")
    assert "Nodes: 2 created" in text
    assert "Dry run" in text
    assert not Site.objects.exists()
    assert not AuditEntry.objects.exists()


def test_one_bad_row_stops_everything(db: None, fleet_file: File) -> None:
    with pytest.raises(CommandError) as caught:
        run(fleet_file(FLEET.replace("model: T4, uuid: GPU-c", "model: T4, uuid: GPU-a")))
    assert "line 17: sites[0].nodes[1].devices[0].uuid: 'GPU-a' is named before, in line 11" in str(caught.value)
    assert not Site.objects.exists()


@pytest.mark.parametrize("who", ["finance", "auditor", "owner_a", "member_b"])
def test_only_operators_import(actors: Actors, fleet_file: File, who: str) -> None:
    with pytest.raises(NotAllowed):
        import_fleet(getattr(actors, who), read_fleet(fleet_file(FLEET)))
    assert not Node.objects.exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rack: r1", "rack: r2", "n1 would move (rack r1 to r2) while work runs on it"),
        ("cpu_milli: 64000", "cpu_milli: 3999", "n1 would shrink to 3999 while 4000 are held"),
        ("memory_mib: 65536", "memory_mib: 8191", "n1 would shrink to 8191 while 8192 are held"),
        ("model: T4, uuid: GPU-a", "model: A10, uuid: GPU-a", "model would change while work runs"),
        ("uuid: GPU-a", "uuid: GPU-z", "uuid would change while work runs"),
        ("uuid: GPU-a", "uuid: GPU-a, mig_enabled: true", "mig_enabled would change while work runs"),
        ("uuid: GPU-a", "uuid: GPU-a, memory_mib: 999", "would shrink to 999 MiB while 1000 MiB are held"),
        ("model: T4, uuid: GPU-a", "model: T4, uuid: GPU-a, index: 5", "device 0 of n1 would go while work runs"),
    ],
)
def test_nothing_is_pulled_from_under_work(actors: Actors, fleet_file: File, old: str, new: str, message: str) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    device = Device.objects.get(uuid="GPU-a")
    hold(device.node, device, actors.a)
    before = snapshot()
    with pytest.raises(InvalidInput) as caught:
        import_fleet(actors.operator, read_fleet(fleet_file(FLEET.replace(old, new, 1))))
    assert any(message in error.message for error in caught.value.errors)
    assert all(error.field.startswith("line ") for error in caught.value.errors)
    assert snapshot() == before


def test_cards_change_places_within_one_file(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    swapped = FLEET.replace("GPU-a", "GPU-x").replace("GPU-c", "GPU-a").replace("GPU-x", "GPU-c")
    report = import_fleet(actors.operator, read_fleet(fleet_file(swapped)))
    assert report.devices == Count(updated=2, unchanged=1)
    assert Device.objects.get(uuid="GPU-a").node.name == "n2"


def test_a_card_of_a_node_that_the_file_leaves_out(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    stolen = FLEET[: FLEET.index("      - name: n2")].replace("GPU-b", "GPU-c")
    with pytest.raises(InvalidInput, match="is the card in n2 device 0; describe that node in this file too"):
        import_fleet(actors.operator, read_fleet(fleet_file(stolen)))


def test_a_card_that_leaves_is_retired_and_comes_back_as_itself(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    used = Device.objects.get(uuid="GPU-b")
    allocation = hold(used.node, used, actors.a)
    type(allocation).objects.filter(pk=allocation.pk).update(released_at=allocation.created_at)
    short = FLEET.replace("          - {model: T4, uuid: GPU-b}\n", "").replace("[{model: T4, uuid: GPU-c}]", "[]")
    path = fleet_file(short)
    report = import_fleet(actors.operator, read_fleet(path))
    assert report.removed == 2
    assert not Device.objects.filter(uuid="GPU-c").exists()  # free for another slot
    assert Device.objects.get(node__name="n2").retired_at is not None
    used.refresh_from_db()
    assert (used.state, used.state_reason) == ("faulty", "no longer in the node")
    assert used.retired_at is not None
    assert not import_fleet(actors.operator, read_fleet(path)).changed
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    used.refresh_from_db()
    assert (used.state, used.state_reason, used.uuid, used.retired_at) == ("ready", "", "GPU-b", None)


def test_a_model_described_earlier_is_known_later(db: None, fleet_file: File) -> None:
    run(EXAMPLE)
    text = "weir: 1\nsites: [{name: s9, nodes: [{name: z, cpu_milli: 1, memory_mib: 1, devices: [{model: X1-96GB}]}]}]"
    run(fleet_file(text))
    assert Device.objects.get(node__name="z").memory_mib == 98304


def test_version_rises_so_that_the_scheduler_sees_it(actors: Actors, fleet_file: File) -> None:
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET)))
    before = Node.objects.get(name="n1").version
    import_fleet(actors.operator, read_fleet(fleet_file(FLEET.replace("memory_mib: 65536", "memory_mib: 70000", 1))))
    assert Node.objects.get(name="n1").version > before
