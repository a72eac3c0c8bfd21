"""Random small trees of nodes for hypothesis, and short ways to ask of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, Refused, ReplicaRequest, decide
from pool.engine import state as s
from tests.engine import make

QUIET = Policy(explain=False)
ORDER = ["fleet", "site", "pod", "switch", "rack", "node", "island"]  # from the widest


def tree(shape: list[int], cards: int = 4, **more: Any) -> list[NodeSpec]:
    """``[sites, pods, switches, racks, nodes]`` under each other, nodes of so many equal cards."""
    found: list[NodeSpec] = []
    sites, pods, switches, racks, nodes = shape
    for number in range(sites * pods * switches * racks * nodes):
        rack = number // nodes
        switch, pod, site = rack // racks, rack // racks // switches, rack // racks // switches // pods
        key = number + 1
        found.append(
            NodeSpec(
                key, f"n{key}", f"s{site}", f"p{pod}", f"w{switch}", f"r{rack}", 64_000, 262_144,
                tuple(make.card(100 * key + n, **more) for n in range(cards)),
            )
        )  # fmt: skip
    return found


@st.composite
def trees(draw: st.DrawFn) -> list[NodeSpec]:
    """Two to nine nodes of up to four cards, names missing here and there, keys in no order of the tree."""
    found = []
    keys = draw(st.permutations(range(1, draw(st.integers(2, 9)) + 1)))
    for key in keys:
        names = [
            draw(st.sampled_from(choice)) for choice in (["s0", "s1"], ["", "p0", "p1"], ["", "w0"], ["", "r0", "r1"])
        ]
        cards = tuple(
            make.card(100 * key + n, nvlink_island=draw(st.integers(-1, 1))) for n in range(draw(st.integers(0, 4)))
        )
        is_open = draw(st.integers(0, 9)) > 0
        site, pod, switch, rack = names
        found.append(NodeSpec(key, f"n{key}", site, pod, switch, rack, 64_000, 262_144, cards, schedulable=is_open))
    return found


def busy(nodes: list[NodeSpec], taken: list[int]) -> Fleet:
    """A fleet in which single-card jobs took these cards (numbers into all cards; those that do not exist, not)."""
    fleet = Fleet.build(nodes)
    keys = [(node.key, card.key, card.memory_mib) for node in fleet.nodes for card in node.devices]
    for number in sorted(set(taken)):
        if number < len(keys):
            fleet.take(make.whole(*keys[number]))
    return fleet


def free(fleet: Fleet, node: NodeSpec) -> int:
    """Free cards of a node."""
    use = fleet.state.device[s.USE, fleet.row_of[node.key]]
    return sum(int(use[n]) == s.IDLE for n in range(len(node.devices))) if node.schedulable else 0


def gang(replicas: int, devices: int = 1, least: int | None = None, **job: Any) -> JobRequest:
    """Replicas of whole cards, with fields of the job."""
    return replace(make.job(ReplicaRequest(devices), replicas, least), **job)


def placed(fleet: Fleet, job: JobRequest) -> Placed:
    """The placement, which must be one."""
    decision = decide(fleet, job, QUIET)
    assert isinstance(decision, Placed)
    return decision


def refused(fleet: Fleet, job: JobRequest) -> Refused:
    """The refusal, which must be one, with its changes."""
    decision = decide(fleet, job)
    assert isinstance(decision, Refused)
    return decision


def nodes_of(decision: Placed) -> list[int]:
    """The node of each replica in the order of ranks."""
    return [replica.node_key for replica in decision.replicas]


def cards_of(decision: Placed) -> list[int]:
    """All devices in the order of ranks."""
    return [part.device_key for replica in decision.replicas for part in replica.devices]
