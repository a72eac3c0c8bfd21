"""Whose turn it is in one pass.

While there is room for all, the order does not matter, and none is computed: jobs come by priority and age. When the
first of them is refused, what this pass has decided and not sent is taken back, and all come again in fair order: from
the queue that is furthest below what it is entitled to, its highest priority first (pool/engine/sharing/order.py).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pool.engine.sharing import Amounts, Order
from pool.engine.sharing.amounts import NOTHING, plus
from pool.engine.sharing.amounts import PLAIN as UNITS
from pool.engine.types import Hold
from pool.scheduling.limits import Limit
from pool.scheduling.sharing.barred import limit_of
from pool.scheduling.sharing.state import Sharing, several
from pool.scheduling.waiting import Waiting

PLAIN: Final = "plain"  # by priority, then age
FAIR: Final = "fair"  # the queue that is furthest below what it is entitled to
FEW = 64  # jobs that are decided on in the time after which a first batch is sent anyway


class Turns:
    """Iterate, and tell of each job that was placed. `disputed`: in plain order so far, though queues compete; until
    that is settled nothing may be sent, or who gets what would depend on how fast the machine is."""

    def __init__(self, sharing: Sharing, candidates: Sequence[Waiting], fair: bool) -> None:
        self._sharing = sharing
        self._line: deque[Waiting] = deque(sorted(candidates, key=lambda item: item.order))
        self.disputed = several(self._line)
        self._held: dict[int, Amounts] = sharing.held() if self.disputed else {}
        self._books = sharing.books() if sharing.layout.binds else None
        self._order: Order | None = None
        self._lines: dict[int, deque[Waiting]] = {}
        if self.disputed and (fair or len(self._line) > FEW):
            self.line_up(())

    def __iter__(self) -> Iterator[Waiting]:
        while True:
            if self._order is not None:
                yield from self._fairly(self._order)
                return
            if not self._line:
                return
            yield self._line.popleft()

    def line_up(self, again: Sequence[Waiting]) -> None:
        """From now on in fair order: those who are left, and `again` those whose placement was taken back."""
        self.disputed = False
        sharing, waiting = self._sharing, [*again, *self._line]
        self._line.clear()
        books = self._books = sharing.books(self._held)
        self._order = Order(sharing.entitlements(books.tree), books)
        for item in sorted(waiting, key=lambda item: item.order):
            self._lines.setdefault(sharing.leaf(item), deque()).append(item)
        for leaf, line in self._lines.items():
            self._order.wait(leaf, len(line))

    def placed(self, item: Waiting, holds: Sequence[Hold], sign: int = 1) -> None:
        """What the job holds from now on (`sign` -1: not after all)."""
        if self._books is None and not self.disputed:
            return
        leaf, amounts = self._sharing.leaf(item), self._taken(holds)
        if self.disputed:
            self._held[leaf] = plus(self._held.get(leaf, NOTHING), amounts, sign)
        if self._books is not None:
            self._books.add(leaf, amounts, sign)
        if self._order is not None:
            self._order.changed(leaf)

    def told(self, item: Waiting) -> dict[str, Any]:
        """By which rule the job came, and what its queue is entitled to where that decided: for the ledger."""
        if self._order is None:
            return {"order": PLAIN}
        entitled = self._order.shares.of(self._sharing.leaf(item))[0]
        return {"order": FAIR, "entitled": entitled // UNITS}

    def bars(self, item: Waiting) -> Limit | None:
        """What keeps the job back although cards may be free."""
        if self._books is None or not self._sharing.layout.binds:
            return None
        barred = self._sharing.bars(self._books, item)
        return None if barred is None else limit_of(barred, item, self._sharing.waiting.queues)

    def _taken(self, holds: Sequence[Hold]) -> Amounts:
        total = NOTHING
        for hold in holds:
            total = plus(total, self._sharing.mirror.holdings.amounts(hold))
        return total

    def _fairly(self, order: Order) -> Iterator[Waiting]:
        while (leaf := order.first()) is not None:
            line, mark = self._lines[leaf], self._held_by(leaf)
            # nobody's place changes before something is placed
            while line and self._held_by(leaf) == mark:
                yield line.popleft()
            if not line:
                order.wait(leaf, -order.waiting[leaf])

    def _held_by(self, leaf: int) -> Amounts:
        return NOTHING if self._books is None else self._books.used[leaf]
