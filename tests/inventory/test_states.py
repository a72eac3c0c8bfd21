"""Cordon, drain, faults, MIG mode."""

from collections.abc import Collection

import pytest

from console.audit.models import AuditEntry
from console.common.errors import Conflict, InvalidInput, NotAllowed
from pool.inventory import ports
from pool.inventory.models import Device, Node
from pool.inventory.services import set_device_state, set_mig_enabled, set_node_state
from tests import factories
from tests.conftest import Actors
from tests.inventory.conftest import hold

pytestmark = pytest.mark.django_db


@pytest.fixture
def node() -> Node:
    return factories.make_node("n1", devices=2)


def test_cordon_drain_and_back(actors: Actors, node: Node) -> None:
    version = node.version
    for state in ("cordoned", "draining", "ready"):
        changed = set_node_state(actors.operator, node, state, "fans")
        assert changed.state == state
        assert changed.version > version
        version = changed.version
    assert AuditEntry.objects.filter(action="node.state", object_id=node.public_id).count() == 3


def test_the_same_state_again_is_no_change(actors: Actors, node: Node) -> None:
    set_node_state(actors.operator, node, "cordoned")
    set_node_state(actors.operator, node, "cordoned")
    assert AuditEntry.objects.filter(action="node.state").count() == 1


def test_a_fault_needs_a_reason_and_clearing_ends_it(actors: Actors, node: Node) -> None:
    card = node.devices.get(index=0)
    with pytest.raises(InvalidInput, match="reason: is missing"):
        set_device_state(actors.operator, card, "faulty", "  ")
    assert set_device_state(actors.operator, card, "faulty", "XID 79\nfell off").state_reason == "XID 79 fell off"
    cleared = set_device_state(actors.operator, card, "ready", "ignored")
    assert (cleared.state, cleared.state_reason) == ("ready", "")
    assert AuditEntry.objects.filter(action="device.state").count() == 2


@pytest.mark.parametrize("state", ["", "broken", "faulty"])
def test_states_that_a_node_does_not_have(actors: Actors, node: Node, state: str) -> None:
    with pytest.raises(InvalidInput, match="state"):
        set_node_state(actors.operator, node, state)


@pytest.mark.parametrize("who", ["finance", "auditor", "owner_a", "member_a", "member_b"])
def test_only_operators(actors: Actors, node: Node, who: str) -> None:
    actor, card = getattr(actors, who), node.devices.get(index=0)
    hold(node, card, actors.a)
    for attempt in (
        lambda: set_node_state(actor, node, "cordoned"),
        lambda: set_device_state(actor, card, "cordoned"),
        lambda: set_mig_enabled(actor, card, True),
    ):
        with pytest.raises(NotAllowed):
            attempt()
    assert not AuditEntry.objects.exists()


def test_mig_is_switched_only_on_an_empty_card(actors: Actors, node: Node) -> None:
    busy, free = node.devices.order_by("index")
    allocation = hold(node, busy, actors.a)
    with pytest.raises(Conflict) as caught:
        set_mig_enabled(actors.operator, busy, True)
    assert f"it holds {allocation.job.name} ({allocation.job.public_id})" in caught.value.message
    assert set_mig_enabled(actors.operator, free, True).mig_enabled
    assert not Device.objects.get(pk=busy.pk).mig_enabled
    assert AuditEntry.objects.get(action="device.mig").object_id == free.public_id


def test_a_model_without_mig(actors: Actors) -> None:
    card = factories.make_node("t4", devices=1, model="T4").devices.get()
    with pytest.raises(InvalidInput, match="T4 has no MIG"):
        set_mig_enabled(actors.operator, card, True)


def test_listeners_hear_of_it_after_the_commit(
    actors: Actors, node: Node, django_capture_on_commit_callbacks: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Collection[int]] = []
    monkeypatch.setattr(ports, "_listeners", [])
    ports.on_fleet_change(heard.append)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        set_node_state(actors.operator, node, "cordoned")
        assert heard == []
    assert heard == [(node.pk,)]
