"""Everybody who waits, in the order in which they would be taken now."""

from collections import deque
from collections.abc import Iterator
from itertools import islice

from pool.engine.sharing import Order
from pool.scheduling.models import Queue
from pool.scheduling.sharing.state import Sharing, several
from pool.scheduling.sharing.turns import FAIR, PLAIN
from pool.scheduling.waiting import Waiting, WaitingList

MOST = 256  # that get a place among all: those behind are behind them


def line_up(sharing: Sharing, waiting: WaitingList) -> tuple[str, list[Waiting]]:
    """The rule, and the first of those who wait. Jobs of held queues are not among them."""
    items = [item for item in waiting if _may_come(item, waiting)]
    if not several(items):
        return PLAIN, items[:MOST]
    return FAIR, list(islice(_fairly(sharing, items), MOST))


def _may_come(item: Waiting, waiting: WaitingList) -> bool:
    queue = waiting.queues.get(item.queue_id)
    return queue is not None and queue.state != Queue.State.HELD


def _fairly(sharing: Sharing, items: list[Waiting]) -> Iterator[Waiting]:
    """Each counts as started before it is asked whose turn comes next."""
    books = sharing.books()
    order = Order(sharing.entitlements(books.tree), books)
    lines: dict[int, deque[Waiting]] = {}
    for item in items:
        lines.setdefault(sharing.leaf(item), deque()).append(item)
    for leaf, line in lines.items():
        order.wait(leaf, len(line))
    while (first := order.first()) is not None:
        item = lines[first].popleft()
        yield item
        books.add(first, sharing.asks(item))
        order.wait(first, -1)
        order.changed(first)
