"""T11: MIG slices gather at the edge so that the largest run stays; the same input gives the
same answer; a job is refused only when no arrangement exists."""

from __future__ import annotations

from itertools import combinations_with_replacement

from pool.engine import Fleet, Hold, JobRequest, Placed, Policy, Refused, ReplicaRequest, RoleRequest, decide, mig
from pool.engine.mig_tables import FAMILIES
from tests.engine import make

QUIET = Policy(explain=False)
FAMILY = FAMILIES["A100-40GB"]
PLAIN = [profile for profile in FAMILY.profiles if profile.plain]


def slice_job(*names: str) -> JobRequest:
    roles = tuple(RoleRequest(f"r{i}", ReplicaRequest(1, mig_profile=name), 1, 1) for i, name in enumerate(names))
    return JobRequest(1, "t1", "g1", roles, len(roles))


def card_with(occupied: int) -> Fleet:
    """One A100 on which other work already holds these memory slices."""
    holds = [
        Hold(100, 1, 0, 0, "mig", "1g.5gb", slot, 1, "t9", "g9", 0, 0) for slot in range(8) if occupied >> slot & 1
    ]
    return Fleet.build([make.node(1, make.a100(100))], holds)


def starts(decision: Placed | Refused) -> list[int]:
    assert isinstance(decision, Placed)
    return [part.mig_start for replica in decision.replicas for part in replica.devices]


def test_small_slices_take_the_edge_and_the_largest_profile_still_fits() -> None:
    fleet = card_with(0)
    assert starts(decide(fleet, slice_job("1g.5gb"), QUIET)) == [6]
    seen = []
    for _ in range(3):
        decision = decide(fleet, slice_job("1g.5gb"), QUIET)
        seen += starts(decision)
        assert isinstance(decision, Placed)
        fleet.apply(decision, "t1", "g1")
    assert seen == [6, 5, 4]
    assert starts(decide(fleet, slice_job("4g.20gb"), QUIET)) == [0]


def test_a_1g_never_costs_a_larger_profile_that_another_start_would_leave() -> None:
    """For all 256 states of the card."""
    tables = mig.tables(FAMILY.key)
    profile = FAMILY.profiles[0]
    assert profile.name == "1g.5gb"

    def largest_left(state: int) -> int:
        fitting = [p.compute_slices for i, p in enumerate(FAMILY.profiles) if tables.count[i, state]]
        return max(fitting, default=0)

    for state in range(256):
        free = [start for start in profile.starts if not state & mig.mask(start, 1)]
        chosen = int(tables.start[0, state])
        assert (chosen in free) if free else (chosen == -1)
        if free:
            best = max(largest_left(state | mig.mask(start, 1)) for start in free)
            assert largest_left(state | mig.mask(chosen, 1)) == best


def test_refused_only_if_no_arrangement_exists() -> None:
    """States of a card against every set of up to three profiles, by exhaustive search."""
    index = {profile.name: i for i, profile in enumerate(FAMILY.profiles)}
    names = [profile.name for profile in PLAIN]
    for occupied in range(0, 256, 37):
        fleet = card_with(occupied)
        for count in (1, 2, 3):
            for wanted in combinations_with_replacement(names, count):
                possible = mig.pack(FAMILY, occupied, [index[name] for name in wanted]) is not None
                decision = decide(fleet, slice_job(*wanted), QUIET)
                assert isinstance(decision, Placed) == possible, (occupied, wanted)


def test_same_input_same_answer() -> None:
    answers = {repr(decide(card_with(0b1000_0010), slice_job("2g.10gb", "1g.5gb", "1g.10gb"))) for _ in range(5)}
    assert len(answers) == 1


def test_backtracks_over_cards_before_refusing() -> None:
    """Two cards for 4+4+3+3+3+3 tenths: putting both fours on one card strands a three."""
    fleet = Fleet.build([make.node(1, make.card(100)), make.node(2, make.card(200))])
    roles = (
        RoleRequest("four", ReplicaRequest(1, 4_000), 2, 2),
        RoleRequest("three", ReplicaRequest(1, 3_000), 4, 4),
    )
    job = JobRequest(1, "t1", "g1", roles, 6)
    assert isinstance(decide(fleet, job, Policy(explain=False, backtrack_limit=0)), Refused)
    decision = decide(fleet, job, QUIET)
    assert isinstance(decision, Placed)
    assert len(fleet.apply(decision, "t1", "g1")) == 6
