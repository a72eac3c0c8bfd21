"""The shares of the moment: what queues are entitled to, in which order they come, and what bars a job."""

from collections.abc import Iterable

from console.common import sql
from pool.engine.sharing import (
    Amounts,
    Barred,
    Books,
    Entitlements,
    Standing,
    Tree,
    Weights,
    asked,
    entitlements,
    standings,
)
from pool.engine.sharing.amounts import NOTHING, plus
from pool.engine.types import JobRequest
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Queue
from pool.scheduling.sharing.holdings import capacity
from pool.scheduling.sharing.layout import Layout
from pool.scheduling.sharing.past import Past
from pool.scheduling.waiting import Waiting, WaitingList


class Sharing:
    """One thread owns it, beside a mirror and the list of those who wait. Nothing is computed before it is asked."""

    def __init__(self, mirror: FleetMirror, waiting: WaitingList) -> None:
        self.mirror, self.waiting = mirror, waiting
        self.past = Past()
        self._layout = Layout({})
        self._queues: dict[int, Queue] = {}  # those that the layout is of
        self._asked: dict[tuple[object, bool], Amounts] = {}
        self._asked_of: tuple[int, int] | None = None  # the fleet and its hardware
        self._measured: Amounts | None = None

    @property
    def layout(self) -> Layout:
        """Of the queues as they were read last."""
        if self._queues is not self.waiting.queues:
            self._queues, self._layout = self.waiting.queues, Layout(self.waiting.queues)
        return self._layout

    def leaf(self, item: Waiting) -> int:
        return self.layout.leaf(item.queue_id)

    def asks(self, item: Waiting, whole: bool = False) -> Amounts:
        """The most that a waiting job's minimum (`whole`: all of it) may take."""
        return self.asks_of((item.request.roles, item.request.min_member), item.request, whole)

    def asks_of(self, key: object, request: JobRequest, whole: bool) -> Amounts:
        self._look_at_hardware()
        found = self._asked.get((key, whole))
        if found is None:
            found = asked(request, self.mirror.fleet.kinds.all, self.mirror.holdings.weights, whole)
            self._asked[key, whole] = found
        return found

    def _look_at_hardware(self) -> None:
        fleet = self.mirror.fleet
        if self._asked_of != (id(fleet), fleet.hardware):
            self._asked_of, self._measured = (id(fleet), fleet.hardware), None
            self._asked.clear()

    def capacity(self) -> Amounts:
        """Of the hardware; counted again each time while some of it is closed, since what is held there ends."""
        self._look_at_hardware()
        if self._measured is not None:
            return self._measured
        holds = (row.hold for rows in self.mirror.held.values() for row in rows.values())
        total, whole = capacity(self.mirror.specs, holds, self.mirror.holdings.weights)
        if whole:
            self._measured = total
        return total

    def tree(self) -> Tree:
        return self.layout.tree(self.capacity())

    def held(self) -> dict[int, Amounts]:
        """What leaves hold. Queues that are gone or not read yet hold nothing that could be told."""
        known, holdings = self.waiting.queues, self.mirror.holdings
        return {self.layout.leaf(queue): holdings.of(queue) for queue in holdings.queues if queue in known}

    def books(self, held: dict[int, Amounts] | None = None) -> Books:
        books = Books(self.tree())
        for leaf, amounts in (self.held() if held is None else held).items():
            if any(amounts):
                books.add(leaf, amounts)
        return books

    def entitlements(self, tree: Tree) -> Entitlements:
        """For what is held and what is waited for, except in held queues, which start nothing."""
        demand, queues = self.held(), self.waiting.queues
        for item in self.waiting.jobs.values():
            if item.queue_id in queues and queues[item.queue_id].state != Queue.State.HELD:
                leaf = self.leaf(item)
                demand[leaf] = plus(demand.get(leaf, NOTHING), self.asks(item, whole=True))
        return entitlements(tree, demand, self.past.weights(tree, self.layout))

    def standings(self) -> list[Standing]:
        tree = self.tree()
        return standings(self.entitlements(tree), self.books().used)

    def bars(self, books: Books, item: Waiting) -> Barred | None:
        """A limit on the way up, or quota that another queue never lends. What the pool has is for the engine to say:
        a job asks for no more than it may take at most."""
        found = books.bars(self.leaf(item), self.asks(item))
        return None if found is None or found.queue == 0 else found


def read_weights() -> Weights:
    """What models count, by name. One query."""
    rows = sql.fetch(
        "SELECT m.name, w.hundredths FROM scheduling_deviceweight w JOIN inventory_devicemodel m ON m.id = w.model_id"
    )
    return Weights(dict(rows))


def several(items: Iterable[Waiting]) -> bool:
    """Whether the jobs are of more than one queue: within one, priority and age decide."""
    first: int | None = None
    for item in items:
        if first is None:
            first = item.queue_id
        elif item.queue_id != first:
            return True
    return False
