"""T33, the part that placement settles: two cards go to a pair, one card to a leftover, and no pair is broken for it.

Pairs as in the report: 0-2, 1-3, 4-5, 6-7. The other part (all 28 of 28 pairs behind an NVSwitch are peers) is about
what an agent finds; placement takes such cards as one island, of which any two are a pair.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, decide
from pool.scheduling.models import Allocation
from pool.scheduling.services import submit_job
from tests import factories
from tests.conformance.passes import scheduler
from tests.conftest import Actors
from tests.engine import make

PAIRS = {0: 0, 2: 0, 1: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3}
QUIET = Policy(explain=False)


def fleet_of(islands: dict[int, int]) -> Fleet:
    return Fleet.build([make.node(1, *(make.card(100 + n, nvlink_island=islands[n]) for n in range(8)))])


def take(fleet: Fleet, devices: int) -> set[int]:
    decision = decide(fleet, make.job(ReplicaRequest(devices)), QUIET)
    assert isinstance(decision, Placed)
    fleet.apply(decision, "t1", "g1")
    return {part.device_key - 100 for part in decision.replicas[0].devices}


def whole_pairs(taken: set[int]) -> int:
    return sum(not {n for n in PAIRS if PAIRS[n] == pair} & taken for pair in range(4))


@pytest.mark.parametrize("gone", [set(c) for size in range(7) for c in combinations(range(8), size)])
def test_from_every_state_of_the_node(gone: set[int]) -> None:
    def fresh() -> Fleet:
        fleet = fleet_of(PAIRS)
        for card in gone:
            fleet.take(make.whole(1, 100 + card))
        return fleet

    leftovers = {n for n in range(8) if n not in gone and any(m in gone for m in PAIRS if PAIRS[m] == PAIRS[n])}
    single, two = take(fresh(), 1), take(fresh(), 2)
    assert single <= leftovers or not leftovers
    assert whole_pairs(gone | single) == whole_pairs(gone) - (not leftovers)
    if whole_pairs(gone):
        assert len({PAIRS[n] for n in two}) == 1
    else:
        assert len(two) == 2


def test_behind_a_switch_any_two_cards_are_a_pair() -> None:
    fleet = fleet_of(dict.fromkeys(range(8), 0))
    assert [len(take(fleet, 2)) for _ in range(4)] == [2, 2, 2, 2]


@pytest.mark.django_db
def test_the_whole_product_keeps_pairs_and_names_the_island(actors: Actors) -> None:
    node = factories.make_node(devices=8)
    for index, island in PAIRS.items():
        node.devices.filter(index=index).update(nvlink_island=island)

    def submit(**asked: object) -> set[int]:
        job = submit_job(actors.member_a, {"name": "x", "command": ["true"], **asked})
        passes.sweep()
        return set(Allocation.objects.filter(job=job).values_list("device__index", flat=True))

    passes = scheduler()
    first, second = submit(gpus=1), submit(gpus=1)
    assert len({PAIRS[index] for index in first | second}) == 1
    taken = submit(gpus=1, replicas=2, required_topology_level="island")
    assert len({PAIRS[index] for index in taken}) == 1
    waits = submit(gpus=1, replicas=2, required_topology_level="island", models=["H100-80GB"])
    assert len({PAIRS[index] for index in waits}) == 1
    assert submit(gpus=1) | submit(gpus=1) == set(range(8)) - first - second - taken - waits
