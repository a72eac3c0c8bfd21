"""A fleet that was frozen and thawed, or copied, is the same one: in content, and in what it decides from then on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, ReplicaRequest, decide
from pool.engine.affinity import Affinity
from pool.engine.copying import copy_of
from pool.engine.freezing import freeze, thaw
from pool.engine.neighbours import repels_of
from pool.engine.selectors import Requirement
from tests.engine import make

APP = (("app", "x"),)
AWAY = (Affinity((Requirement("app", "In", ("x",)),), "node", anti=True),)


def run(fleet: Fleet, asked: list[ReplicaRequest], first: int = 1) -> list[object]:
    """Decides and holds, one after another; every third has labels and keeps its like away."""
    told: list[object] = []
    for key, request in enumerate(asked, first):
        more = {"labels": APP, "affinity": AWAY} if key % 3 == 0 else {}
        job = make.job(request, key=key, tenant=f"t{key % 2}", trust_group=f"g{key % 2}", **more)
        outcome = decide(fleet, job)
        told.append(outcome)
        if isinstance(outcome, Placed):
            fleet.apply(outcome, job.tenant, job.trust_group, job.labels, repels_of(job))
    return told


@settings(max_examples=25)
@given(make.fleets(), st.lists(make.requests(), max_size=8), st.lists(make.requests(), min_size=1, max_size=4))
def test_it_goes_on_as_the_one_it_was(
    nodes: list[NodeSpec], before: list[ReplicaRequest], after: list[ReplicaRequest]
) -> None:
    fleet = Fleet.build(nodes)
    run(fleet, before)
    thawed, copied = thaw(fleet.nodes, fleet.mix, freeze(fleet)), copy_of(fleet)
    assert thawed.snapshot_id == copied.snapshot_id == fleet.snapshot_id
    mark = fleet.snapshot_id
    told = run(copied, after, 100)
    assert fleet.snapshot_id == mark
    assert run(thawed, after, 100) == told == run(fleet, after, 100)
    assert thawed.snapshot_id == copied.snapshot_id == fleet.snapshot_id


def test_of_other_nodes_it_is_refused() -> None:
    frozen = freeze(Fleet.build(make.nodes(2, 4)))
    with pytest.raises(ValueError, match="not those of"):
        thaw(make.nodes(3, 4), Fleet().mix, frozen)


def test_a_node_that_comes_later_does_not_reach_the_copy() -> None:
    fleet = Fleet.build(make.nodes(2, 4))
    copied = copy_of(fleet)
    before = copied.snapshot_id
    fleet.replace_node(make.nodes(3, 4)[2])
    fleet.remove_node(fleet.nodes[0].key)
    assert copied.snapshot_id == before
    assert isinstance(decide(copied, make.job(ReplicaRequest(4), 2)), Placed)
