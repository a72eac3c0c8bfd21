"""Gangs: all of the minimum or nothing (I2), no part held twice (I1), in the order promised."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import (
    Fleet,
    JobRequest,
    NodeSpec,
    Placed,
    Policy,
    Refused,
    ReplicaRequest,
    RoleRequest,
    TypicalMix,
    decide,
)
from tests.engine import make
from tests.engine.reference import violations
from tests.reference.examples import examples

QUIET = Policy(explain=False, backtrack_limit=60)


@st.composite
def gangs(draw: st.DrawFn) -> JobRequest:
    roles = []
    for number in range(draw(st.integers(1, 3))):
        replicas = draw(st.integers(1, 4))
        roles.append(RoleRequest(f"r{number}", draw(make.requests()), replicas, draw(st.integers(0, replicas))))
    most = sum(role.replicas for role in roles)
    return JobRequest(1, "t1", "g1", tuple(roles), draw(st.integers(0, most)))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(nodes=make.fleets(), jobs=st.lists(gangs(), min_size=1, max_size=4))
def test_whole_minimum_or_nothing_and_nothing_twice(nodes: list[NodeSpec], jobs: list[JobRequest]) -> None:
    fleet = Fleet.build(nodes)
    live: list[Any] = []
    for job in jobs:
        before = fleet.snapshot_id, fleet.version
        decision = decide(fleet, job, QUIET)
        assert (fleet.snapshot_id, fleet.version) == before  # deciding changes nothing
        assert decide(fleet, job, QUIET) == decision
        if isinstance(decision, Refused):
            continue
        ranks = {role.name: [r.rank for r in decision.replicas if r.role == role.name] for role in job.roles}
        for role in job.roles:
            assert role.min_replicas <= len(ranks[role.name]) <= role.replicas
            assert ranks[role.name] == list(range(len(ranks[role.name])))
        assert len(decision.replicas) >= max(job.min_member, 1)
        live += fleet.apply(decision, "t1", "g1")
        assert violations(nodes, live, lambda hold: hold.trust_group) == []


def test_an_elastic_gang_takes_what_fits_beyond_its_minimum() -> None:
    fleet = Fleet.build(make.nodes(2, 3))
    placed = decide(fleet, make.job(ReplicaRequest(1), replicas=10, least=2))
    assert isinstance(placed, Placed)
    assert len(placed.replicas) == 6


def test_another_role_fills_the_minimum_when_one_runs_out() -> None:
    fleet = Fleet.build([make.node(1, make.card(100, "A"), make.card(101, "B"), make.card(102, "B"))])
    roles = (
        RoleRequest("a", ReplicaRequest(1, models=frozenset({"A"})), 3, 1),
        RoleRequest("b", ReplicaRequest(1, models=frozenset({"B"})), 3, 1),
    )
    placed = decide(fleet, JobRequest(1, "t1", "g1", roles, 3))
    assert isinstance(placed, Placed)
    assert sorted((r.role, r.rank) for r in placed.replicas) == [("a", 0), ("b", 0), ("b", 1)]
    assert isinstance(decide(fleet, JobRequest(1, "t1", "g1", roles, 4)), Refused)


def test_a_role_without_its_minimum_refuses_the_whole_job() -> None:
    fleet = Fleet.build(make.nodes(4, 1))
    roles = (
        RoleRequest("launcher", ReplicaRequest(1, models=frozenset({"none"})), 1, 1),
        RoleRequest("worker", ReplicaRequest(1), 3, 0),
    )
    refused = decide(fleet, JobRequest(1, "t1", "g1", roles, 1))
    assert isinstance(refused, Refused)
    assert (refused.role, refused.never) == ("launcher", True)


def test_large_gangs_pack_nodes_whole() -> None:
    """64 replicas of one card take exactly 8 of 16 nodes of 8: the other 8 stay whole."""
    fleet = Fleet.build(make.nodes(16, 8))
    placed = decide(fleet, make.job(ReplicaRequest(1), replicas=64))
    assert isinstance(placed, Placed)
    assert len({replica.node_key for replica in placed.replicas}) == 8


def test_whole_cards_of_one_replica_stay_on_one_nvlink_island() -> None:
    cards = tuple(make.card(100 + i, nvlink_island=i % 2) for i in range(8))
    fleet = Fleet.build([make.node(1, *cards)])
    first = decide(fleet, make.job(ReplicaRequest(3)))
    assert isinstance(first, Placed)
    assert {d.device_key % 2 for d in first.replicas[0].devices} == {0}
    fleet.apply(first, "t1", "g1")
    second = decide(fleet, make.job(ReplicaRequest(1)))
    assert isinstance(second, Placed)
    fleet.apply(second, "t1", "g1")
    third = decide(fleet, make.job(ReplicaRequest(4)))
    assert isinstance(third, Placed)
    assert len({d.device_key for d in third.replicas[0].devices}) == 4


def test_the_hardest_role_of_a_gang_too_large_to_search_goes_first() -> None:
    """The easy role is named first and, left to itself, ends on the node that its rest fits best: the only one that the
    hard role could have. With 34 replicas nothing is searched, so the order alone decides."""
    nodes = [
        make.node(1, *(make.card(100 + i, "A") for i in range(8))),
        make.node(2, *(make.card(200 + i, "B") for i in range(30))),
        make.node(3, *(make.card(300 + i, "B") for i in range(10))),
    ]
    mix = TypicalMix.observe([(ReplicaRequest(1), 1)])  # to it, taking any card is the same
    easy = RoleRequest("easy", ReplicaRequest(1), 33, 33)
    hard = RoleRequest("hard", ReplicaRequest(8, models=frozenset({"A"})), 1, 1)
    alone = decide(Fleet.build(nodes, mix=mix), JobRequest(1, "t1", "g1", (easy,), 33), QUIET)
    assert isinstance(alone, Placed)
    assert 1 in {replica.node_key for replica in alone.replicas}
    both = decide(Fleet.build(nodes, mix=mix), JobRequest(1, "t1", "g1", (easy, hard), 34), QUIET)
    assert isinstance(both, Placed)
    assert {replica.node_key for replica in both.replicas if replica.role == "easy"} == {2, 3}
    assert [replica.node_key for replica in both.replicas if replica.role == "hard"] == [1]


def test_the_minimum_of_roles_counts_where_min_member_says_less() -> None:
    """Four replicas are a must by their role though ``min_member`` says one; three have room: three is the change."""
    fleet = Fleet.build(make.nodes(1, 3))
    job = JobRequest(1, "t1", "g1", (RoleRequest("w", ReplicaRequest(1), 4, 4),), 1)
    refused = decide(fleet, job)
    assert isinstance(refused, Refused)
    assert [(c.before, c.after) for c in refused.changes if c.kind == "min_member"] == [(4, 3)]
    roles = (RoleRequest("a", ReplicaRequest(1), 2, 2), RoleRequest("b", ReplicaRequest(1), 2, 2))
    two = decide(fleet, JobRequest(1, "t1", "g1", roles, 1))
    assert isinstance(two, Refused)
    assert [(c.before, c.after) for c in two.changes if c.kind == "min_member"] == [(4, 3)]
