"""T08: 10 GB + 30 GB on two cards go to cards that fit each, not to two of 30 GB."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, NodeSpec, Placed, Refused, ReplicaRequest, decide
from tests.engine import make


def unlike_node() -> NodeSpec:
    return make.node(1, make.card(100, "small", 16_384), make.card(101, "large", 40_960))


@pytest.mark.parametrize("share", [10_000, 2_500])
@pytest.mark.parametrize(("memory", "cards"), [((10_240, 30_720), [100, 101]), ((30_720, 10_240), [101, 100])])
def test_t08(share: int, memory: tuple[int, int], cards: list[int]) -> None:
    fleet = Fleet.build([unlike_node()])
    decision = decide(fleet, make.job(ReplicaRequest(2, share, memory_mib=memory)))
    assert isinstance(decision, Placed)
    assert [part.device_key for part in decision.replicas[0].devices] == cards
    if share < 10_000:
        assert [part.memory_mib for part in decision.replicas[0].devices] == list(memory)


def test_two_of_the_larger_do_not_fit() -> None:
    refused = decide(Fleet.build([unlike_node()]), make.job(ReplicaRequest(2, 2_500, memory_mib=(30_720, 30_720))))
    assert isinstance(refused, Refused)
    assert refused.never
    assert ("memory_mib", 16_384) in [(change.kind, change.after) for change in refused.changes]
