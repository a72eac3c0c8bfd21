"""Giving back what was lent: whoever has reserved cards and wants them, gets them through preemption's machinery.

Rights here are those of the reservation and nothing else: its own come first, and of what is lent nobody is entitled to
anything. The engine finds the smallest set that must go, as for any other preemption (I9).
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from pool.engine.preempt import Asking, NoPlan, Roster, Rules, Running, plan
from pool.engine.sharing import Amounts, Books, QueueSpec, Tree, entitlements
from pool.engine.sharing.amounts import NOTHING, plus
from pool.scheduling.models import Queue
from pool.scheduling.preemption.maker import QUIET, Basis, Scene
from pool.scheduling.sharing.layout import queue_of
from pool.scheduling.waiting import Waiting

if TYPE_CHECKING:
    from pool.scheduling.calendar.keeper import Calendar
    from pool.scheduling.preemption.maker import May

OWN, LENT = 1, 2  # leaves of the tree of a reservation
MOST = 8  # plans a sweep
BUDGET_S = 0.1


def give_back(calendar: Calendar, now: datetime, may: May) -> None:
    """Makes room, in reserved cards that are lent, for those whose they are."""
    current = [w for w in calendar.kept.values() if w.reservation is not None and w.start <= now]
    if not current:
        return
    until, left = time.perf_counter() + BUDGET_S, MOST
    for item in calendar.waiting:
        queue = calendar.waiting.queues.get(item.queue_id)
        if not left or time.perf_counter() > until:
            return
        if item.pk in calendar.rooms.pledges or queue is None or queue.state == Queue.State.HELD:
            continue
        if any(window.is_of(item) for window in current) and may(item):
            left -= _for(calendar, item, now)


def _for(calendar: Calendar, item: Waiting, now: datetime) -> bool:
    """Whether somebody was told to leave."""
    began = time.perf_counter_ns()
    running, mine = calendar.rooms.running(), set(calendar.own(item, now))
    cards = {card for window in calendar.kept.values() if window.key in mine for card in window.cards}
    lent = Roster(_visitors(calendar, running, item, cards))
    if not lent.jobs:
        return False
    basis = _basis(calendar, item, lent)
    scene = basis.scene
    with calendar.mirror.lifted(mine):  # also while it is written down: what it was made on is in the ledger
        found = plan(
            calendar.mirror.fleet,
            scene.shares,
            scene.books,
            lent,
            basis.asking,
            int(now.timestamp()),
            scene.rules,
            QUIET,
        )
        if isinstance(found, NoPlan):
            return False
        return calendar.rooms.carry_out(item, found, basis, now, (time.perf_counter_ns() - began) // 1000)


def _visitors(calendar: Calendar, running: Roster, item: Waiting, cards: set[int]) -> list[Running]:
    """Work of others on these cards. What let it in is that it goes when it is told: no cool-down, no least run."""
    found = []
    for job in running.jobs.values():
        queue = calendar.waiting.queues.get(queue_of(job.queue))
        if queue is None or not job.preemptible or _is_mine(calendar, queue, item):
            continue
        if any(hold.device_key in cards for replica in job.replicas for hold in replica.holds):
            found.append(replace(job, queue=LENT, preempt_min_runtime_s=0, evicted_s=None, out_of_turn=False))
    return found


def _is_mine(calendar: Calendar, queue: Queue, item: Waiting) -> bool:
    """Whether work of this queue uses the same reservations by its own right."""
    return any(
        w.tenant == queue.tenant_id and w.queue in (None, queue.pk) and w.is_of(item)
        for w in calendar.kept.values()
        if w.reservation is not None
    )


def _basis(calendar: Calendar, item: Waiting, lent: Roster) -> Basis:
    """The rights of a reservation: all for its own, nothing for what is lent."""
    asks = calendar.sharing.asks(item)
    total: Amounts = NOTHING
    for job in lent.jobs.values():
        total = plus(total, job.amounts)
    none = (0, 0, 0, 0)
    tree = Tree([QueueSpec(OWN, quota=asks), QueueSpec(LENT, quota=none, limit=none, weight=0)], plus(total, asks))
    books = Books(tree)
    books.add(LENT, total)
    asking = Asking(item.request, OWN, item.priority, asks, item.preemptible)
    shares = entitlements(tree, {OWN: asks, LENT: total})
    return Basis(Scene(shares, books, Rules(0)), lent, asking)
