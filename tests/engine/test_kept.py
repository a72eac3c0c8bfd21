"""What a fleet keeps from one decision to the next says what it would say made anew.

Scores and refusals are renewed row by row in plain numbers; here they are compared with those of a
fleet built from the holds alone, which reckons everything at once with arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, TypicalMix, decide, refusals, vectors
from pool.engine import state as s
from pool.engine.changelog import ChangeLog
from pool.engine.classes import compile_class
from pool.engine.funnel import funnel
from pool.engine.picks import NEVER
from pool.engine.refusals import kept_funnel
from pool.engine.scoring import score
from pool.engine.vectors import vector_for
from tests.engine import make
from tests.reference.examples import examples

QUIET = Policy(explain=False)
STEPS = st.tuples(st.sampled_from(["take", "take", "take", "leave", "close", "try"]), st.integers(0, 9))


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(
    nodes=make.fleets(),
    palette=st.lists(make.requests(), min_size=2, max_size=4),
    steps=st.lists(STEPS, min_size=3, max_size=12),
    few=st.sampled_from([64, 64, -1]),
)
def test_kept_is_as_made_anew(
    nodes: list[NodeSpec], palette: list[ReplicaRequest], steps: list[tuple[str, int]], few: int
) -> None:
    """``few``: the rows renewed in plain numbers; -1: all by arrays, as where many changed."""
    with patch.object(vectors, "LOOKED_AT", few), patch.object(refusals, "AT_ONCE", few):
        _go_through(nodes, palette, steps)


def _go_through(nodes: list[NodeSpec], palette: list[ReplicaRequest], steps: list[tuple[str, int]]) -> None:
    mix = TypicalMix.observe([(request, 1.0) for request in palette])
    fleet, live = Fleet.build(nodes, mix=mix), list[Any]()
    for step, number in steps:
        request = palette[number % len(palette)]
        if step == "take":
            live += _take(fleet, request, "t1" if number < 6 else "t2")
        elif step == "leave" and live:
            fleet.release(live.pop(number % len(live)))
        elif step == "close":
            _turn(fleet, number, live)
        elif step == "try":
            with fleet.scratch():
                _take(fleet, request)
                assert_as_made_anew(fleet, palette[:1])
        assert_as_made_anew(fleet, palette)


def _take(fleet: Fleet, request: ReplicaRequest, tenant: str = "t1") -> list[Any]:
    decision = decide(fleet, make.job(request, tenant=tenant, trust_group=tenant), QUIET)
    return list(fleet.apply(decision, tenant, tenant)) if isinstance(decision, Placed) else []


def _turn(fleet: Fleet, number: int, live: list[Any]) -> None:
    """Close an open node, or open a closed one."""
    node = fleet.nodes[number % len(fleet.nodes)]
    held = [hold for hold in live if hold.node_key == node.key]
    fleet.replace_node(replace(node, schedulable=not node.schedulable), held)


def assert_as_made_anew(fleet: Fleet, palette: list[ReplicaRequest]) -> None:
    trust = fleet.trust_number("t1", "t1")
    for request in palette:
        kept = vector_for(fleet, request, "t1", "t1", QUIET)
        now = score(fleet, kept.task, QUIET)
        can = now.key != NEVER
        assert kept.scores.key.tolist() == now.key.tolist()
        for field in ("change", "column", "start"):
            assert np.array_equal(getattr(kept.scores, field)[can], getattr(now, field)[can]), field
        anew = funnel(fleet, compile_class(fleet, request, trust))
        assert kept_funnel(fleet, request, trust, False) == anew


def test_rows_settled_one_by_one_and_at_once_are_alike() -> None:
    nodes = [make.node(key, *(make.card(100 * key + n) for n in range(4))) for key in range(1, 12)]
    nodes.append(make.node(12, make.a100(1200), make.card(1201, "B")))
    fleet, holds = Fleet.build(nodes), list[Any]()
    requests = [ReplicaRequest(1, 2_500), ReplicaRequest(2, cpu_milli=500), ReplicaRequest(1, mig_profile="2g.10gb")]
    for request in requests * 4:
        holds += _take(fleet, request)  # settled one by one
    fleet.settle()
    assert len(holds) >= 12
    _assert_settled(fleet)
    for hold in holds:
        fleet.release(hold)
    fleet.touch(range(12))  # all at once
    fleet.settle()
    _assert_settled(fleet)


def _assert_settled(fleet: Fleet) -> None:
    """The derived arrays, and the rows in plain numbers, are what the truth says."""
    anew = s.State(fleet.state.device.copy(), fleet.state.node.copy())
    anew.device[s.ROOM :], anew.node[s.FREE :] = 0, 0
    s.settle(anew, np.arange(len(fleet.nodes)), fleet.kinds, fleet.tables)
    assert np.array_equal(fleet.state.device, anew.device)
    assert np.array_equal(fleet.state.node, anew.node)
    for row in range(len(fleet.nodes)):
        assert s.plain_row(fleet.state, row) == s.plain_row(anew, row)


def test_a_log_tells_each_changed_row_once_however_long_ago() -> None:
    log = ChangeLog(5_000)
    marks = {}
    for change in range(4_000):
        marks[change] = log.position
        log.add(change * 7 % 3_000)
    for back in (0, 1, 50, 96, 97, 1_500, 3_999):
        since = marks[3_999 - back]
        assert sorted(log.since(since)) == sorted({change * 7 % 3_000 for change in range(3_999 - back, 4_000)})
    assert log.since(log.position) == []
    copy = log.copy()
    copy.add(4_999)
    assert log.since(log.position) == []
    assert copy.since(log.position) == [4_999]
