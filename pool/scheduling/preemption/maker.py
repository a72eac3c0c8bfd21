"""Who makes room: the part of the scheduler that asks the engine for plans and sees them through."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from pool.engine.preempt import Asking, NoPlan, Plan, Roster, Rules, plan
from pool.engine.sharing import Amounts, Books, Entitlements, Order
from pool.engine.sharing.amounts import NOTHING, plus
from pool.engine.types import Hold, Placed, Policy
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.ledger.plans import Recorder
from pool.scheduling.models import JobState, Preemption, Queue
from pool.scheduling.preemption import pledges
from pool.scheduling.preemption.pledges import Pledge
from pool.scheduling.preemption.roll import Roll, seconds
from pool.scheduling.services.preempting import Room, close_preemption, make_room
from pool.scheduling.sharing import queries as rules_of
from pool.scheduling.sharing.state import Sharing
from pool.scheduling.states import JOB_ACTIVE
from pool.scheduling.waiting import Waiting

log = structlog.get_logger(__name__)

MOST = 8  # plans a sweep
BUDGET_S = 0.1  # of a sweep, for planning
LATE = timedelta(minutes=10)  # what was told to stop is given up: its grace is seconds
AGAIN_S = 30  # a refusal holds so long at most: cool-downs and minimal run times end
QUIET = Policy(explain=False)
May = Callable[[Waiting], bool]


@dataclass(frozen=True, slots=True)
class Scene:
    """What plans of one moment go by."""

    shares: Entitlements
    books: Books
    rules: Rules


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan was made on."""

    scene: Scene
    roster: Roster
    asking: Asking


class RoomMaker:
    """One thread owns it, beside a mirror. Costs one glance while nobody waits."""

    def __init__(self, sharing: Sharing, lease_name: str, epoch: int) -> None:
        """`follow` it with a journal before it plans: what it takes up of open plans is in the chain's beginning."""
        self.sharing, self.mirror, self.waiting = sharing, sharing.mirror, sharing.waiting
        self.lease_name, self.epoch = lease_name, epoch
        self.roll = Roll(sharing)
        self.pledges: dict[int, Pledge] = {}  # by job
        self._refused: dict[object, tuple[object, ...]] = {}  # class of jobs -> what it was refused on
        self._nobody = False  # whether nothing that runs may be stopped at all
        self._why: dict[object, NoPlan] = {}  # class of jobs -> why nobody is stopped for them
        # inside, cards that are reserved for the job are free to it (calendar/keeper.py)
        self.lift: Callable[[Waiting], AbstractContextManager[None]] = lambda item: nullcontext()
        for pledge in pledges.open_pledges():
            self._take(pledge)

    def follow(self, journal: Journal) -> None:
        """Plans are recorded here from now on."""
        self.journal, self.recorder = journal, Recorder(journal)

    def _take(self, pledge: Pledge) -> None:
        self.pledges[pledge.job_id] = pledge
        self.mirror.pledge(pledge.job_id, pledge.holds)

    # -- seeing plans through

    def settle(self, now: datetime) -> None:
        """Close what is done, and give up what can no longer be. Whoever was killed before finds it here."""
        if not self.pledges:
            return
        states = pledges.states_of(self.pledges)
        for job, pledge in list(self.pledges.items()):
            state = states.get(job)
            if state in JOB_ACTIVE:
                self._close(pledge, now, Preemption.State.STARTED)
            elif state != JobState.QUEUED:
                self._close(pledge, now, Preemption.State.DROPPED, Preemption.Dropped.GONE)
            elif pledges.is_stale(pledge, self.mirror):
                self._close(pledge, now, Preemption.State.DROPPED, Preemption.Dropped.STALE)
            elif now - pledge.since > LATE:
                self._close(pledge, now, Preemption.State.DROPPED, Preemption.Dropped.LATE)
            elif not any(job in jobs for jobs in self.mirror.pledged.values()):
                self.mirror.pledge(job, pledge.holds)  # it was to start and was not stored

    def ripe(self) -> Iterator[tuple[Waiting, Placed, tuple[Hold, ...], str]]:
        """Jobs whose place is free now, held in the fleet from here on as any other that is about to be stored; and
        the preemption that made it free."""
        found = [(self.waiting.jobs[job], pledge) for job, pledge in self.pledges.items() if self._is_ripe(job, pledge)]
        # all of them first: to end a pledge writes its nodes anew, without what is only about to be stored there
        for item, _ in found:
            self.mirror.unpledge(item.pk)
        for item, pledge in found:
            try:
                with self.lift(item):
                    holds = self.mirror.apply(pledge.placed, item.request)
                    self.mirror.coming(holds)
            except ValueError as error:  # by hand somebody else has it: settle holds it again, and gives up in the end
                log.warning("pledge_not_free", job=item.public_id, error=str(error))
                continue
            yield item, pledge.placed, holds, pledge.public_id

    def _is_ripe(self, job: int, pledge: Pledge) -> bool:
        free = job in self.waiting.jobs and pledges.is_free(pledge, self.mirror)
        return free and not pledges.is_stale(pledge, self.mirror)

    def _close(self, pledge: Pledge, now: datetime, state: str, dropped: str = "") -> None:
        close_preemption(pledge.pk, state, dropped, now)
        del self.pledges[pledge.job_id]
        self.mirror.unpledge(pledge.job_id)

    # -- planning

    def plan(self, now: datetime, may: May, between: Callable[[], None] = lambda: None) -> None:
        """Make room for some of those who wait, most deserving first. `may`: no other limit holds the job back."""
        if not any(job not in self.pledges for job in self.waiting.jobs):
            self._why.clear()
            self.roll.rest()
            return
        until = time.perf_counter() + BUDGET_S
        for _ in range(MOST):
            # what was placed or has ended meanwhile counts too
            self._nobody = not self.roll.sync(self._leaving())
            if self._nobody or not self._plan_one(now, may, until):
                return
            between()

    def why_nobody(self, item: Waiting) -> NoPlan | None:
        """Why nobody is stopped for a job, as far as it was asked."""
        if self._nobody:
            return NoPlan(item.pk, "no_victims")
        return self._why.get(_class_of(item))

    def running(self) -> Roster:
        """All that runs and is not leaving, as of now."""
        self.roll.sync(self._leaving())
        return self.roll.roster

    def in_order(self) -> list[Waiting]:
        """Those who wait for room, most deserving first."""
        self.roll.sync(self._leaving())
        return list(self._in_order(self._scene()))

    def carry_out(self, item: Waiting, found: Plan, basis: "Basis", now: datetime, took_us: int) -> bool:
        """See a plan through that somebody else made on what runs now, with rights of its own. Whether it was begun."""
        scene = self._scene()
        return self._carry_out(scene, item, found, now, took_us, basis)

    def _leaving(self) -> set[int]:
        return {replica for pledge in self.pledges.values() for replica in pledge.leaving}

    def _plan_one(self, now: datetime, may: May, until: float) -> bool:
        scene, asked = self._scene(), False
        for item in self._in_order(scene):
            if asked and time.perf_counter() > until:  # one each sweep, however slow the machine is
                return False
            mark = (self.mirror.fleet.version, self.roll.version, seconds(now) // AGAIN_S, len(self.waiting))
            key = _class_of(item)
            if self._refused.get(key) == mark or not may(item):
                continue
            began, asked = time.perf_counter_ns(), True
            found = self._ask(scene, item, now)
            if isinstance(found, NoPlan):
                self._refused[key] = mark
                self._why[key] = found
            elif self._carry_out(scene, item, found, now, (time.perf_counter_ns() - began) // 1000):
                return True
        return False

    def _scene(self) -> Scene:
        tree, rules = self.sharing.tree(), rules_of.rules()
        books = self.roll.books(tree)
        for job in self.pledges:
            if job in self.waiting.jobs:
                item = self.waiting.jobs[job]
                books.add(self.sharing.leaf(item), self._amounts(self.pledges[job]), 1, item.preemptible)
        reclaim_to = "quota" if rules.reclaim_to == "quota" else "fair_share"
        engine = Rules(rules.cooldown_s, reclaim_to, rules.within_quota)  # type: ignore[arg-type]
        return Scene(self.sharing.entitlements(tree), books, engine)

    def _amounts(self, pledge: Pledge) -> Amounts:
        total = NOTHING
        for hold in pledge.holds:
            total = plus(total, self.mirror.holdings.amounts(hold))
        return total

    def _in_order(self, scene: Scene) -> Iterator[Waiting]:
        lines: dict[int, list[Waiting]] = {}
        for item in self.waiting:
            queue = self.waiting.queues.get(item.queue_id)
            if item.pk not in self.pledges and queue is not None and queue.state != Queue.State.HELD:
                lines.setdefault(self.sharing.leaf(item), []).append(item)
        order = Order(scene.shares, scene.books)
        for leaf, line in lines.items():
            order.wait(leaf, len(line))
        for leaf in list(order.turns()):
            yield from lines[leaf]

    def _asking(self, item: Waiting) -> Asking:
        return Asking(item.request, self.sharing.leaf(item), item.priority, self.sharing.asks(item), item.preemptible)

    def _ask(self, scene: Scene, item: Waiting, now: datetime) -> Plan | NoPlan:
        fleet, roster, asking = self.mirror.fleet, self.roll.roster, self._asking(item)
        return plan(fleet, scene.shares, scene.books, roster, asking, seconds(now), scene.rules, QUIET)

    def _carry_out(
        self, scene: Scene, item: Waiting, found: Plan, now: datetime, took_us: int, basis: "Basis | None" = None
    ) -> bool:
        if not found.victims:
            return False
        room = Room(
            job=item,
            plan=found,
            running={victim.job_key: self.roll.roster.jobs[victim.job_key] for victim in found.victims},
            shares=self._told(scene, item, found),
            snapshot=self.journal.mark(),
            duration_us=took_us,
            lent=basis is not None,
        )
        on = basis or Basis(scene, self.roll.roster, self._asking(item))
        rights = on.scene
        told, jobs = self.recorder.record(
            rights.shares, rights.books, on.roster, on.asking, seconds(now), rights.rules, found
        )
        row = make_room(room, self.lease_name, self.epoch, now, self.journal, told)
        if row is not None:
            self.recorder.stored(jobs)
        # whether or not it came to pass: who was to go is looked at again
        self.mirror.holdings.touched |= {victim.job_key for victim in found.victims}
        self.mirror.dirty |= {hold.node_key for job in room.running.values() for r in job.replicas for hold in r.holds}
        if row is not None:
            self._take(pledges.pledge_of(row, item.request.tenant, item.request.trust_group))
        return row is not None

    def _told(self, scene: Scene, item: Waiting, found: Plan) -> dict[str, dict[str, int]]:
        """By queue: what it is entitled to, held before and holds after, in basis points of a reference card."""
        leaf = self.sharing.leaf(item)
        change: dict[int, Amounts] = {leaf: self.sharing.asks(item)}
        for victim in found.victims:
            gone = set(victim.replicas)
            job = self.roll.roster.jobs[victim.job_key]
            for replica in job.replicas:
                if (replica.role, replica.rank) in gone:
                    change[job.queue] = plus(change.get(job.queue, NOTHING), replica.amounts, -1)
        return {str(key // 2): _line(scene, key, amounts) for key, amounts in change.items()}


def _class_of(item: Waiting) -> object:
    """Jobs of one class fare alike."""
    return (item.queue_id, item.priority, item.preemptible, item.class_key(True))


def _line(scene: Scene, leaf: int, change: Amounts) -> dict[str, int]:
    used = scene.books.used[leaf][0]
    told = {"entitled": scene.shares.of(leaf)[0], "before": used, "after": used + change[0]}
    return {name: units // 100 for name, units in told.items()}
