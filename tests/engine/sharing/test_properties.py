"""What fair shares promise, on random trees."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.sharing import RESOURCES, Tree, bound, entitlements, standings
from tests.engine.sharing import make
from tests.reference.examples import examples

RULES = settings(max_examples=examples(60), deadline=None, derandomize=True)


def drawn(data: st.DataObject) -> tuple[Tree, dict[int, make.Amounts]]:
    tree = data.draw(make.trees())
    return tree, data.draw(make.demands(tree))


@RULES
@given(st.data())
def test_sums_and_bounds(data: st.DataObject) -> None:
    """Never above demand, a limit at any level, or the capacity; what is kept back is not given away."""
    tree, demand = drawn(data)
    shares = entitlements(tree, demand).shares
    for r in range(4):
        assert sum(shares[key].budget[r] for key in tree.children[0]) <= tree.capacity[r]
        for key, share in shares.items():
            below = tree.children.get(key, ())
            assert 0 <= share.deserved[r] <= min(share.entitlement[r], tree.quota[key][r])
            assert share.entitlement[r] + share.withheld[r] == share.budget[r]
            assert share.entitlement[r] <= share.demand[r]
            limit = tree.specs[key].limit[r]
            assert limit is None or share.entitlement[r] <= limit
            if below:
                assert share.entitlement[r] == sum(shares[child].entitlement[r] for child in below)
                assert sum(shares[child].budget[r] for child in below) <= share.budget[r]


@RULES
@given(st.data())
def test_the_order_of_the_queues_does_not_matter(data: st.DataObject) -> None:
    tree, demand = drawn(data)
    specs = data.draw(st.permutations(list(tree.specs.values())))
    other = Tree(specs, tree.capacity)
    mixed = dict(data.draw(st.permutations(list(demand.items()))))
    assert entitlements(other, mixed).shares == entitlements(tree, demand).shares


@RULES
@given(st.data())
def test_quota_comes_before_anything_beyond_it(data: st.DataObject) -> None:
    """Among siblings: as long as one is below what its quota covers of its want, none is above its own."""
    tree, demand = drawn(data)
    shares = entitlements(tree, demand).shares
    for keys in tree.children.values():
        for r in range(4):
            short = [k for k in keys if shares[k].budget[r] + 8 < min(shares[k].want[r], tree.quota[k][r])]
            above = [k for k in keys if shares[k].budget[r] > tree.quota[k][r] + 8]
            assert not (short and above), (short, above, r)


@RULES
@given(st.data())
def test_more_capacity_takes_from_nobody(data: st.DataObject) -> None:
    """With one resource and quotas that are given, more cards give every queue as much or more."""
    drawn_tree = data.draw(make.trees(flat=True))
    specs = [replace(spec, quota=(spec.quota[0] or 0, 0, 0, 0)) for spec in drawn_tree.specs.values()]
    wants = {key: (amounts[0], 0, 0, 0) for key, amounts in data.draw(make.demands(drawn_tree)).items()}
    more = data.draw(make.SMALL)
    small, large = (Tree(specs, (drawn_tree.capacity[0] + extra, 0, 0, 0)) for extra in (0, more))
    before, after = entitlements(small, wants), entitlements(large, wants)
    for key in small.leaves:
        assert after.of(key)[0] >= before.of(key)[0] - 8


@RULES
@given(st.data())
def test_more_demand_of_another_never_takes_deserved_quota(data: st.DataObject) -> None:
    """Where the quotas fit into the capacity, nobody's demand touches what a quota covers."""
    drawn_tree = data.draw(make.trees(flat=True))
    specs = [replace(spec, quota=(spec.quota[0] or 0, 0, 0, 0)) for spec in drawn_tree.specs.values()]
    room = sum(spec.quota[0] or 0 for spec in specs) + data.draw(make.SMALL)
    tree = Tree(specs, (room, *drawn_tree.capacity[1:]))
    demand = data.draw(make.demands(tree))
    for key, share in entitlements(tree, demand).shares.items():
        limit = tree.specs[key].limit[0]
        want = demand[key][0] if limit is None else min(demand[key][0], limit)
        assert share.deserved[0] == min(want, tree.quota[key][0])


@RULES
@given(st.data())
def test_reasons_say_what_is_so(data: st.DataObject) -> None:
    """Whoever gets all it asks for is bounded by demand alone; whatever else is named, is there."""
    tree, demand = drawn(data)
    shares = entitlements(tree, demand)
    lines = {line.queue: line for line in standings(shares, {})}
    for key, share in shares.shares.items():
        found = bound(shares, key)
        assert lines[key].bound == found
        assert (found.kind == "demand") == (share.entitlement == share.demand)
        if found.kind == "demand":
            continue
        r = RESOURCES.index(found.resource)
        assert share.entitlement[r] < share.demand[r]
        path, other = tree.path[key], shares.shares.get(found.queue)
        assert other is not None
        assert (found.queue in path) == (found.kind not in ("lending", "priority"))
        if found.kind == "limit":
            assert tree.specs[found.queue].limit[r] is not None
        if found.kind == "lending":
            assert other.withheld[r] > 0
        if found.kind == "priority":
            rival = next(queue for queue in path if tree.specs[queue].parent == tree.specs[found.queue].parent)
            assert tree.specs[found.queue].bucket > tree.specs[rival].bucket
        if found.kind == "no_weight":
            assert tree.specs[found.queue].weight == 0
