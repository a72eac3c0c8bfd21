"""What may start: limits, what is kept, quotas for work that cannot be preempted; and whose turn it is."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine.sharing import Books, Order, entitlements
from tests.engine.sharing import make
from tests.engine.sharing.make import cards, pool, pure, queue
from tests.reference.examples import examples


def test_a_limit_on_the_way_up_bars() -> None:
    books = Books(pool(12, queue(1, limit=4), queue(2, parent=1), queue(3, parent=1, limit=3)))
    books.add(2, pure(2))
    assert books.bars(3, pure(2)) is None
    barred = books.bars(3, pure(3))
    assert barred is not None
    assert (barred.kind, barred.queue, barred.used, barred.most) == ("limit", 1, cards(2), cards(4))
    barred = books.bars(3, pure(4))
    assert barred is not None
    assert (barred.kind, barred.queue) == ("limit", 3)


def test_quota_that_is_not_lent_bars_others_and_not_its_owner() -> None:
    books = Books(pool(8, queue(1, 6, lending=2), queue(2)))
    books.add(2, pure(4))
    barred = books.bars(2, pure(1))
    assert barred is not None
    assert (barred.kind, barred.queue, barred.asked) == ("lending", 1, cards(1))
    assert books.bars(1, pure(4)) is None
    books.add(1, pure(4))
    assert books.bars(1, pure(1)) is not None  # now the pool is full
    books.add(2, pure(4), times=-1)
    assert books.bars(1, pure(4)) is None


def test_work_that_cannot_be_preempted_stays_within_quota_if_so_ruled() -> None:
    books = Books(pool(8, queue(1, 2), queue(2)))
    books.add(1, pure(1), preemptible=False)
    assert books.bars(1, pure(2)) is None
    barred = books.bars(1, pure(2), within_quota=True)
    assert barred is not None
    assert (barred.kind, barred.queue, barred.used, barred.most) == ("quota", 1, cards(1), cards(2))
    assert books.bars(1, pure(1), within_quota=True) is None


def test_an_elastic_job_grows_up_to_a_limit() -> None:
    books = Books(pool(12, queue(1, limit=4), queue(2, parent=1)))
    assert books.room(2, pure(2), pure(1), 8) == 2
    assert books.room(2, pure(2), pure(1), 1) == 1
    assert books.room(2, pure(4), pure(1), 8) == 0


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.data())
def test_books_are_what_a_recount_says(data: st.DataObject) -> None:
    """After any starts and ends, in any order, every level says what adding up anew says."""
    tree = data.draw(make.trees())
    books, running = Books(tree), []
    moves = st.tuples(st.sampled_from(tree.leaves), st.tuples(*[make.SMALL] * 4), st.booleans(), st.booleans())
    for leaf, amounts, preemptible, one_ends in data.draw(st.lists(moves, max_size=12)):
        if running and one_ends:
            books.add(*running.pop(0))
        books.add(leaf, amounts, 1, preemptible)
        running.append((leaf, amounts, -1, preemptible))
    fresh = Books(tree)
    for leaf, amounts, _, preemptible in reversed(running):
        fresh.add(leaf, amounts, 1, preemptible)
    assert (books.used, books.below, books.fixed) == (fresh.used, fresh.below, fresh.fixed)
    for key in tree.specs:
        mine = [amounts for leaf, amounts, *_ in running if key in tree.path[leaf]]
        assert books.used[key] == tuple(sum(amounts[r] for amounts in mine) for r in range(4))


def test_turns_go_to_the_least_served_below_quota_then_by_level() -> None:
    tree = pool(16, queue(1, 4), queue(2, 2), queue(3), queue(4, weight=3000), queue(5, weight=0), queue(6, bucket=9))
    books = Books(tree)
    shares = entitlements(tree, {key: pure(16) for key in tree.leaves})
    order = Order(shares, books)
    for key in (5, 3, 6, 4, 2, 1):
        order.wait(key, 16)
    assert list(order.turns()) == [1, 2, 6, 3, 4, 5]
    given = []
    for _ in range(14):
        turn = order.first()
        assert turn is not None
        books.add(turn, pure(1))
        order.wait(turn, -1)
        order.changed(turn)
        given.append(turn)
    # quotas side by side by how full they are, then the bucket's queue until nothing bounds it
    assert given[:6] == [1, 2, 1, 1, 2, 1]
    assert set(given[6:]) == {6}
    for gone in (1, 2, 6):
        order.wait(gone, -order.waiting[gone])
    assert [order.first(), order.first(without={3})] == [3, 4]


def test_without_waiting_work_there_is_no_turn() -> None:
    tree = pool(4, queue(1), queue(2, parent=1), queue(3))
    order = Order(entitlements(tree, {}), Books(tree))
    assert order.first() is None
    order.wait(2)
    assert list(order.turns()) == [2]
    order.wait(2, -1)
    assert order.first() is None


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.data())
def test_kept_order_is_a_fresh_sort(data: st.DataObject) -> None:
    tree = data.draw(make.trees())
    shares = entitlements(tree, data.draw(make.demands(tree)))
    books = Books(tree)
    order = Order(shares, books)
    for leaf in data.draw(st.lists(st.sampled_from(tree.leaves), min_size=1, max_size=20)):
        books.add(leaf, data.draw(st.tuples(*[make.SMALL] * 4)))
        order.wait(leaf)
        order.changed(leaf)
        fresh = Order(shares, books)
        for key in tree.leaves:
            if order.waiting.get(key):
                fresh.wait(key, order.waiting[key])
        assert list(order.turns()) == list(fresh.turns())
