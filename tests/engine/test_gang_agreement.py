"""A gang of like replicas is placed if and only if its nodes, searched exhaustively, hold its minimum."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, TypicalMix, decide
from tests.engine import make
from tests.engine.reference import Pool, violations
from tests.reference.examples import examples

QUIET = Policy(explain=False)


@settings(max_examples=examples(120), deadline=None, derandomize=True)
@given(
    nodes=make.fleets(),
    before=st.lists(make.requests(), max_size=3),
    request=make.requests(),
    replicas=st.integers(1, 6),
    least=st.integers(1, 6),
)
def test_placed_if_and_only_if_it_can_be(
    nodes: list[NodeSpec], before: list[ReplicaRequest], request: ReplicaRequest, replicas: int, least: int
) -> None:
    least = min(replicas, least)
    fleet = Fleet.build(nodes)
    pool, holds = Pool(nodes, make.FAMILY_ROWS, list(TypicalMix.observe([(request, 1.0)]).classes), False), list[Any]()
    for other in before:
        decision = decide(fleet, make.job(other), QUIET)
        if isinstance(decision, Placed):
            holds += fleet.apply(decision, "t1", "g1")
    for hold in holds:
        pool.hold(hold, "g1")
    could = min(replicas, sum(pool.most(node, request, "g1", replicas) for node in pool.nodes))
    decision = decide(fleet, make.job(request, replicas, least), QUIET)
    assert isinstance(decision, Placed) == (could >= least)
    if not isinstance(decision, Placed):
        return
    assert len(decision.replicas) == could  # all of the minimum, and as much beyond it as fits
    holds += fleet.apply(decision, "t1", "g1")
    assert violations(nodes, holds, lambda hold: hold.trust_group) == []
