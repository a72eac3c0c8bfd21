"""The earliest start: found by halving, the same as by trying each end in turn."""

from __future__ import annotations

import random

import pytest

from pool.engine import Fleet, ReplicaRequest, decide
from pool.engine.calendar import Ending, NoStart, Start, earliest, fits_at
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, JobRequest, Placed
from tests.engine import make


def running(fleet: Fleet, job: JobRequest, end_s: int, sure: bool = True) -> Ending:
    placed = decide(fleet, job)
    assert isinstance(placed, Placed)
    return Ending(job.key, end_s, fleet.apply(placed, job.tenant, job.trust_group), sure)


def full(nodes: int = 2, cards: int = 4) -> tuple[Fleet, list[Ending]]:
    """One job a card; they end one after another."""
    fleet = Fleet.build(make.nodes(nodes, cards))
    jobs = [make.job(ReplicaRequest(1), key=key) for key in range(1, nodes * cards + 1)]
    return fleet, [running(fleet, job, 100 * job.key) for job in jobs]


def test_it_starts_when_enough_has_ended_and_where() -> None:
    fleet, line = full()
    before = fleet.snapshot_id
    gang = make.job(ReplicaRequest(4), key=99)  # all cards of one node
    found = earliest(fleet, gang, line, 0)
    assert isinstance(found, Start)
    node = found.placed.replicas[0].node_key
    last = max(ending.end_s for ending in line if ending.holds[0].node_key == node)
    assert (found.at_s, found.sure) == (last, True)
    assert fleet.snapshot_id == before
    assert fits_at(fleet, gang, line, last - 1) is None
    assert fits_at(fleet, gang, line, last) is not None


def test_what_fits_now_starts_now() -> None:
    fleet = Fleet.build(make.nodes(1, 4))
    found = earliest(fleet, make.job(ReplicaRequest(4), key=9), [], 50)
    assert isinstance(found, Start)
    assert (found.at_s, found.until) == (50, 0)


def test_an_estimate_before_it_makes_it_one() -> None:
    fleet, line = full(nodes=1)
    unsure = [*line[:1], Ending(line[1].job, line[1].end_s, line[1].holds, sure=False), *line[2:]]
    first, all_of_it = make.job(ReplicaRequest(1), key=9), make.job(ReplicaRequest(4), key=9)
    for job, sure in ((first, True), (all_of_it, False)):
        found = earliest(fleet, job, unsure, 0)
        assert isinstance(found, Start)
        assert found.sure is sure


def test_an_end_that_is_over_already_is_now() -> None:
    fleet, line = full(nodes=1)
    found = earliest(fleet, make.job(ReplicaRequest(1), key=9), line, 250)
    assert isinstance(found, Start)
    assert found.at_s == 250


@pytest.mark.parametrize(("cards", "reason"), [(5, "never"), (4, "endless")])
def test_no_start(cards: int, reason: str) -> None:
    fleet, line = full(nodes=1)
    found = earliest(fleet, make.job(ReplicaRequest(cards), key=9), line[:-1], 0)
    assert found == NoStart(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_as_by_trying_each_end_in_turn(seed: int) -> None:
    dice = random.Random(seed)
    fleet = Fleet.build(make.nodes(4, 4))
    line = []
    for key in range(1, 40):
        job = make.job(ReplicaRequest(dice.choice([1, 1, 2, 4])), key=key)
        if isinstance(decide(fleet, job), Placed):
            line.append(running(fleet, job, dice.randrange(10) * 60))
    asked = make.job(ReplicaRequest(dice.choice([2, 4])), dice.choice([1, 2, 3]), key=99)
    found = earliest(fleet, asked, line, 0)
    with fleet.scratch():
        at, gone = 0, 0
        order = sorted(line, key=lambda ending: (ending.end_s, ending.job))
        while not isinstance(try_place(fleet, asked, DEFAULT), Placed):
            end = order[gone].end_s
            while gone < len(order) and order[gone].end_s == end:
                for hold in order[gone].holds:
                    fleet.release(hold)
                gone += 1
            at = end
        expected = try_place(fleet, asked, DEFAULT)
    assert isinstance(found, Start)
    assert isinstance(expected, Placed)
    assert (found.at_s, found.placed.replicas) == (at, expected.replicas)
