"""The part of the scheduler that carries out an approved plan: a few moves at once, each checked against the state.

A move stops its job and holds the new place; when the job waits again it starts there, before all others. Once a step
has begun, the place that it clears is held too, and the places of its other moves, until they have ended: else what
comes meanwhile would fill them. Rows are the truth: whoever takes over holds what they say and goes on.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import structlog

from pool.engine.fleet import Fleet, holds_of
from pool.engine.types import Hold, Placed
from pool.scheduling.defrag import told
from pool.scheduling.defrag.queries import RuleSet, rules
from pool.scheduling.defrag.windows import is_open
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import DefragMove, DefragPlan, DefragStep, JobState
from pool.scheduling.preemption import pledges
from pool.scheduling.preemption.pledges import Pledge, read_placed
from pool.scheduling.services.defrag import PLANNER
from pool.scheduling.services.moving import close_move, close_plan, close_step, node_of, start_move
from pool.scheduling.states import JOB_FINAL
from pool.scheduling.waiting import Waiting, WaitingList

log = structlog.get_logger(__name__)

LATE = timedelta(minutes=15)  # a job may take five minutes to save; then its place is given up
LOOK_S = 2.0  # between two looks for an approved plan, while there is none
_State, _Why = DefragMove.State, DefragMove.Dropped
Ripe = tuple[Waiting, Placed, tuple[Hold, ...], str]


class Mover:
    """One thread owns it, beside a mirror. Without an approved plan it costs one query every two seconds."""

    def __init__(self, mirror: FleetMirror, waiting: WaitingList, lease_name: str, epoch: int) -> None:
        self.mirror, self.waiting = mirror, waiting
        self.lease_name, self.epoch = lease_name, epoch
        self.pledges: dict[int, Pledge] = {}  # by job: places of those that move, and of those that moves make room for
        self._steps: set[int] = set()  # those that have begun
        self._due = 0.0
        for move in DefragMove.objects.filter(state=_State.MOVING).select_related("step__plan", "job__tenant"):
            self._hold_place(move)
        for step in DefragStep.objects.filter(plan__state=DefragPlan.State.RUNNING, closed_at=None):
            moves = list(step.moves.select_related("step__plan", "job__tenant"))
            if any(move.started_at is not None for move in moves):
                self._hold_step(step, moves)

    # -- in a sweep

    def settle(self, now: datetime) -> None:
        """Take in what became of the moves that were begun."""
        if not self.pledges:
            return
        moves = DefragMove.objects.filter(state=_State.MOVING).select_related("step__plan", "job__tenant")
        for move in moves.order_by("number"):
            self._settle(move, now)
        known = pledges.states_of(self.pledges)
        for job, pledge in list(self.pledges.items()):
            if not any(job in jobs for jobs in self.mirror.pledged.values()) and known.get(job) == JobState.QUEUED:
                self.mirror.pledge(job, pledge.holds)  # it was to start and was not stored

    def advance(self, now: datetime) -> None:
        """Begin what may begin now, and close what is done."""
        if not self._steps and not self.pledges and time.monotonic() < self._due:
            return
        self._due = time.monotonic() + LOOK_S
        plan = DefragPlan.objects.filter(state=DefragPlan.State.RUNNING).first()
        if plan is not None:
            self._go_on(plan, now)
        elif not DefragMove.objects.filter(state=_State.MOVING).exists():
            self._forget_steps(now)

    def unpledge_ripe(self) -> list[tuple[Waiting, Pledge]]:
        """Jobs whose new place is free; from here on it is no longer held for them, until `take`."""
        found = [(self.waiting.jobs[job], pledge) for job, pledge in self.pledges.items() if self._is_ripe(job, pledge)]
        for item, _ in found:
            self.mirror.unpledge(item.pk)
        return found

    def take(self, found: list[tuple[Waiting, Pledge]]) -> Iterator[Ripe]:
        """Those, held in the fleet from here on as any other that is about to be stored, with the plan of each."""
        for item, pledge in found:
            try:
                holds = self.mirror.apply(pledge.placed, item.request)
            except ValueError as error:  # settle holds it again, and gives up in the end
                log.warning("move_not_free", job=item.public_id, error=str(error))
                continue
            self.mirror.coming(holds)
            yield item, pledge.placed, holds, pledge.public_id

    def _is_ripe(self, job: int, pledge: Pledge) -> bool:
        free = job in self.waiting.jobs and pledges.is_free(pledge, self.mirror)
        return free and not pledges.is_stale(pledge, self.mirror)

    # -- moves that were begun

    def _settle(self, move: DefragMove, now: datetime) -> None:
        job, pledge = move.job, self.pledges.get(move.job_id)
        if job.attempt_count > move.attempt:
            self._end(move, _State.MOVED, "", now)
        elif job.state in JOB_FINAL:
            self._end(move, _State.DROPPED, _Why.CHANGED, now)
        elif pledge is None or pledges.is_stale(pledge, self.mirror):
            if job.state == JobState.QUEUED:
                self._end(move, _State.DROPPED, _Why.TAKEN, now)
        elif move.started_at is not None and now - move.started_at > LATE:
            self._end(move, _State.DROPPED, _Why.LATE, now)

    def _end(self, move: DefragMove, state: str, why: str, now: datetime) -> None:
        close_move(move, state, why, now)
        if self.pledges.pop(move.job_id, None) is not None:
            self.mirror.unpledge(move.job_id)

    # -- the next ones

    def _go_on(self, plan: DefragPlan, now: datetime) -> None:
        moves = list(
            DefragMove.objects.filter(step__plan=plan).select_related("step__plan", "job__tenant").order_by("number")
        )
        self._close_steps(plan, moves, now)
        planned = [move for move in moves if move.state == _State.PLANNED]
        moving = [move for move in moves if move.state == _State.MOVING]
        if not planned and not moving and not self._steps:
            close_plan(plan, now)
            return
        chosen = rules()
        if not planned or self._rests(plan, chosen, moves, now):
            return
        begun = stuck = 0
        for move in planned:
            if len(moving) + begun >= chosen.parallel or self._recent(moves, chosen, now) >= chosen.parallel:
                return
            verdict = self._check(move, moves)
            if not verdict and start_move(move, self.lease_name, self.epoch, now):
                begun += 1
                self.mirror.dirty.add(move.source["node"])
                move.state, move.started_at = _State.MOVING, now
                self._hold_place(move, now)
                self._hold_step(move.step, [other for other in moves if other.step_id == move.step_id])
            elif verdict != "wait":
                close_move(move, _State.DROPPED, verdict or _Why.CHANGED, now)
                return  # its step went with it: the rest is looked at anew
            else:
                stuck += 1
        if stuck == len(planned) and not moving and not begun:
            close_plan(plan, now, stale=True)  # each waits for another

    def _rests(self, plan: DefragPlan, chosen: RuleSet, moves: list[DefragMove], now: datetime) -> bool:
        """What began by itself goes on inside the windows only."""
        by_itself = plan.approved_by == PLANNER.label
        closed = by_itself and not is_open(chosen.windows, chosen.time_zone, now)
        return closed or self._recent(moves, chosen, now) >= chosen.parallel

    @staticmethod
    def _recent(moves: list[DefragMove], chosen: RuleSet, now: datetime) -> int:
        since = now - timedelta(seconds=chosen.rest_s)
        return sum(move.started_at is not None and move.started_at > since for move in moves) if chosen.rest_s else 0

    def _check(self, move: DefragMove, moves: list[DefragMove]) -> str:
        """ "": it can be made now; "wait": for another of the plan; else why it cannot be."""
        rows = self.mirror.held.get(move.source["node"], {}).values()
        holds = tuple(row.hold for row in rows if row.replica_id == move.replica_id)
        if not told.is_held(move.source, holds):
            return _Why.CHANGED
        if self._is_free(move):
            return ""
        node = node_of(move)
        open_ = [other for other in moves if other.pk != move.pk and other.state in (_State.PLANNED, _State.MOVING)]
        return "wait" if any(other.source["node"] == node for other in open_) else _Why.TAKEN

    def _is_free(self, move: DefragMove) -> bool:
        """Whether the job would fit where it is to go, were it gone from where it is."""
        node = node_of(move)
        spec = self.mirror.specs.get(node)
        if spec is None:
            return False
        pledge = self._pledge(move, move.started_at)
        if pledges.is_stale(pledge, self.mirror):
            return False
        held = [row.hold for row in self.mirror.held.get(node, {}).values() if row.replica_id != move.replica_id]
        pledged = self.mirror.pledged.get(node, {})
        promised = [hold for key, some in pledged.items() for hold in some if key != key_of(move.step_id)]
        fleet = Fleet.build([spec], [*held, *promised])
        tenant = move.job.tenant
        try:
            fleet.apply(pledge.placed, tenant.public_id, tenant.trust_key)
        except ValueError:
            return False
        return True

    # -- what is held

    def _hold_place(self, move: DefragMove, now: datetime | None = None) -> None:
        self._take(self._pledge(move, move.started_at or now))

    def _take(self, pledge: Pledge) -> None:
        self.pledges[pledge.job_id] = pledge
        self.mirror.pledge(pledge.job_id, pledge.holds)

    @staticmethod
    def _pledge(move: DefragMove, since: datetime | None) -> Pledge:
        tenant = move.job.tenant
        placed = read_placed(move.job_id, move.target)
        holds = tuple(holds_of(placed.replicas, tenant.public_id, tenant.trust_key))
        return Pledge(
            move.pk,
            move.step.plan.public_id,
            move.job_id,
            placed,
            holds,
            frozenset({move.replica_id}),
            since or move.job.queued_at,
        )

    def _hold_step(self, step: DefragStep, moves: list[DefragMove]) -> None:
        """Of shared cards only what is free: a part that somebody still has would close the card to all on it."""
        if step.pk in self._steps:
            self.mirror.unpledge(key_of(step.pk))
        self._steps.add(step.pk)
        block = tuple(holds_of(read_placed(0, step.placement).replicas, "", ""))
        holds = list(block) if _is_whole(block) else []
        for move in moves:
            place = self._pledge(move, move.started_at).holds
            if move.state == _State.PLANNED and (_is_whole(place) or self._is_free(move)):
                holds += place
        if holds:
            self.mirror.pledge(key_of(step.pk), holds)

    def _close_steps(self, plan: DefragPlan, moves: list[DefragMove], now: datetime) -> None:
        ended = {move.step_id for move in moves} - {
            move.step_id for move in moves if move.state in (_State.PLANNED, _State.MOVING)
        }
        for step in DefragStep.objects.filter(plan=plan, pk__in=ended, closed_at=None):
            self._free_step(step, now)

    def _free_step(self, step: DefragStep, now: datetime) -> None:
        close_step(step, now)
        if step.pk in self._steps:
            self._steps.discard(step.pk)
            self.mirror.unpledge(key_of(step.pk))

    def _forget_steps(self, now: datetime) -> None:
        """Of a plan that was dropped, once its last moves have ended."""
        for step in DefragStep.objects.filter(pk__in=self._steps):
            self._free_step(step, now)


def _is_whole(holds: Iterable[Hold]) -> bool:
    return all(hold.isolation == "exclusive" for hold in holds if hold.device_key is not None)


def key_of(step: int) -> int:
    """In the mirror, beside the keys of jobs and of windows of the calendar, which are small."""
    return -(1 << 40) - step
