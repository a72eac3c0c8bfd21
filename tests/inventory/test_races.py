"""Work that is placed between the comparison and the write: the guard of the write holds, not the read before it."""

from dataclasses import replace

import pytest
from django.db import transaction

from console.common.errors import Conflict
from pool.inventory.importing import NodeDraft, read_fleet
from pool.inventory.models import Device, Node
from pool.inventory.services import import_fleet, known, write
from pool.inventory.services.compare import NodePlan, plan_node
from tests.conftest import Actors
from tests.inventory.conftest import hold
from tests.inventory.test_import import FLEET, File, snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(actors: Actors, fleet_file: File) -> NodeDraft:
    fleet = read_fleet(fleet_file(FLEET))
    import_fleet(actors.operator, fleet)
    return fleet.nodes[0]


def too_late(actors: Actors, changed: NodeDraft) -> None:
    """Compares, lets work come in, writes: must be refused and change nothing."""
    have = known.load([changed])
    plan = plan_node(changed, have)
    assert plan.is_change
    assert not plan.problems
    device = Device.objects.get(uuid="GPU-a")
    hold(device.node, device, actors.a)
    before = snapshot()
    with pytest.raises(Conflict, match="meanwhile"), transaction.atomic():
        write.write([plan], have)
    assert snapshot() == before


def test_a_node_that_would_move(actors: Actors, draft: NodeDraft) -> None:
    too_late(actors, replace(draft, rack="r2"))


def test_a_card_that_would_be_cut_by_mig(actors: Actors, draft: NodeDraft) -> None:
    first, second = draft.devices or ()
    too_late(actors, replace(draft, devices=(replace(first, mig_enabled=True), second)))


def test_a_card_that_would_go(actors: Actors, draft: NodeDraft) -> None:
    too_late(actors, replace(draft, devices=(draft.devices or ())[1:]))


def test_a_node_that_joined_meanwhile(actors: Actors, draft: NodeDraft, fleet_file: File) -> None:
    """Two writers make the same node: the second is told to try again, and then finds it made."""
    fleet = read_fleet(fleet_file(FLEET.replace("name: n1", "name: n9").replace("GPU-", "GPU-9")))
    original = write._create_nodes

    def late(plans: list[NodePlan], have: known.Known) -> None:
        Node.objects.create(name="n9", site=Node.objects.get(name="n1").site, cpu_milli=1, memory_mib=1)
        original(plans, have)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "_create_nodes", late)
        with pytest.raises(Conflict, match="try again"):
            import_fleet(actors.operator, fleet)
    assert not Node.objects.filter(name="n9").exists()
