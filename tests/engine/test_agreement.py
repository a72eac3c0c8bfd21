"""The engine and a slow reference that shares no code with it decide alike, step by step."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, Policy, Refused, ReplicaRequest, TypicalMix, decide
from pool.engine.rows import ranked
from pool.engine.scoring import cpu_is_tight
from pool.engine.vectors import vector_for
from tests.engine import make
from tests.engine.reference import Pool, violations
from tests.reference.examples import examples
from tests.reference.filters import told

QUIET = Policy(explain=False)
TENANTS = ["t1", "t2", "t3"]
GROUP = {"t1": "g1", "t2": "g1", "t3": ""}  # t1 and t2 trust each other, t3 nobody


def trust_of(hold: Any) -> str:
    return hold.trust_group or hold.tenant


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(
    nodes=make.fleets(),
    palette=st.lists(make.requests(), min_size=2, max_size=4),
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    steps=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(TENANTS), st.integers(0, 5)), min_size=4, max_size=14),
)
def test_same_decisions(
    nodes: list[NodeSpec], palette: list[ReplicaRequest], weights: list[int], steps: list[tuple[int, str, int]]
) -> None:
    """A few requests again and again (so that score vectors are renewed), also as the mix."""
    fleet = Fleet.build(nodes, mix=TypicalMix.observe(list(zip(palette, weights, strict=False))))
    work = [(palette[pick % len(palette)], tenant, end) for pick, tenant, end in steps]
    tight = cpu_is_tight(fleet, QUIET)
    pool = Pool(nodes, make.FAMILY_ROWS, list(fleet.mix.classes), tight)
    live: list[Any] = []
    for request, tenant, end in work:
        if end == 0 and live:
            for hold in live.pop(0):
                fleet.release(hold)
                pool.hold(hold, trust_of(hold), sign=-1)
        group = GROUP[tenant]
        decision = decide(fleet, make.job(request, tenant=tenant, trust_group=group), QUIET)
        expected = pool.order(request, group or tenant)
        assert isinstance(decision, Placed) == bool(expected)
        if isinstance(decision, Refused):
            counted = {count.filter: (count.devices, count.nodes) for count in decision.failed}
            assert counted == told(pool, request, group or tenant)
            continue
        vector = vector_for(fleet, request, tenant, group, QUIET)
        rows = ranked(fleet, make.job(request, tenant=tenant, trust_group=group), vector, len(nodes))
        assert [fleet.nodes[row].key for row in rows] == [node.key for node, _, _ in expected]
        assert decision.considered == len(expected)
        second = decision.runner_up
        assert (second and (second.bucket, second.tie, second.node_key)) == (expected[1][1] if expected[1:] else None)
        node, score, parts = expected[0]
        ours = decision.replicas[0]
        assert ours.node_key == node.key
        assert [(d.device_key, d.share_bp, d.memory_mib, d.mig_profile, d.mig_start) for d in ours.devices] == [
            (key, share, memory, row[0] if row else "", start) for key, _, share, memory, row, start in parts
        ]
        won = decision.score
        assert (won.bucket, won.tie, won.node_key) == score
        holds = fleet.apply(decision, tenant, group)
        for hold in holds:
            pool.hold(hold, trust_of(hold))
        live.append(holds)
        assert violations(nodes, [h for held in live for h in held], trust_of) == []
