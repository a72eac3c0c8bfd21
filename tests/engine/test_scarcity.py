"""Work that any card serves keeps off the cards that other work has no alternative to."""

from __future__ import annotations

import numpy as np
import pytest

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, TypicalMix, decide
from pool.engine.mix import SCALE
from pool.engine.scarcity import MOST, scarce_weights
from tests.engine import make

ANY = ReplicaRequest(1)
RARE = ReplicaRequest(1, models=frozenset({"R"}))
COMMON = ReplicaRequest(1, models=frozenset({"C"}))
LARGE = ReplicaRequest(1, memory_mib=(40_000,))


def pool(rare_first: bool = True, commons: int = 8, **rare: int) -> list[NodeSpec]:
    """One card of the rare model and several of the common one; the rare one has the lowest key
    unless told otherwise, so that ties would choose it."""
    at = 1 if rare_first else commons + 2
    return [make.node(at, make.card(100 * at, "R", **rare))] + [
        make.node(key, make.card(100 * key, "C")) for key in range(2, commons + 2)
    ]


def model(fleet: Fleet, request: ReplicaRequest) -> str:
    decision = decide(fleet, make.job(request), Policy(explain=False))
    assert isinstance(decision, Placed)
    return next(node for node in fleet.nodes if node.key == decision.score.node_key).devices[0].model


def weights(fleet: Fleet) -> dict[ReplicaRequest, int]:
    found = scarce_weights(fleet.mix.classes, fleet.kinds, fleet.cards)
    return {request: weight for (request, _), weight in zip(fleet.mix.classes, found, strict=True)}


def test_a_request_weighs_by_the_cards_that_serve_it() -> None:
    mix = TypicalMix.observe([(ANY, 6.0), (RARE, 2.0), (COMMON, 2.0)], coverage=1.0)
    assert weights(Fleet.build(pool(), mix=mix)) == {
        ANY: SCALE * 6 // 10,  # 9 of 9 cards
        RARE: SCALE * 2 // 10 * 9,  # 1 of 9
        COMMON: SCALE * 2 // 10 * 9 // 8,
    }


@pytest.mark.parametrize("rare_first", [True, False])
def test_flexible_work_leaves_the_rare_model_to_those_who_need_it(rare_first: bool) -> None:
    """More tasks ask for the common model by name, but it is eight times as large: by frequency
    alone the rare card looked the cheaper one and was taken."""
    mix = TypicalMix.observe([(ANY, 6.0), (RARE, 2.0), (COMMON, 4.0)], coverage=1.0)
    fleet = Fleet.build(pool(rare_first), mix=mix)
    assert model(fleet, ANY) == "C"
    assert model(fleet, RARE) == "R"


def test_but_takes_it_when_nothing_else_is_free() -> None:
    mix = TypicalMix.observe([(ANY, 6.0), (RARE, 2.0)], coverage=1.0)
    fleet = Fleet.build(pool(commons=1), mix=mix)
    models = []
    for _ in range(2):
        models.append(model(fleet, ANY))
        decision = decide(fleet, make.job(ANY))
        assert isinstance(decision, Placed)
        fleet.apply(decision, "t1", "g1")
    assert models == ["C", "R"]


def test_a_card_of_large_memory_is_scarce_as_well() -> None:
    mix = TypicalMix.observe([(ANY, 8.0), (LARGE, 2.0)], coverage=1.0)
    assert model(Fleet.build(pool(memory=81_920), mix=mix), ANY) == "C"


def test_a_rare_model_that_nobody_asks_for_is_taken_first() -> None:
    mix = TypicalMix.observe([(ANY, 6.0), (COMMON, 4.0)], coverage=1.0)
    assert model(Fleet.build(pool(rare_first=False), mix=mix), ANY) == "R"


def test_a_pool_of_one_kind_weighs_by_frequency_alone() -> None:
    mix = TypicalMix.observe([(ANY, 6.0), (ReplicaRequest(2), 2.0), (LARGE, 2.0)], coverage=1.0)
    fleet = Fleet.build(make.nodes(4, 2), mix=mix)
    assert weights(fleet) == dict(mix.classes)  # LARGE fits on no card and is left as it is


def test_weights_have_a_ceiling() -> None:
    mix = TypicalMix.observe([(ANY, 1.0), (RARE, 1.0)])
    assert weights(Fleet.build(pool(commons=3 * MOST), mix=mix))[RARE] == MOST * SCALE // 2


def test_scores_stay_within_their_bits_at_the_ceiling() -> None:
    """64 whole cards on one node, every one as scarce as can be."""
    mix = TypicalMix.observe([(ReplicaRequest(64, models=frozenset({"R"})), 99.0), (ANY, 1.0)], coverage=1.0)
    widest = make.node(1, *(make.card(100 + i, "R") for i in range(64)))
    rest = [make.node(key, *(make.card(100 * key + i, "C") for i in range(64))) for key in range(2, 130)]
    fleet = Fleet.build([widest, *rest], mix=mix)
    assert weights(fleet)[mix.classes[0][0]] == MOST * mix.classes[0][1]
    assert model(fleet, ANY) == "C"
    decision = decide(fleet, make.job(RARE))
    assert isinstance(decision, Placed)
    bucket = round(decision.score.fragmentation_change_bp / 800)
    assert decision.score.bucket == bucket
    assert 70_000 < bucket < 1 << 18


def test_hardware_that_comes_and_goes_changes_the_scarcity_and_drains_do_not() -> None:
    mix = TypicalMix.observe([(ANY, 6.0), (RARE, 2.0)], coverage=1.0)
    nodes = pool(commons=3)
    whole, grown = Fleet.build(nodes, mix=mix), Fleet.build(nodes[:-1], mix=mix)
    assert weights(whole) != weights(grown)
    grown.replace_node(nodes[-1])
    shrunk = Fleet.build(pool(commons=9), mix=mix)
    for key in range(5, 11):
        shrunk.remove_node(key)
    for fleet in (grown, shrunk):
        assert weights(fleet) == weights(whole)
        assert np.array_equal(
            fleet.tables.single[fleet.tables.single > 0], whole.tables.single[whole.tables.single > 0]
        )
        assert decide(fleet, make.job(ANY)) == decide(whole, make.job(ANY))
    tables = whole.tables
    whole.replace_node(make.node(4, make.card(400, "C", schedulable=False)))
    assert whole.tables is tables
