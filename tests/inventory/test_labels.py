"""Labels of nodes and cards: who may set them, what they may be, and whose word stays."""

from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput, NotAllowed
from pool.inventory.fleet import node_specs
from pool.inventory.models import Node
from pool.inventory.services import set_device_labels, set_node_labels, upsert_node_from_agent
from tests import factories
from tests.conftest import Actors
from tests.inventory.conftest import hold

pytestmark = pytest.mark.django_db


def test_they_reach_placement_and_the_audit_log(actors: Actors) -> None:
    node = factories.make_node("n1", devices=2, labels={"address": "10.0.0.1"})
    node.refresh_from_db()
    changed = set_node_labels(actors.operator, node, {"zone": "a", "address": "elsewhere"})
    assert changed.labels == {"zone": "a", "address": "10.0.0.1"}
    assert changed.version == node.version + 1
    card = set_device_labels(actors.operator, node.devices.get(index=1), {"tier": "new"})
    assert card.labels == {"tier": "new"}
    version, spec = node_specs([node.pk])[node.pk]
    assert (spec.labels, [device.labels for device in spec.devices]) == ((("zone", "a"),), [(), (("tier", "new"),)])
    assert version == node.version + 2
    entries = AuditEntry.objects.filter(action__in=["node.labels", "device.labels"]).order_by("id")
    assert [entry.action for entry in entries] == ["node.labels", "device.labels"]


def test_the_same_again_is_no_change(actors: Actors) -> None:
    node = factories.make_node("n1", devices=1)
    node.refresh_from_db()
    set_node_labels(actors.operator, node, {"zone": "a"})
    again = set_node_labels(actors.operator, node, {"zone": "a"})
    assert again.version == node.version + 1
    assert AuditEntry.objects.filter(action="node.labels").count() == 1


@pytest.mark.parametrize("who", ["finance", "auditor", "owner_a", "member_a"])
def test_only_operators(actors: Actors, who: str) -> None:
    node = factories.make_node("n1", devices=1)
    card = node.devices.get()
    hold(node, card, actors.a)
    with pytest.raises(NotAllowed):
        set_node_labels(getattr(actors, who), node, {"zone": "a"})
    with pytest.raises(NotAllowed):
        set_device_labels(getattr(actors, who), card, {"zone": "a"})
    assert Node.objects.get().labels == {}


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        ({"": "a"}, "labels."),
        ({" zone": "a"}, "labels. zone"),
        ({"x" * 64: "a"}, "labels." + "x" * 40),
        ({"zone": 3}, "labels.zone"),
        ({"zone": "a\nb"}, "labels.zone"),
        ({"zone": "x" * 201}, "labels.zone"),
        ({str(n): "a" for n in range(65)}, "labels"),
    ],
)
def test_refused_with_the_label_named(actors: Actors, labels: dict[str, Any], field: str) -> None:
    node = factories.make_node("n1", devices=1)
    with pytest.raises(InvalidInput) as caught:
        set_node_labels(actors.operator, node, labels)
    assert [error.field for error in caught.value.errors] == [field]


def test_an_agent_keeps_its_own_and_leaves_the_operators(actors: Actors) -> None:
    site = factories.make_site("s1")
    report: dict[str, Any] = {
        "name": "n1",
        "cpu_milli": 8000,
        "memory_mib": 16384,
        "labels": {"address": "10.0.0.1", "rev": "1"},
        "devices": [],
    }
    joined = upsert_node_from_agent(report, site=site)
    found = Node.objects.get(pk=joined.node_id)
    set_node_labels(actors.operator, found, {"zone": "a", "rev": "1"})
    upsert_node_from_agent(report | {"labels": {"address": "10.0.0.2", "rev": "2"}}, site=site)
    found.refresh_from_db()
    assert found.labels == {"address": "10.0.0.2", "rev": "2", "zone": "a"}
