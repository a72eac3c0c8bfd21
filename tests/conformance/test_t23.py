"""T23: two gangs of 100 pods on 100 nodes: one runs whole, one waits whole, never 50 and 50."""

from __future__ import annotations

from pool.engine import Fleet, JobRequest, Placed, Refused, ReplicaRequest, RoleRequest, decide
from tests.engine import make


def test_t23() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    pod = ReplicaRequest(1, cpu_milli=1_000)
    first = decide(fleet, make.job(pod, replicas=100, key=1))
    assert isinstance(first, Placed)
    assert len({replica.node_key for replica in first.replicas}) == 100
    assert sorted(replica.rank for replica in first.replicas) == list(range(100))
    fleet.apply(first, "t1", "g1")
    before = fleet.snapshot_id
    second = decide(fleet, make.job(pod, replicas=100, key=2))
    assert isinstance(second, Refused)
    assert not second.never
    assert fleet.snapshot_id == before


def test_after_half_is_taken_a_gang_of_100_takes_nothing() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    half = decide(fleet, make.job(ReplicaRequest(1), replicas=50))
    assert isinstance(half, Placed)
    fleet.apply(half, "t1", "g1")
    refused = decide(fleet, make.job(ReplicaRequest(1), replicas=100))
    assert isinstance(refused, Refused)
    assert [(f.filter, f.devices) for f in refused.failed] == [("share", 50), ("gang", 50)]
    assert [(c.kind, c.after) for c in refused.changes if c.kind == "min_member"] == [("min_member", 50)]


def test_a_lost_node_leaves_no_part_of_the_gang_to_place() -> None:
    """After a drain the gang is decided anew: whole on 99 nodes if its minimum allows, or not at all."""
    fleet = Fleet.build(make.nodes(100, 1))
    fleet.remove_node(7)
    assert isinstance(decide(fleet, make.job(ReplicaRequest(1), replicas=100)), Refused)
    elastic = decide(fleet, make.job(ReplicaRequest(1), replicas=100, least=99))
    assert isinstance(elastic, Placed)
    assert len(elastic.replicas) == 99


def test_two_roles_that_would_each_fit_alone_but_not_together_take_nothing() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    roles = (RoleRequest("a", ReplicaRequest(1), 60, 60), RoleRequest("b", ReplicaRequest(1), 60, 60))
    before = fleet.snapshot_id
    assert isinstance(decide(fleet, JobRequest(1, "t1", "g1", roles, 120)), Refused)
    assert fleet.snapshot_id == before
