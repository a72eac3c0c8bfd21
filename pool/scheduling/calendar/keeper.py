"""Who keeps windows: the part of the scheduler that opens them in time, lets in who may, and closes them.

Why EASY with a depth and not conservative backfill: docs/decisions/0018-reservations.md.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

import structlog

from pool.engine.calendar import may_enter
from pool.scheduling import ports
from pool.scheduling.calendar import opening, returning
from pool.scheduling.calendar.endings import leaving_s
from pool.scheduling.calendar.windows import Kept, kept, visitor
from pool.scheduling.models import JobState, Window
from pool.scheduling.preemption.maker import May, RoomMaker
from pool.scheduling.preemption.pledges import states_of
from pool.scheduling.services.windows import close_window, move_window, put_off
from pool.scheduling.sharing.state import Sharing
from pool.scheduling.states import JOB_ACTIVE
from pool.scheduling.waiting import Waiting

log = structlog.get_logger(__name__)

LOOK = timedelta(seconds=10)  # between two looks for what is due
AGAIN = timedelta(minutes=1)  # so long who has no start is not looked at again: looking takes all that runs
LATE = timedelta(minutes=10)  # so long a start is waited for past its time
_State, _Dropped = Window.State, Window.Dropped


class Calendar:
    """One thread owns it, beside a mirror. Without windows a pass asks it one thing: whether there are any."""

    def __init__(self, sharing: Sharing, rooms: RoomMaker) -> None:
        self.sharing, self.rooms = sharing, rooms
        self.mirror, self.waiting = sharing.mirror, sharing.waiting
        self.kept: dict[int, Kept] = {}
        self.predicted: dict[int, int] = {}  # bounds of waiting jobs without a limit of their own
        self.leaving: dict[
            int, int
        ] = {}  # seconds that waiting jobs take to leave; who is not in it is not lent to yet
        self._no_start: dict[int, datetime] = {}  # by job, until when
        self._due: datetime | None = None
        rooms.lift = self.lift
        for row in Window.objects.filter(state=_State.OPEN).select_related("reservation").order_by("pk"):
            self.keep(row)

    @property
    def active(self) -> bool:
        return bool(self.kept)

    def forget(self) -> None:
        """Somebody changed a reservation: it is read at the next sweep."""
        self._due = None

    def keep(self, row: Window) -> Kept:
        """Hold its cards from here on, also while others still have them."""
        window = kept(row, self.mirror)
        self.kept[row.pk] = window
        self.mirror.pledge(window.key, window.holds)
        return window

    # -- letting in

    def keys_for(self, item: Waiting, now: datetime) -> tuple[int, ...]:
        """Windows (by their keys in the mirror) whose cards the job may use if it starts now."""
        second, bound = int(now.timestamp()), item.bound_s(now)
        bound = self.predicted.get(item.pk) if bound is None else bound
        if bound is None and not item.preemptible:  # most who wait: a look at whose windows there are
            return tuple(w.key for w in self.kept.values() if w.is_of(item))
        asks = visitor(item, bound, self.leaving.get(item.pk))
        return tuple(w.key for w in self.kept.values() if may_enter(w.rule, asks, second, w.is_of(item)))

    def own(self, item: Waiting, now: datetime) -> tuple[int, ...]:
        """Windows of reservations whose time it is and which are the job's to use."""
        return tuple(
            w.key for w in self.kept.values() if w.reservation is not None and w.start <= now and w.is_of(item)
        )

    def lift(self, item: Waiting) -> AbstractContextManager[None]:
        """Inside, the cards of windows that are the job's own are free to it."""
        mine = [w.key for w in self.kept.values() if w.is_of(item)] if self.kept else []
        return self.mirror.lifted(mine) if mine else nullcontext()

    # -- a sweep

    def settle(self, now: datetime) -> None:
        """Before a pass: close what is over. Whoever was killed before finds it here."""
        if not self.kept:
            return
        self._learn_leaving()
        states = states_of([w.job for w in self.kept.values() if w.job is not None])
        for window in list(self.kept.values()):
            if window.job is not None:
                self._settle_start(window, states.get(window.job), now)
            elif window.end is not None and window.end <= now:
                self.close(window, now, _State.ENDED)

    def plan(self, now: datetime, may: May) -> None:
        """After a pass: give back what is wanted, and every few seconds open what is due."""
        if self.kept and len(self.waiting):
            returning.give_back(self, now, may)
        if self._due is not None and now < self._due:
            return
        self._due = now + LOOK
        opening.open_due(self, now)
        opening.reserve_starts(self, now, may)
        if self.kept and ports.bounds_known():
            endless = [item.pk for item in self.waiting.jobs.values() if item.bound_s(now) is None]
            self.predicted = dict(ports.run_bounds(endless))

    def _learn_leaving(self) -> None:
        """How long those take to leave who wait and could be lent to. One query where somebody is new."""
        if not any(window.rule.lends for window in self.kept.values()):
            return
        wanted = {item.pk for item in self.waiting.jobs.values() if item.preemptible}
        self.leaving = {pk: s for pk, s in self.leaving.items() if pk in wanted}
        self.leaving |= leaving_s(wanted - self.leaving.keys())

    def has_no_start(self, item: Waiting, now: datetime) -> None:
        """Not even once all has ended whose end is known."""
        self._no_start[item.pk] = now + AGAIN

    def without_start(self, now: datetime) -> set[int]:
        self._no_start = {pk: until for pk, until in self._no_start.items() if until > now}
        return set(self._no_start)

    def starts(self) -> Iterator[Kept]:
        return (w for w in self.kept.values() if w.job is not None)

    def close(self, window: Kept, now: datetime, state: str, dropped: str = "") -> None:
        close_window(window.pk, state, dropped, now)
        del self.kept[window.pk]
        self.mirror.unpledge(window.key)

    def again(self, row: Window) -> None:
        """Its row has changed."""
        window = self.kept.pop(row.pk)
        self.mirror.unpledge(window.key)
        self.keep(row)

    def _settle_start(self, window: Kept, state: str | None, now: datetime) -> None:
        if state in JOB_ACTIVE:
            self.close(window, now, _State.STARTED)
        elif state != JobState.QUEUED:
            self.close(window, now, _State.DROPPED, _Dropped.GONE)
        elif not self.is_whole(window):
            self.close(window, now, _State.DROPPED, _Dropped.STALE)  # it gets another
        elif now - window.start > LATE and window.sure:
            self.close(window, now, _State.DROPPED, _Dropped.LATE)
        elif now >= window.start and not window.sure and put_off(window.pk, now + LATE):
            self.again(Window.objects.get(pk=window.pk))

    def is_whole(self, window: Kept) -> bool:
        """Whether all its nodes and cards are there and take work."""
        open_cards = set()
        for node in {hold.node_key for hold in window.holds}:
            spec = self.mirror.specs.get(node)
            if spec is None or not spec.schedulable:
                return False
            open_cards |= {card.key for card in spec.devices if card.schedulable}
        return window.cards <= open_cards

    def mend(self, window: Kept, now: datetime) -> None:
        """Some of its cards broke or left: others are kept instead, as far as there are any."""
        row = Window.objects.select_related("reservation").get(pk=window.pk)
        self.mirror.unpledge(window.key)
        found = opening.place(self, row, now) if row.reservation is not None else None
        if found is not None and row.reservation is not None:
            short = row.reservation.replicas * row.reservation.cards - sum(len(r.devices) for r in found.replicas)
            move_window(row.pk, found, short, now)
            row.refresh_from_db()
        self.keep(row)
