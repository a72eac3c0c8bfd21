"""Keeps what those who wait are told: a little work after each sweep, none while nobody waits.

First everybody's place and what is in the way, which is quick. Then when they would start, which takes up to seconds of
work in a large pool: it is done a few milliseconds at a time over many sweeps, on a copy of the pool as it was when the
work began, and told when it is whole.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from console.common.clock import Clock
from pool.engine.ahead import Spans
from pool.scheduling.limits import Usage, first_biting, limits_of
from pool.scheduling.models import Queue
from pool.scheduling.outlook.forecast import Basis, Estimate, Forecast
from pool.scheduling.outlook.history import read_spans
from pool.scheduling.outlook.line import line_up
from pool.scheduling.outlook.published import Outlook, publish, seconds
from pool.scheduling.preemption.maker import RoomMaker
from pool.scheduling.sharing.layout import queue_of
from pool.scheduling.sharing.state import Sharing
from pool.scheduling.waiting import Waiting

BUDGET_S = 0.06  # of a sweep
AGAIN_S = 10.0  # between the end of one look ahead and the next
PLACES_S = 5.0  # between two tellings of places
HISTORY_S = 300.0
SLICE_S = 0.003  # after which whoever was heard meanwhile goes first
MOST_TOLD = 500  # jobs


class Keeper:
    """One thread owns it, beside a mirror."""

    def __init__(self, sharing: Sharing, rooms: RoomMaker, clock: Clock) -> None:
        self.clock = clock
        self.sharing, self.mirror, self.waiting, self.rooms = sharing, sharing.mirror, sharing.waiting, rooms
        self._spans: Spans | None = None
        self._read_at = self._told_at = self._looked_at = float("-inf")
        self._steps: Iterator[None] | None = None
        self._estimates: dict[int, Estimate] = {}
        self._made_at = 0.0  # of the estimates
        self._basis = Basis(0, 0, 0, ())

    @property
    def looked(self) -> bool:
        """Whether a look ahead has come to its end."""
        return self._looked_at > float("-inf")

    def work(self, now: datetime, usage: Callable[[], Usage], between: Callable[[], None]) -> None:
        """At most so much of a sweep as the budget allows."""
        if not len(self.waiting):
            self._steps, self._estimates = None, {}
            return
        clock = time.monotonic()
        if clock - self._told_at >= PLACES_S:
            self._told_at = clock
            self._tell(now, usage())
            between()
        if self._steps is None and clock - self._looked_at >= AGAIN_S:
            self._steps = self._look(now, usage)
        self._go_on(now, usage, between)

    def _look(self, now: datetime, usage: Callable[[], Usage]) -> Iterator[None]:
        """One look ahead, a little at a time."""
        if self._spans is None or time.monotonic() - self._read_at >= HISTORY_S:
            for found in read_spans(now):
                self._spans = found or self._spans
                yield
            self._read_at = time.monotonic()
        _rule, line = line_up(self.sharing, self.waiting)
        yield
        spans = self._spans or Spans(())
        forecast = Forecast(self.mirror, self.waiting, line, usage(), spans, self.clock(), self.rooms.pledges)
        yield from forecast.steps()
        self._estimates, self._basis = forecast.estimates(), forecast.basis
        self._made_at = seconds(forecast.now)

    def _go_on(self, now: datetime, usage: Callable[[], Usage], between: Callable[[], None]) -> None:
        until = time.perf_counter() + BUDGET_S
        while self._steps is not None and time.perf_counter() < until:
            pause = time.perf_counter() + SLICE_S
            while time.perf_counter() < pause:
                if next(self._steps, self) is self:
                    self._finish(now, usage())
                    return
            between()

    def _finish(self, now: datetime, usage: Usage) -> None:
        self._steps = None
        self._looked_at = time.monotonic()
        self._tell(now, usage)

    def _tell(self, now: datetime, usage: Usage) -> None:
        rule, line = line_up(self.sharing, self.waiting)
        overall = {item.pk: place for place, item in enumerate(line, 1)}
        in_queue = Counter(item.queue_id for item in self.waiting)
        place: Counter[int] = Counter()
        told: dict[int, Outlook] = {}
        for item in self.waiting:
            place[item.queue_id] += 1
            if len(told) >= MOST_TOLD:
                break
            told[item.pk] = Outlook(
                at=seconds(now),
                place=place[item.queue_id],
                line=in_queue[item.queue_id],
                overall=overall.get(item.pk, 0),
                all_waiting=len(self.waiting),
                rule=rule,
                blocker=self._blocker(item, usage),
                **self._no_room(item),
                **self._estimate(item),
            )
        publish(told)

    def _blocker(self, item: Waiting, usage: Usage) -> str:
        if self._is_held(item):
            return "queue_held"
        queue = self.waiting.queues[item.queue_id]
        if item.pk in self.rooms.pledges:
            return "room_made"
        limits = limits_of(queue, usage, self.waiting.projects.get(item.project_id))
        if first_biting(limits, item.total_share_bp) is not None:
            return "limit"
        return "capacity" if item.refused_at >= 0 else ""

    def _no_room(self, item: Waiting) -> dict[str, Any]:
        found = self.rooms.why_nobody(item)
        if found is None or item.pk in self.rooms.pledges:
            return {}
        return {"no_room": found.reason, "no_room_queue": queue_of(found.queue)}

    def _estimate(self, item: Waiting) -> dict[str, Any]:
        if self._is_held(item):
            return {"basis": "held"}
        if item.pk in self.rooms.pledges:
            return {"basis": "room_made"}
        found = self._estimates.get(item.pk)
        if found is None:
            return {"basis": "not_yet"}
        basis = self._basis
        counted = asdict(basis)
        if found.early is None:
            return {"basis": "beyond" if found.horizon else "unknown", "horizon": self._at(found.horizon), **counted}
        times = {"early": found.early, "middle": found.middle, "late": found.late, "horizon": found.horizon}
        return {"basis": "history", **{name: self._at(value) for name, value in times.items()}, **counted}

    def _is_held(self, item: Waiting) -> bool:
        queue = self.waiting.queues.get(item.queue_id)
        return queue is None or queue.state == Queue.State.HELD

    def _at(self, seconds_from_then: float | None) -> float | None:
        return None if seconds_from_then is None else self._made_at + seconds_from_then
