"""Roles with topology levels of their own, inside the domain of the job."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, ReplicaRequest, RoleRequest, decide
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples


def job(*roles: RoleRequest, **more: Any) -> JobRequest:
    return JobRequest(1, "t1", "g1", roles, sum(role.min_replicas for role in roles), **more)


def role(name: str, replicas: int, least: int | None = None, **levels: str) -> RoleRequest:
    return RoleRequest(name, ReplicaRequest(1), replicas, replicas if least is None else least, **levels)  # type: ignore[arg-type]


def nodes_by_role(fleet: Fleet, request: JobRequest) -> dict[str, list[int]]:
    decision = make.placed(fleet, request)
    return {one.name: [r.node_key for r in decision.replicas if r.role == one.name] for one in request.roles}


def test_each_role_in_a_rack_of_its_own_all_at_one_switch() -> None:
    """Racks of two nodes of four: prefill 6 and decode 6 each in one rack, both behind one switch."""
    fleet = Fleet.build(make.tree([1, 1, 2, 2, 2]))
    level = {"required_topology_level": "rack"}
    found = nodes_by_role(
        fleet, job(role("prefill", 6, **level), role("decode", 6, **level), required_topology_level="switch")
    )
    assert {name: {(key - 1) // 2 for key in keys} for name, keys in found.items()} == {"prefill": {0}, "decode": {1}}


def test_a_role_that_finds_no_domain_refuses_the_job_unless_it_only_prefers() -> None:
    fleet = Fleet.build(make.tree([1, 1, 1, 2, 2]))
    strict = job(role("a", 5, required_topology_level="node"), role("b", 1))
    refused = make.refused(fleet, strict)
    assert (refused.role, refused.never) == ("a", True)
    assert len(nodes_by_role(fleet, job(role("a", 5, preferred_topology_level="node"), role("b", 1)))["a"]) == 5


def test_an_elastic_role_fills_its_domain_once_all_minimums_stand() -> None:
    fleet = Fleet.build(make.tree([1, 1, 1, 2, 2]))
    found = nodes_by_role(fleet, job(role("a", 9, 2, required_topology_level="node"), role("b", 1, 1)))
    assert found == {"a": [1, 1, 1], "b": [1]}


def test_levels_that_do_not_exist_name_the_field() -> None:
    for values, field in (
        ({"required_topology_level": "row"}, "required_topology_level"),
        ({"preferred_topology_level": "device"}, "preferred_topology_level"),
        ({"required_topology_level": "rack", "preferred_topology_level": "site"}, "preferred_topology_level"),
    ):
        with pytest.raises(ValueError, match=f"^{field}: "):
            job(role("a", 1), **values)
    with pytest.raises(ValueError, match=r"^required_topology_level: 'island' is not one of"):
        role("a", 1, required_topology_level="island")


def test_unlike_roles_that_stand_in_each_others_way_are_searched_inside_the_domain() -> None:
    """One rack, nodes of 3 and 2 cards: greedily the pairs could take 2 of 3 and leave no node for the triple."""
    nodes = make.tree([1, 1, 1, 2, 2])
    fleet = make.busy(nodes, [0, 4, 5, 8, 12, 13])
    roles = (
        RoleRequest("pair", ReplicaRequest(2), 1, 1),
        RoleRequest("triple", ReplicaRequest(3), 1, 1),
    )
    decision = decide(fleet, JobRequest(1, "t1", "g1", roles, 2, required_topology_level="rack"), make.QUIET)
    assert isinstance(decision, Placed)
    assert decision.neighbourhood is not None
    assert decision.neighbourhood.level == "rack"


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(
    nodes=make.trees(),
    taken=st.lists(st.integers(0, 35), max_size=12),
    singles=st.integers(1, 5),
    pairs=st.integers(1, 3),
    required=st.sampled_from(["", "site", "switch", "rack", "node"]),
)
def test_two_roles_are_refused_only_where_no_domain_holds_both(
    nodes: list[NodeSpec], taken: list[int], singles: int, pairs: int, required: str
) -> None:
    """Single cards and pairs: a domain holds both if it has the pairs node by node, and cards enough in all."""
    fleet = make.busy(nodes, taken)
    single = RoleRequest("single", ReplicaRequest(1), singles, singles)
    pair = RoleRequest("pair", ReplicaRequest(2), pairs, pairs)
    request = JobRequest(1, "t1", "g1", (single, pair), 0, required_topology_level=required)
    domains = reference.domains(nodes, required or "fleet").values()
    free = [[make.free(fleet, node) for node in members] for members in domains]
    fits = [sum(cards // 2 for cards in of) >= pairs and sum(of) >= singles + 2 * pairs for of in free]
    decision = decide(fleet, request, make.QUIET)
    assert isinstance(decision, Placed) == any(fits)
