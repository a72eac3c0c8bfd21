"""Unequal devices in one replica: each of the asks gets what it names, on cards of their own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, ReplicaRequest, Requirement, decide
from tests.engine import make as engine_make
from tests.engine.reference import violations
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples

WHOLE = ReplicaRequest(1)
SLICE = ReplicaRequest(1, 4_000, memory_mib=(10_240,))


def both(*asks: ReplicaRequest, **more: Any) -> ReplicaRequest:
    return ReplicaRequest(sum(ask.devices for ask in asks), asks=asks, **more)


def test_a_whole_card_beside_a_slice_of_ten_gib() -> None:
    fleet = Fleet.build(engine_make.nodes(2, 2))
    replica = make.placed(fleet, engine_make.job(both(SLICE, WHOLE, cpu_milli=2_000))).replicas[0]
    assert [(d.share_bp, d.memory_mib, d.isolation) for d in replica.devices] == [
        (4_000, 10_240, "vgpu"),
        (10_000, 24_576, "exclusive"),
    ]
    assert len({d.device_key for d in replica.devices}) == 2
    assert replica.cpu_milli == 2_000


def test_slices_of_two_replicas_share_a_card() -> None:
    fleet = Fleet.build(engine_make.nodes(1, 3))
    decision = make.placed(fleet, engine_make.job(both(WHOLE, SLICE), 2))
    slices = [replica.devices[1].device_key for replica in decision.replicas]
    assert slices[0] == slices[1]


def test_a_mig_slice_beside_a_share_and_one_of_a_labelled_card() -> None:
    fleet = Fleet.build(
        [
            engine_make.node(
                1, engine_make.a100(100), engine_make.card(101), engine_make.card(102, labels=(("fast", "1"),))
            )
        ]
    )
    labelled = ReplicaRequest(1, 2_000, gpu_selector=(Requirement("fast", "Exists"),))
    replica = make.placed(
        fleet, engine_make.job(both(SLICE, labelled, ReplicaRequest(2, mig_profile="1g.5gb")))
    ).replicas[0]
    assert [d.device_key for d in replica.devices] == [101, 102, 100, 100]
    assert {d.mig_start for d in replica.devices[2:]} <= set(range(7))


def test_a_device_does_not_take_the_only_card_of_another() -> None:
    """The large share could take either card, the small one card 100 alone: the large one steps aside."""
    fleet = Fleet.build([engine_make.node(1, engine_make.card(100, "X"), engine_make.card(101, "Y"))])
    small = ReplicaRequest(1, 1_000, models=frozenset({"X"}))
    replica = make.placed(fleet, engine_make.job(both(ReplicaRequest(1, 5_000), small))).replicas[0]
    assert [d.device_key for d in replica.devices] == [101, 100]


def test_a_refusal_counts_for_the_scarcest_device_and_offers_changes_of_each() -> None:
    fleet = Fleet.build(engine_make.nodes(1, 2))
    refused = make.refused(fleet, engine_make.job(both(WHOLE, ReplicaRequest(2, 4_000, memory_mib=(10_240,)))))
    assert [(f.filter, f.devices) for f in refused.failed] == [("node_devices", 2)]
    assert ("asks[1].devices", 2, 1) in [(c.kind, c.before, c.after) for c in refused.changes]
    large = make.refused(fleet, engine_make.job(both(WHOLE, ReplicaRequest(1, 4_000, memory_mib=(30_000,)))))
    assert [(f.filter, f.devices) for f in large.failed] == [("memory", 2)]
    assert ("asks[1].memory_mib", 30_000, 24_576) in [(c.kind, c.before, c.after) for c in large.changes]


@pytest.mark.parametrize(
    "values",
    [
        {"devices": 3, "asks": (WHOLE, SLICE)},
        {"devices": 1, "asks": (ReplicaRequest(1, cpu_milli=1),)},
        {"devices": 2, "asks": (WHOLE, SLICE), "models": frozenset({"A"})},
        {"devices": 2, "asks": (WHOLE, SLICE), "share_bp": 5_000},
        {"devices": 2, "asks": (WHOLE, ReplicaRequest(1, asks=(WHOLE,)))},
    ],
)
def test_asks_that_make_no_sense_name_the_field(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^asks: "):
        ReplicaRequest(**values)


ASKS = st.sampled_from(
    [
        WHOLE,
        ReplicaRequest(1, models=frozenset({"B"})),
        ReplicaRequest(1, memory_mib=(20_000,)),
        SLICE,
        ReplicaRequest(1, 2_500, models=frozenset({"A"})),
        ReplicaRequest(2, 5_000),
    ]
)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(
    models=st.lists(st.lists(st.sampled_from(["A", "B"]), min_size=1, max_size=4), min_size=1, max_size=3),
    asks=st.lists(ASKS, min_size=1, max_size=3),
    replicas=st.integers(1, 2),
)
def test_placed_if_and_only_if_each_ask_can_have_a_card_of_its_own(
    models: list[list[str]], asks: list[ReplicaRequest], replicas: int
) -> None:
    memory = {"A": 24_576, "B": 16_001}
    nodes: list[NodeSpec] = [
        engine_make.node(key, *(engine_make.card(100 * key + n, model, memory[model]) for n, model in enumerate(of)))
        for key, of in enumerate(models, 1)
    ]
    fleet, job = Fleet.build(nodes), engine_make.job(both(*asks), replicas)
    decision = decide(fleet, job, make.QUIET)
    if replicas == 1:
        assert isinstance(decision, Placed) == any(reference.matching(_choices(asks, node)) for node in nodes)
    if isinstance(decision, Placed):
        held = fleet.apply(decision, "t1", "g1")
        assert violations(nodes, list(held), lambda hold: hold.trust_group) == []
        for replica in decision.replicas:
            single = [ask for ask in asks for _ in range(ask.devices)]
            for ask, part in zip(single, replica.devices, strict=True):
                assert part.share_bp == ask.share_bp
                assert not ask.models or _model(nodes, part.device_key) in ask.models


def _model(nodes: list[NodeSpec], key: int) -> str:
    return next(card.model for node in nodes for card in node.devices if card.key == key)


def _choices(asks: list[ReplicaRequest], node: NodeSpec) -> list[set[int]]:
    """The cards of an empty node that would do for each device."""
    return [
        {
            card.key
            for card in node.devices
            if (not ask.models or card.model in ask.models)
            and (not ask.memory_mib or card.memory_mib >= ask.memory_mib[0])
        }
        for ask in asks
        for _ in range(ask.devices)
    ]
