"""Gangs that ask for anything at once: all of the minimum or nothing, nothing twice, every level and condition kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, ReplicaRequest, Requirement, RoleRequest, decide
from tests.engine import make as engine_make
from tests.engine.reference import violations
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples

QUIET = Policy(explain=False, backtrack_limit=60)
LEVELS = st.sampled_from(["", "", "site", "switch", "rack", "node"])


@st.composite
def clusters(draw: st.DrawFn) -> list[NodeSpec]:
    """A random tree whose cards are of two sorts, some that can be cut, some labelled."""
    nodes = []
    for node in draw(make.trees()):
        cards = tuple(
            engine_make.a100(card.key, nvlink_island=card.nvlink_island)
            if draw(st.integers(0, 3)) == 0
            else replace(card, labels=(("fast", "1"),) if draw(st.booleans()) else ())
            for card in node.devices
        )
        nodes.append(replace(node, devices=cards))
    return nodes


@st.composite
def requests(draw: st.DrawFn) -> ReplicaRequest:
    fast = (Requirement("fast", "Exists"),) if draw(st.integers(0, 3)) == 0 else ()
    share = ReplicaRequest(1, draw(st.sampled_from([2_500, 5_000])), gpu_selector=fast)
    cut = ReplicaRequest(draw(st.integers(1, 2)), mig_profile=draw(st.sampled_from(["1g.5gb", "3g.20gb"])))
    whole = ReplicaRequest(draw(st.integers(1, 2)), gpu_selector=fast)
    kind = draw(st.sampled_from(["whole", "whole", "share", "cut", "both", "cpu"]))
    both = ReplicaRequest(whole.devices + share.devices, asks=(share, whole), cpu_milli=1_000)
    return {"whole": whole, "share": share, "cut": cut, "both": both, "cpu": ReplicaRequest(0, cpu_milli=500)}[kind]


@st.composite
def gangs(draw: st.DrawFn) -> JobRequest:
    roles = []
    for number in range(draw(st.integers(1, 2))):
        replicas = draw(st.integers(1, 4))
        level = draw(LEVELS)
        roles.append(
            RoleRequest(
                f"r{number}", draw(requests()), replicas, draw(st.integers(0, replicas)), required_topology_level=level
            )
        )
    least = draw(st.integers(0, sum(role.replicas for role in roles)))
    wish = draw(st.sampled_from(["", "", "rack", "node", "island"]))
    required = draw(LEVELS)
    if wish and required and make.ORDER.index(wish) < make.ORDER.index(required):
        wish = ""
    return JobRequest(
        1, "t1", "g1", tuple(roles), least, required_topology_level=required, preferred_topology_level=wish
    )


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(nodes=clusters(), jobs=st.lists(gangs(), min_size=1, max_size=4))
def test_whatever_it_asks(nodes: list[NodeSpec], jobs: list[JobRequest]) -> None:
    fleet, live = Fleet.build(nodes), list[Any]()
    for job in jobs:
        before = fleet.snapshot_id, fleet.version
        decision = decide(fleet, job, QUIET)
        assert (fleet.snapshot_id, fleet.version) == before
        assert decide(fleet, job, QUIET) == decision
        if not isinstance(decision, Placed):
            continue
        assert len(decision.replicas) >= max(job.min_member, 1)
        _check_place(nodes, [r.node_key for r in decision.replicas], job.required_topology_level)
        for role in job.roles:
            mine = [replica for replica in decision.replicas if replica.role == role.name]
            assert role.min_replicas <= len(mine) <= role.replicas
            assert [replica.rank for replica in mine] == list(range(len(mine)))
            _check_place(nodes, [replica.node_key for replica in mine], role.required_topology_level)
            for replica in mine:
                _check_parts(nodes, role.request, replica.devices)
        live += fleet.apply(decision, "t1", "g1")
        assert violations(nodes, live, lambda hold: hold.trust_group) == []


def _check_place(nodes: list[NodeSpec], keys: list[int], level: str) -> None:
    used = [node for node in nodes if node.key in keys]
    assert not level or len({reference.domain(node, level) for node in used}) <= 1


def _check_parts(nodes: list[NodeSpec], request: ReplicaRequest, parts: tuple[Any, ...]) -> None:
    cards = {card.key: card for node in nodes for card in node.devices}
    single = [ask for ask in request.asks or (request,) for _ in range(ask.devices)]
    for ask, part in zip(single, parts, strict=True):
        assert part.mig_profile == ask.mig_profile
        assert not ask.gpu_selector or ("fast", "1") in cards[part.device_key].labels
        assert ask.mig_profile or part.share_bp == ask.share_bp
