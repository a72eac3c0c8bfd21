"""A gang goes into the smallest domain that holds it, and inside it into as few parts as can be."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import NodeSpec, Placed, Refused, decide
from tests.engine import make as engine_make
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(
    nodes=make.trees(),
    taken=st.lists(st.integers(0, 35), max_size=14),
    replicas=st.integers(2, 9),
    devices=st.integers(1, 2),
    required=st.sampled_from(["", "site", "pod", "switch", "rack", "node"]),
)
def test_level_and_parts_agree_with_a_reference_that_tries_every_domain(
    nodes: list[NodeSpec], taken: list[int], replicas: int, devices: int, required: str
) -> None:
    fleet = make.busy(nodes, taken)

    def room(node: NodeSpec) -> int:
        return make.free(fleet, node) // devices

    decision = decide(fleet, make.gang(replicas, devices, required_topology_level=required), make.QUIET)
    expected = reference.smallest_level(nodes, room, replicas, required or "fleet")
    assert isinstance(decision, Placed) == (expected is not None)
    if not isinstance(decision, Placed) or expected is None or decision.neighbourhood is None:
        return
    used = [node for node in nodes if node.key in make.nodes_of(decision)]
    assert len({reference.domain(node, expected) for node in used} if expected != "fleet" else {0}) == 1
    assert make.ORDER.index(decision.neighbourhood.level) >= make.ORDER.index(expected)
    _check_parts(nodes, expected, Counter(make.nodes_of(decision)), room)


def _check_parts(nodes: list[NodeSpec], level: str, counts: Counter[int], room: object) -> None:
    """In each domain, from the chosen one down, what it took lies in the fewest of its parts that hold it."""
    for parent, child in zip(["fleet", *reference.LEVELS], reference.LEVELS, strict=False):
        if make.ORDER.index(parent) < make.ORDER.index(level):
            continue
        for members in reference.domains(nodes, parent).values():
            took = sum(counts[node.key] for node in members)
            parts = list(reference.domains(members, child).values())
            used = sum(any(counts[node.key] for node in part) for part in parts)
            rooms = [sum(room(node) for node in part) for part in parts]  # type: ignore[operator]
            assert used == reference.fewest_parts(rooms, took)


def test_the_tightest_of_equal_domains_then_the_best_scored() -> None:
    nodes = make.tree([1, 1, 1, 3, 2])
    fleet = make.busy(nodes, [0, 1, 8])  # rack 0 has 6 free cards, rack 1 has 7, rack 2 has 8
    assert set(make.nodes_of(make.placed(fleet, make.gang(6)))) == {1, 2}
    assert set(make.nodes_of(make.placed(fleet, make.gang(7)))) == {3, 4}
    assert set(make.nodes_of(make.placed(fleet, make.gang(8)))) == {5, 6}
    assert set(make.nodes_of(make.placed(make.busy(nodes, []), make.gang(8)))) == {1, 2}  # all equal: the lowest key


def test_the_shorter_all_reduce_goes_before_the_tighter_fit() -> None:
    """Rack 0 has one free card on each of five nodes; rack 1 four on one and two on another, one more than asked."""
    nodes = make.tree([1, 1, 1, 2, 5])
    taken = [n for n in range(20) if n % 4] + [20 + n for n in range(20) if n >= 6]  # rack 1: one node of 4, one of 2
    fleet = make.busy(nodes, taken)
    decision = make.placed(fleet, make.gang(5))
    assert set(make.nodes_of(decision)) == {6, 7}
    assert decision.neighbourhood is not None
    assert (decision.neighbourhood.level, decision.neighbourhood.rivals) == ("rack", 1)


def test_a_required_level_refuses_with_counts_per_level_and_the_smallest_change() -> None:
    fleet = make.busy(make.tree([2, 1, 2, 2, 2]), [0])
    refused = make.refused(fleet, make.gang(9, required_topology_level="rack"))
    assert [(f.filter, f.devices) for f in refused.failed] == [("share", 1), ("topology", 63)]
    assert [(c.level, c.domains, c.holding, c.replicas, c.wanted) for c in refused.levels] == [
        ("site", 2, 2, 9, 9),
        ("pod", 2, 2, 9, 9),
        ("switch", 4, 4, 9, 9),
        ("rack", 8, 0, 8, 9),
    ]
    assert refused.levels[-1].best == "s0/p0/w0/r1"  # rack 0 has 7
    assert [(c.kind, c.before, c.after) for c in refused.changes if c.kind != "share_bp"] == [
        ("min_member", 9, 8),
        ("required_topology_level", "rack", "switch"),
    ]
    assert refused.never  # no rack of this hardware is larger
    later = make.refused(make.busy(make.tree([1, 1, 1, 2, 2]), [0, 8]), make.gang(8, required_topology_level="rack"))
    assert not later.never


def test_a_preferred_level_falls_outward_and_says_why() -> None:
    fleet = make.busy(make.tree([1, 1, 2, 2, 2]), [])
    inside = make.placed(fleet, make.gang(8, preferred_topology_level="rack")).neighbourhood
    assert inside is not None
    assert (inside.level, inside.met, inside.best_inside, inside.wanted) == ("rack", True, 8, 8)
    outside = make.placed(fleet, make.gang(12, preferred_topology_level="rack")).neighbourhood
    assert outside is not None
    assert (outside.level, outside.met, outside.best_inside, outside.wanted) == ("switch", False, 8, 12)
    both = make.gang(20, preferred_topology_level="rack", required_topology_level="switch")
    assert make.refused(fleet, both).levels[-1].replicas == 16


def test_an_elastic_gang_rather_starts_smaller_inside_the_preferred_level() -> None:
    fleet = make.busy(make.tree([1, 1, 2, 2, 2]), [])
    assert len(make.placed(fleet, make.gang(12, least=4, preferred_topology_level="rack")).replicas) == 8
    assert len(make.placed(fleet, make.gang(12, least=4)).replicas) == 12
    assert len(make.placed(fleet, make.gang(40, least=4)).replicas) == 32
    assert len(make.placed(fleet, make.gang(40, least=4, required_topology_level="switch")).replicas) == 16
    assert len(make.placed(fleet, make.gang(12, least=10, preferred_topology_level="rack")).replicas) == 12


def test_history_plays_no_part() -> None:
    nodes = make.tree([2, 1, 2, 2, 2])
    straight, wild = make.busy(nodes, [3, 9, 30]), make.busy([], [])
    for node in reversed(nodes):
        wild.replace_node(node)
    for key in (1004, 304, 801):
        if key in wild.place_of:
            wild.take(engine_make.whole(key // 100, key))
            wild.release(engine_make.whole(key // 100, key))
    for node, card in ((1, 103), (3, 301), (8, 802)):
        wild.take(engine_make.whole(node, card))
    assert straight.snapshot_id == wild.snapshot_id
    for job in (make.gang(5), make.gang(9), make.gang(20, 2, 4), make.gang(6, preferred_topology_level="rack")):
        assert decide(straight, job) == decide(wild, job)


def test_two_nodes_of_unknown_rack_are_no_rack_mates() -> None:
    nodes = [engine_make.node(1, engine_make.card(100)), engine_make.node(2, engine_make.card(200))]
    nameless = [type(node)(**{f: getattr(node, f) for f in node.__slots__} | {"rack": ""}) for node in nodes]
    assert isinstance(decide(make.busy(nodes, []), make.gang(2, required_topology_level="rack")), Placed)
    refused = decide(make.busy(nameless, []), make.gang(2, required_topology_level="rack"))
    assert isinstance(refused, Refused)
    assert [(c.level, c.domains) for c in refused.levels] == [("site", 1), ("pod", 1), ("switch", 1), ("rack", 2)]
