"""Ranks follow the topology: no contiguous order has a cheaper ring, and neighbours share the deepest domain."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, ReplicaRequest, RoleRequest, decide
from tests.engine import make as engine_make
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(nodes=make.trees(), taken=st.lists(st.integers(0, 35), max_size=8), replicas=st.integers(2, 6))
def test_no_contiguous_order_has_a_cheaper_ring(nodes: list[NodeSpec], taken: list[int], replicas: int) -> None:
    decision = decide(make.busy(nodes, taken), make.gang(replicas), make.QUIET)
    if not isinstance(decision, Placed):
        return
    by_key = {node.key: node for node in nodes}
    order = [by_key[key] for key in make.nodes_of(decision)]
    assert [replica.rank for replica in decision.replicas] == list(range(replicas))
    assert reference.contiguous(order)
    assert reference.ring_cost(order) == reference.cheapest_contiguous_ring(order)


def test_keys_that_jump_between_racks_do_not_make_ranks_jump() -> None:
    nodes = [
        NodeSpec(k, f"n{k}", "s", "p", "w", f"r{k % 2}", 64_000, 262_144, (engine_make.card(100 * k),))
        for k in range(1, 7)
    ]
    assert make.nodes_of(make.placed(Fleet.build(nodes), make.gang(6))) == [2, 4, 6, 1, 3, 5]


def test_inside_a_node_ranks_follow_islands() -> None:
    cards = tuple(engine_make.card(100 + n, nvlink_island=n % 2) for n in range(4))
    fleet = Fleet.build([engine_make.node(1, *cards)])
    assert make.cards_of(make.placed(fleet, make.gang(4))) == [100, 102, 101, 103]


def test_every_role_has_ranks_of_its_own_along_the_topology() -> None:
    nodes = [
        NodeSpec(
            k,
            f"n{k}",
            "s",
            "p",
            "w",
            f"r{k % 2}",
            64_000,
            262_144,
            tuple(engine_make.card(100 * k + n) for n in range(2)),
        )
        for k in range(1, 5)
    ]
    roles = (RoleRequest("server", ReplicaRequest(1), 4, 4), RoleRequest("worker", ReplicaRequest(1, 5_000), 8, 8))
    decision = make.placed(Fleet.build(nodes), JobRequest(1, "t1", "g1", roles, 12))
    for role in roles:
        mine = [replica for replica in decision.replicas if replica.role == role.name]
        assert [replica.rank for replica in mine] == list(range(role.replicas))
        racks = [replica.node_key % 2 for replica in mine]
        assert racks == sorted(racks)
