"""Shares, their reasons and their borders, in cases small enough to do in the head."""

from __future__ import annotations

import pytest

from pool.engine.sharing import QueueSpec, Tree, bound, entitlements
from tests.engine.sharing.make import cards, gpu, pool, pure, queue


def entitled(tree: Tree, **wants: float) -> dict[int, float]:
    """Cards by queue, given wants such as q1=4."""
    shares = entitlements(tree, {int(name[1:]): pure(want) for name, want in wants.items()})
    return {key: shares.of(key)[0] / cards(1) for key in tree.specs}


def why(tree: Tree, key: int, **wants: float) -> tuple[str, int]:
    found = bound(entitlements(tree, {int(name[1:]): pure(want) for name, want in wants.items()}), key)
    return found.kind, found.queue


def test_quota_first_then_the_rest_by_weight() -> None:
    tree = pool(10, queue(1, 4), queue(2, 2, weight=3000), queue(3))
    assert entitled(tree, q1=10, q2=10, q3=10) == {1: 4.8, 2: 4.4, 3: 0.8}
    assert entitled(tree, q1=1, q2=10, q3=10) == {1: 1, 2: 2 + 7 * 0.75, 3: 7 * 0.25}
    assert why(tree, 3, q1=10, q2=10, q3=10) == ("weight", 3)
    assert why(tree, 1, q1=1, q2=10, q3=10) == ("demand", 0)


def test_dominant_resource_fairness() -> None:
    """9 CPUs and 18 GB, tasks of (1, 4) and (3, 1): three of the one and two of the other, the
    example of the paper. What is left of the memory goes to whoever can still use it."""
    tree = Tree([QueueSpec(1), QueueSpec(2)], (0, 0, 9_000, 18_000))
    shares = entitlements(tree, {1: (0, 0, 100_000, 400_000), 2: (0, 0, 300_000, 100_000)})
    assert [shares.of(key)[2] for key in (1, 2)] == [3_000, 6_000]
    assert shares.of(1)[3] >= 12_000
    assert shares.of(2)[3] >= 2_000
    assert shares.of(1)[3] + shares.of(2)[3] == 18_000


def test_too_little_capacity_scales_quotas_in_proportion() -> None:
    tree = pool(6, queue(1, 8), queue(2, 4))
    assert entitled(tree, q1=9, q2=9) == {1: 4, 2: 2}
    assert entitled(tree, q1=1, q2=9) == {1: 1, 2: 5}
    assert why(tree, 1, q1=9, q2=9) == ("scaled", 1)


def test_zero_and_missing() -> None:
    tree = pool(8, queue(1, 0), queue(2, None), queue(3, 8, limit=0), queue(4, weight=0))
    assert tree.quota[1][0] == tree.quota[2][0] == 0
    assert entitled(tree, q1=8, q2=8, q3=8, q4=8) == {1: 4, 2: 4, 3: 0, 4: 0}
    assert why(tree, 3, q1=8, q2=8, q3=8, q4=8) == ("limit", 3)
    assert why(tree, 4, q1=8, q4=8) == ("no_weight", 4)


def test_a_quota_of_cards_alone_guarantees_as_large_a_share_of_the_rest() -> None:
    tree = Tree([QueueSpec(1, quota=gpu(2)), QueueSpec(2)], (cards(8), 80, 400, 4_000))
    assert tree.quota[1] == (cards(2), 20, 100, 1_000)
    assert tree.quota[2] == (0, 0, 0, 0)


def test_a_parents_quota_is_its_childrens_unless_it_is_given() -> None:
    tree = pool(12, queue(1), queue(2, 3, parent=1), queue(3, 2, parent=1), queue(4, 1), queue(5, 6, parent=4))
    assert tree.quota[1][0] == cards(5)
    assert tree.quota[4][0] == cards(1)
    # 5 is guaranteed no more than its parent; the 6 that are left go to parents 1 and 4 alike
    assert entitled(tree, q2=12, q3=12, q5=12) == {1: 8, 2: 4.5, 3: 3.5, 4: 4, 5: 4}


def test_limits_hold_at_every_level() -> None:
    tree = pool(12, queue(1, limit=4), queue(2, parent=1), queue(3, parent=1), queue(4))
    assert entitled(tree, q2=12, q3=1, q4=12) == {1: 4, 2: 3, 3: 1, 4: 8}
    assert why(tree, 2, q2=12, q3=1, q4=12) == ("limit", 1)


def test_what_is_never_lent_stays() -> None:
    tree = pool(8, queue(1, 6, lending=2), queue(2), queue(3))
    assert entitled(tree, q1=0, q2=8) == {1: 0, 2: 4, 3: 0}
    assert why(tree, 2, q1=0, q2=8) == ("lending", 1)
    assert entitled(tree, q1=5, q2=8) == {1: 5, 2: 3, 3: 0}
    assert entitled(tree, q1=6, q2=8) == {1: 6, 2: 2, 3: 0}


def test_a_higher_bucket_is_served_before_a_lower_one() -> None:
    tree = pool(8, queue(1, 2, bucket=0), queue(2, bucket=5), queue(3, bucket=5))
    assert entitled(tree, q1=8, q2=8, q3=8) == {1: 2, 2: 3, 3: 3}
    assert entitled(tree, q1=8, q2=1, q3=2) == {1: 5, 2: 1, 3: 2}
    assert why(tree, 1, q1=8, q2=8, q3=8) == ("priority", 2)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([queue(1), queue(1)], "key 1 is given twice"),
        ([queue(1, parent=7)], "unknown parent 7"),
        ([queue(1, parent=2), queue(2, parent=1)], "their own ancestors"),
    ],
)
def test_a_tree_that_is_none_is_refused(specs: list[QueueSpec], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pool(1, *specs)


def test_bad_numbers_are_refused_by_field() -> None:
    with pytest.raises(ValueError, match=r"quota\.gpu: -1 is outside"):
        QueueSpec(1, quota=(-1, None, None, None))
    with pytest.raises(ValueError, match="over_quota_weight: -1"):
        QueueSpec(1, weight=-1)
    with pytest.raises(ValueError, match="demand: 9 is not a queue"):
        entitlements(pool(1, queue(1)), {9: pure(1)})
