"""What a card can be cut into next: legal placements, whom they put out and what is left."""

from __future__ import annotations

import pytest

from pool.engine import mig
from pool.engine.mig_tables import FAMILIES
from pool.engine.repartition import Instance, options, room

pytestmark = pytest.mark.plain
A100 = FAMILIES["A100-40GB"]


def best(found, profile):
    (option,) = [each for each in found if each.profile == profile and each.best]
    return option


def test_an_empty_card_takes_every_profile_at_every_start() -> None:
    found = options(A100, [])
    assert len(found) == sum(len(profile.starts) for profile in A100.profiles)
    assert all(not each.evicts and not each.cost and not each.blocked for each in found)
    assert best(found, "1g.5gb").start == 6  # the far edge, so that the run at 0 stays whole
    assert best(found, "7g.40gb").room == 0


def test_who_is_in_the_way_goes_and_the_cheapest_way_is_best() -> None:
    held = [Instance(1, "1g.5gb", 0, 1, 500), Instance(2, "1g.5gb", 5, 1, 30)]
    found = options(A100, held)
    option = best(found, "3g.20gb")
    assert (option.start, option.evicts, option.cost, option.blocked) == (4, (2,), 30, False)
    whole = best(found, "7g.40gb")
    assert (set(whole.evicts), whole.cost) == ({1, 2}, 530)


def test_what_may_not_be_moved_blocks() -> None:
    found = options(A100, [Instance(1, "1g.5gb", 0, 1, None)])
    assert best(found, "4g.20gb").blocked
    assert not best(found, "3g.20gb").blocked


def test_compute_slices_and_media_engines_run_out_too() -> None:
    """Four slots are free beside 4g.20gb and its like, but only three compute slices."""
    held = [Instance(1, "4g.20gb", 0, 4, 9), Instance(2, "1g.5gb+me", 4, 1, 5)]
    found = options(A100, held)
    one = [each for each in found if each.profile == "1g.5gb+me" and each.start == 6]
    assert one[0].evicts == (2,)
    big = [each for each in found if each.profile == "3g.20gb" and each.start == 4]
    assert (big[0].evicts, big[0].cost) == ((2,), 5)
    three = [Instance(1, "3g.20gb", 0, 4, 1), Instance(2, "1g.5gb", 6, 1, 7)]
    assert best(options(A100, three), "2g.10gb").evicts == ()
    seven = [Instance(n, "1g.5gb", n, 1, n + 1) for n in range(5)] + [Instance(9, "1g.10gb", 6, 2, 2)]
    four = [each for each in options(A100, seven) if each.profile == "4g.20gb"]
    assert set(four[0].evicts) == {0, 1, 2, 3}


def test_every_option_is_legal_once_its_evictions_are_made() -> None:
    held = [Instance(1, "2g.10gb", 2, 2, 4), Instance(2, "1g.5gb", 5, 1, 3), Instance(3, "1g.5gb+me", 6, 1, None)]
    compute = {profile.name: profile.compute_slices for profile in A100.profiles}
    for each in options(A100, held):
        left = [instance for instance in held if instance.key not in each.evicts]
        bits = mig.mask(each.start, each.size)
        assert not any(mig.mask(instance.start, instance.size) & bits for instance in left)
        assert sum(compute[instance.profile] for instance in left) + compute[each.profile] <= A100.slices
        assert each.blocked == (3 in each.evicts)


def test_what_is_left_is_weighted_by_what_is_asked_for() -> None:
    """Where everybody asks for 3g, a 1g goes where a 3g still fits twice or once; where they ask for 2g, beside it."""
    assert room(A100, 0, {"3g.20gb": 1.0}) == 1.0
    held = [Instance(1, "1g.5gb", 0, 1, 1)]
    threes = [e for e in options(A100, held, {"3g.20gb": 1.0}) if e.profile == "1g.5gb" and not e.evicts]
    assert {e.start for e in threes if e.room} == {1, 2, 3}
    assert best(options(A100, held, {"3g.20gb": 1.0}), "1g.5gb").start == 3
    assert best(options(A100, held, {"1g.10gb": 1.0}), "1g.5gb").start == 1
