"""Entitlements agree with a slow reference in fractions, on thousands of random trees."""

from __future__ import annotations

from math import floor

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.sharing import Books, Order, Tree, entitlements
from tests.engine.sharing import make
from tests.reference import sharing as reference
from tests.reference.examples import examples


def compare(tree: Tree, demand: dict[int, make.Amounts], tolerance: int) -> None:
    ours = entitlements(tree, demand)
    wanted = {key: list(amounts) for key, amounts in demand.items()}
    expected = reference.shares(make.as_rows(tree), list(tree.capacity), wanted)
    whole = all(amount.denominator == 1 for row in expected.values() for amount in row["entitlement"])
    for key in tree.leaves:
        for kind, got in (("entitlement", ours.shares[key].entitlement), ("deserved", ours.shares[key].deserved)):
            exact = expected[key][kind]
            off = [floor(exact[r]) - got[r] for r in range(4)]
            assert all(abs(part) <= (0 if whole else tolerance) for part in off), (key, kind, exact, got)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_one_level(data: st.DataObject) -> None:
    tree = data.draw(make.trees(flat=True))
    compare(tree, data.draw(make.demands(tree)), tolerance=8)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_deep_trees(data: st.DataObject) -> None:
    """Whole shares are met to the unit; others lose less than a unit a level and queue."""
    tree = data.draw(make.trees())
    compare(tree, data.draw(make.demands(tree)), tolerance=32)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.data())
def test_turns(data: st.DataObject) -> None:
    """Queues take their turns as the definition says, whatever they use and deserve."""
    tree = data.draw(make.trees())
    shares = entitlements(tree, data.draw(make.demands(tree)))
    books = Books(tree)
    for leaf in data.draw(st.lists(st.sampled_from(tree.leaves), max_size=8)):
        books.add(leaf, data.draw(st.tuples(*[make.SMALL] * 4)))
    waiting = data.draw(st.sets(st.sampled_from(tree.leaves)))
    order = Order(shares, books)
    for leaf in waiting:
        order.wait(leaf)
    deserved = {key: list(share.deserved) for key, share in shares.shares.items()}
    used = {key: list(books.used[key]) for key in tree.specs}
    expected = reference.turns(make.as_rows(tree), list(tree.capacity), deserved, used, dict(shares.weights), waiting)
    assert list(order.turns()) == expected
