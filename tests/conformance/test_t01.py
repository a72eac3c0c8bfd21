"""T01: as many 2 000 MiB pods on one card as its memory holds, with and without a driver reserve."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, decide, less_reserve
from tests.engine import make

POD = ReplicaRequest(1, share_bp=100, memory_mib=(2_000,))


def run_pods(memory_mib: int) -> tuple[int, int]:
    """How many of 24 pods run and how many wait."""
    fleet = Fleet.build([make.node(1, make.card(100, memory=memory_mib))])
    running = 0
    for key in range(24):
        decision = decide(fleet, make.job(POD, key=key), Policy(explain=False))
        if isinstance(decision, Placed):
            fleet.apply(decision, "t1", "g1")
            running += 1
    return running, 24 - running


@pytest.mark.parametrize(("reserve", "capacity", "expected"), [(0, 46_068, (23, 1)), (3, 44_685, (22, 2))])
def test_t01(reserve: int, capacity: int, expected: tuple[int, int]) -> None:
    assert less_reserve(46_068, reserve) == capacity
    assert run_pods(less_reserve(46_068, reserve)) == expected


def test_a_gang_of_24_waits_whole_and_is_told_that_23_would_run() -> None:
    fleet = Fleet.build([make.node(1, make.card(100, memory=46_068))])
    refused = decide(fleet, make.job(POD, replicas=24))
    assert not isinstance(refused, Placed)
    assert ("min_member", 24, 23) in [(c.kind, c.before, c.after) for c in refused.changes]
