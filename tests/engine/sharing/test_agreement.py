"""Entitlements agree with a slow reference in fractions, on thousands of random trees."""

from __future__ import annotations

from math import floor

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.sharing import Tree, entitlements
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
