"""NVLink islands and pairs: not broken by small jobs, one island for a replica that fits one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, NodeSpec, Placed, ReplicaRequest, decide
from tests.engine import make as engine_make
from tests.engine.topology import make
from tests.reference.examples import examples


def pairs(key: int, *islands: int, **more: object) -> NodeSpec:
    """A node whose cards are on these islands."""
    cards = tuple(engine_make.card(100 * key + n, nvlink_island=island) for n, island in enumerate(islands))
    return engine_make.node(key, *cards, **more)  # type: ignore[arg-type]


def one(fleet: Fleet, devices: int = 1) -> list[int]:
    """Place one replica, hold it, and say on which cards."""
    decision = decide(fleet, engine_make.job(ReplicaRequest(devices)), make.QUIET)
    assert isinstance(decision, Placed)
    fleet.apply(decision, "t1", "g1")
    return make.cards_of(decision)


def test_a_single_card_takes_the_leftover_and_a_pair_job_the_pair() -> None:
    """Pairs 0-2, 1-3, 4-5, 6-7 and one card taken: the next single goes to its mate, two go to a whole pair."""
    fleet = Fleet.build([pairs(1, 0, 1, 0, 1, 2, 2, 3, 3)])
    assert one(fleet) == [100]
    assert one(fleet) == [102]
    assert one(fleet, 2) == [101, 103]
    assert one(fleet) == [104]
    assert one(fleet, 2) == [106, 107]
    assert one(fleet) == [105]


def test_a_card_on_no_island_goes_before_breaking_a_pair() -> None:
    fleet = Fleet.build([pairs(1, 0, 0, -1)])
    assert [one(fleet), one(fleet, 2)] == [[102], [100, 101]]


def test_a_single_card_goes_to_the_node_with_a_leftover_though_another_is_as_full() -> None:
    """Both nodes have two free cards; of node 1 they are a pair, of node 2 two halves. The lower key would win."""
    fleet = make.busy([pairs(1, 0, 0, 1, 1), pairs(2, 0, 0, 1, 1)], [0, 1, 4, 6])
    assert one(fleet) == [201]
    assert one(fleet) == [203]
    assert one(fleet, 2) == [102, 103]


def test_two_cards_go_to_the_node_where_they_are_a_pair() -> None:
    fleet = make.busy([pairs(1, 0, 0, 1, 1), pairs(2, 0, 0, 1, 1)], [0, 2, 4, 5])
    assert one(fleet, 2) == [202, 203]
    assert one(fleet, 2) == [101, 103]  # better over two islands than not at all


def test_an_island_of_the_right_size_goes_before_breaking_a_larger_one() -> None:
    fleet = Fleet.build([pairs(1, 0, 0, 0, 0, 1, 1)])
    assert one(fleet, 2) == [104, 105]
    assert one(fleet, 4) == [100, 101, 102, 103]


def test_a_gang_of_single_cards_stays_on_one_island() -> None:
    fleet = Fleet.build([pairs(1, 0, 1, 0, 1), pairs(2, 0, 0, 1, 1)])
    fleet.take(engine_make.whole(1, 100))
    decision = make.placed(fleet, make.gang(2))
    assert make.cards_of(decision) == [101, 103]
    assert decision.neighbourhood is not None
    assert decision.neighbourhood.level == "island"


def test_a_required_island() -> None:
    fleet = Fleet.build([pairs(1, 0, 0, 1, 1), pairs(2, *[0] * 6)])
    assert make.cards_of(make.placed(fleet, make.gang(2, required_topology_level="island"))) == [100, 101]
    assert make.cards_of(make.placed(fleet, make.gang(3, required_topology_level="island"))) == [200, 201, 202]
    assert make.cards_of(make.placed(fleet, make.gang(1, 4, required_topology_level="island"))) == [200, 201, 202, 203]
    refused = make.refused(fleet, make.gang(7, required_topology_level="island"))
    assert (refused.levels[-1].domains, refused.levels[-1].replicas, refused.levels[-1].best) == (3, 6, "s/p/sw/r/n2")
    assert ("required_topology_level", "rack") in [(c.kind, c.after) for c in refused.changes]
    out = make.placed(fleet, make.gang(7, preferred_topology_level="island"))
    assert out.neighbourhood is not None
    assert (out.neighbourhood.level, out.neighbourhood.met) == ("rack", False)


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(
    islands=st.lists(st.lists(st.integers(-1, 2), min_size=1, max_size=6), min_size=1, max_size=3),
    taken=st.lists(st.integers(0, 17), max_size=8),
    devices=st.integers(1, 3),
)
def test_no_other_choice_on_the_node_would_keep_more_islands_whole(
    islands: list[list[int]], taken: list[int], devices: int
) -> None:
    nodes = [pairs(key, *of) for key, of in enumerate(islands, 1)]
    fleet = make.busy(nodes, taken)
    free = {
        node.key: {
            card.index for n, card in enumerate(node.devices) if not fleet.state.device[3, fleet.row_of[node.key], n]
        }
        for node in nodes
    }
    decision = decide(fleet, engine_make.job(ReplicaRequest(devices)), make.QUIET)
    if not isinstance(decision, Placed):
        assert all(len(cards) < devices for cards in free.values())
        return
    node = next(node for node in nodes if node.key == decision.score.node_key)
    groups: dict[int, set[int]] = {}
    for card in node.devices:
        groups.setdefault(card.nvlink_island if card.nvlink_island >= 0 else -1 - card.index, set()).add(card.index)
    mine = {key % 100 for key in make.cards_of(decision)}
    together = [group for group in groups.values() if len(group & free[node.key]) >= devices]
    if together:
        home = next(group for group in groups.values() if mine <= group)
        breaks = home <= free[node.key] and len(home) > devices
        assert not breaks or all(group <= free[node.key] and len(group) > devices for group in together)
    else:
        assert len(mine) == devices
