"""One pass after another: fold in what changed, decide in order, commit in batches.

The loop owns the fleet in memory. Nothing relies on a message: hints make it quick, and the one-second sweep
finds the same work without them.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError

from console.common.clock import Clock
from console.common.clock import now as wall_clock
from pool.engine.decide import decide
from pool.engine.part import part_of
from pool.engine.sharing import Books
from pool.engine.types import Hold, Placed, Policy
from pool.scheduling import wake
from pool.scheduling.calendar.entering import place
from pool.scheduling.calendar.keeper import Calendar
from pool.scheduling.defrag.mover import Mover
from pool.scheduling.elastic import within
from pool.scheduling.facts import Facts
from pool.scheduling.ledger import inputs
from pool.scheduling.ledger.codec import digest_of
from pool.scheduling.limits import Limit, Usage, active_jobs, first_biting, limits_of, wanted_of
from pool.scheduling.mirror import FleetMirror, Held, hold_of
from pool.scheduling.mix import observed_mix
from pool.scheduling.models import Queue
from pool.scheduling.outlook.keeper import Keeper
from pool.scheduling.preemption.maker import May, RoomMaker
from pool.scheduling.services.ledger import begin, write_down
from pool.scheduling.services.placement import Choice, Committed, Placement, commit_refusals, nodes_of
from pool.scheduling.services.stopping import expire_jobs
from pool.scheduling.sharing.barred import limit_of
from pool.scheduling.sharing.budgets import Budgets
from pool.scheduling.sharing.published import Teller
from pool.scheduling.sharing.queries import rules
from pool.scheduling.sharing.state import Sharing, read_weights
from pool.scheduling.sharing.turns import Turns
from pool.scheduling.waiting import Waiting, WaitingList

log = structlog.get_logger(__name__)

BATCH = 256  # decisions a commit, at most
FIRST_S = 0.02  # the first commit of a pass comes after this, so that the first job does not wait for the last
LATER_S = 0.05  # the later ones share more
RESYNC_S = 600.0
TELL_S = 1.0
PART = 3  # nodes that a sweep reads before it looks up: two to four milliseconds
_QUICK = Policy(explain=False)


class Scheduler:
    """`lease_name` and `epoch` fence every commit; a new holder makes a new Scheduler."""

    def __init__(self, epoch: int, clock: Clock = wall_clock) -> None:
        self.lease_name = lease_name()
        self.epoch = epoch
        self.clock = clock
        self.waiting = WaitingList(clock)
        self.refused: dict[object, tuple[int, int]] = {}  # class of jobs -> state of the pool in which it was refused
        self._arrivals = 0  # placements of work with labels: it may be what others must stand near
        self.batch = BATCH
        self._sent: tuple[Placement, list[tuple[Choice, tuple[Hold, ...]]]] | None = None
        self._started: set[int] = set()  # nodes with commands that no gateway was told of yet
        self._told_at = 0.0
        self._left = False  # whether the last pass refused somebody
        self.teller = Teller()
        self.waiting.load_queues()
        self.resync()

    def sweep(self, between: Callable[[], None] = lambda: None) -> None:
        """Everything from the database: node versions, queued jobs, durations, and a full pass.

        `between` is called between its parts, so that a new job need not wait for all of them.
        """
        now = self.clock()
        expire_jobs(now)
        between()
        if time.monotonic() - self.read_at > RESYNC_S or read_weights() != self.mirror.holdings.weights:
            self.resync()
        changed = sorted(self.mirror.changed())
        between()
        for start in range(0, len(changed), PART):
            self.facts.renew(self.mirror.sync_nodes(changed[start : start + PART]))
            between()
        self.waiting.reconcile()
        self._look_back(now)
        between()
        self.rooms.settle(now)
        self.mover.settle(now)
        self.calendar.settle(now)
        self.run_pass(self.waiting)
        between()
        self.calendar.plan(now, self._may_be_made_room_for())
        between()
        self.rooms.plan(now, self._may_be_made_room_for(), between)
        self.mover.advance(now)
        self.explain()
        between()
        self.teller.tell(self.sharing, now)
        self.outlook.work(now, self._usage, between)

    def resync(self) -> None:
        """Read the whole fleet and the typical mix anew: repairs whatever drifted, for whatever reason."""
        self.mirror = FleetMirror(observed_mix(), read_weights())
        self.mirror.sync()
        self.sharing = Sharing(self.mirror, self.waiting)
        self.budgets = Budgets(self.sharing)
        self.rooms = RoomMaker(self.sharing, self.lease_name, self.epoch)
        self.mover = Mover(self.mirror, self.waiting, self.lease_name, self.epoch)
        self.outlook = Keeper(self.sharing, self.rooms, self.clock)
        self.calendar = Calendar(self.sharing, self.rooms)
        self.facts = Facts()
        self.facts.read_all()
        self.journal = self.mirror.journal = begin(self.mirror.fleet, self.epoch, self.clock())
        self.rooms.follow(self.journal)
        self.refused.clear()
        self.read_at = time.monotonic()
        self._look_back(self.clock())

    def _look_back(self, now: datetime) -> None:
        """What was used in the past, every few seconds and minutes."""
        self.budgets.refresh(now)
        self.sharing.past.refresh(rules, now, self.mirror.holdings.weights)

    def react(self, job_ids: Iterable[int], node_ids: Iterable[int], queues: bool = False) -> None:
        """What a wake-up names: new jobs try at once; changed nodes or queues let everyone who waits try again.

        Changed nodes are read only when somebody is left waiting: until then the fleet in memory knows of less
        room than there is, which is safe, and the sweep reads them many at a time.
        """
        jobs = set(job_ids)
        self.mirror.dirty |= set(node_ids) & self.mirror.versions.keys()
        self.mirror.holdings.touched |= jobs  # their priority may be another
        self.waiting.load(jobs)
        if queues:
            self.waiting.load_queues()
            self.budgets.forget()
            self.sharing.past.forget()
            self.calendar.forget()
        else:
            self.run_pass([self.waiting.jobs[pk] for pk in jobs if pk in self.waiting.jobs])
        if len(self.waiting) and (self.mirror.dirty or queues):
            self.facts.renew(self.mirror.sync_nodes(self.mirror.dirty & self.mirror.versions.keys()))
            self.run_pass(self.waiting)

    def run_pass(self, candidates: Iterable[Waiting]) -> None:
        """Decide on each candidate once, committing as batches fill."""
        self._told_at = time.monotonic()
        usage = self._usage()
        batch: list[tuple[Choice, tuple[Hold, ...]]] = []
        began, span = time.perf_counter(), FIRST_S
        self._start_ripe(usage)
        turns = Turns(self.sharing, list(candidates), self._left or self.batch == 1)
        self._left = False
        for item in turns:
            if not self._may_try(item, usage, turns):
                continue
            choice, holds = self._place(item, usage)
            if not isinstance(choice.outcome, Placed):
                self._left = True
                if turns.disputed:
                    self._take_back(batch, usage, turns)
                    turns.line_up([*(choice.job for choice, _ in batch), item])
                    batch = []
                else:
                    self.refused[self._class_of(item)] = self._state_for(item)
                continue
            self._arrivals += bool(item.request.labels)
            before = usage.queue_bp.get(item.queue_id, 0)
            self._count(item, holds, usage)
            choice.inputs.update(turns.told(item), before=before, after=usage.queue_bp[item.queue_id])
            turns.placed(item, holds)
            batch.append((choice, holds))
            if not turns.disputed and (len(batch) >= self.batch or time.perf_counter() - began > span):
                self._commit(batch)
                batch, began, span = [], time.perf_counter(), LATER_S
        self._commit(batch, at_once=True)
        self._settle()
        self._tell()

    def _place(self, item: Waiting, usage: Usage) -> tuple[Choice, tuple[Hold, ...]]:
        return place(self.calendar, self.mirror, item, self.clock(), lambda only: self._decide(item, usage, only=only))

    def _start_ripe(self, usage: Usage) -> None:
        """Those for whom room was made, and those that move, come first."""
        batch: list[tuple[Choice, tuple[Hold, ...]]] = []
        for item, placed, holds, source in self._ripe():
            before = usage.queue_bp.get(item.queue_id, 0)
            self._count(item, holds, usage)
            told = {**source, "before": before, "after": usage.queue_bp[item.queue_id]}
            batch.append((Choice(item, placed, self.journal.mark(), 0, told, digest_of(placed.replicas)), holds))
        self._commit(batch)

    def _ripe(self) -> Iterator[tuple[Waiting, Placed, tuple[Hold, ...], dict[str, Any]]]:
        moving = self.mover.unpledge_ripe()
        for item, placed, holds, plan in self.rooms.ripe():
            yield item, placed, holds, {"preemption": plan, "order": inputs.ROOM}
        for item, placed, holds, plan in self.mover.take(moving):
            yield item, placed, holds, {"move": plan, "order": inputs.MOVE}

    def _may_be_made_room_for(self) -> May:
        """Limits that stopping others would not lift."""
        usage = self._usage()
        return lambda item: (
            item.pk not in self.mover.pledges
            and not any(
                limit.bites(wanted_of(limit, item.total_share_bp))
                for limit in self._limits(item, usage)
                if (limit.scope, limit.kind) != ("queue", "share_bp")
            )
            and self.budgets.bars(item, self.clock()) is None
        )

    def _take_back(self, batch: list[tuple[Choice, tuple[Hold, ...]]], usage: Usage, turns: Turns) -> None:
        """What was decided and not sent: it is decided anew, in another order."""
        for choice, holds in batch:
            self.mirror.coming(holds, -1)
            self.mirror.release(holds)
            self._count(choice.job, holds, usage, -1)
            turns.placed(choice.job, holds, -1)

    def explain(self, most: int = 4) -> None:
        """Write down why jobs wait, where that is new; a few each sweep, since reasons cost more than verdicts."""
        usage = self._usage()
        books = self.sharing.books() if self.sharing.layout.binds and len(self.waiting) else None
        choices: list[Choice] = []
        for item in self.waiting:
            if len(choices) >= most:
                break
            if item.refused_at == self.mirror.generation:
                continue
            item.refused_at = self.mirror.generation
            choice = self._explain(item, usage, books)
            digest = str(choice.outcome)
            if isinstance(choice.outcome, Placed) or digest == item.explained:
                continue
            item.explained = digest
            choices.append(choice)
        if choices:
            commit_refusals(choices, self.epoch, self.clock(), self.journal)
        elif self.journal.is_full:
            write_down(self.journal)

    def _explain(self, item: Waiting, usage: Usage, books: Books | None) -> Choice:
        limits = self._limits(item, usage)
        limit = first_biting(limits, item.total_share_bp)
        if limit is not None:
            told = inputs.of_limits(limits, item.total_share_bp)
            return Choice(item, limit, self.journal.mark(), 0, told, digest_of(limit))
        if (limit := self.budgets.bars(item, self.clock())) is not None:
            asked = self.budgets.asked(item, limit, self.clock())
            told = inputs.of_limits([limit], asked)
            return Choice(item, limit, self.journal.mark(), 0, told, digest_of(limit))
        barred = self.sharing.bars(books, item) if books is not None else None
        if books is None or barred is None:
            return self._decide(item, usage, Policy())
        told = inputs.of_tree(self.journal, self.sharing, books, item)
        limit = limit_of(barred, item, self.waiting.queues)
        return Choice(item, limit, self.journal.mark(), 0, told, digest_of(barred))

    def _may_try(self, item: Waiting, usage: Usage, turns: Turns) -> bool:
        if self.waiting.queues[item.queue_id].state == Queue.State.HELD:
            return False
        if item.pk in self.rooms.pledges or item.pk in self.mover.pledges:
            return False
        if self.refused.get(self._class_of(item)) == self._state_for(item):
            return False
        limit = first_biting(self._limits(item, usage), item.total_share_bp) or turns.bars(item)
        return limit is None and self.budgets.bars(item, self.clock()) is None

    def _class_of(self, item: Waiting) -> object:
        key = item.class_key(self.mirror.fleet.labelled.repels)
        return (key, self.calendar.keys_for(item, self.clock())) if self.calendar.active else key

    def _state_for(self, item: Waiting) -> tuple[int, int]:
        """What must change before a refusal of this job is worth another try."""
        return self.mirror.generation, self._arrivals if item.attracted else 0

    def _decide(
        self, item: Waiting, usage: Usage, policy: Policy = _QUICK, only: frozenset[int] = frozenset()
    ) -> Choice:
        """`only`: on these cards."""
        began = time.perf_counter_ns()
        asked = within(item.request, self._limits(item, usage)) if item.elastic else item.request
        fleet = part_of(self.mirror.fleet, only) if only else self.mirror.fleet
        outcome = decide(fleet, asked, policy)
        took = (time.perf_counter_ns() - began) // 1000
        told = {"request": self.journal.request(asked), "explain": policy.explain, "order": inputs.SWEEP}
        if only:
            told["within"] = sorted(only)
        return Choice(item, outcome, self.journal.mark(), took, told, digest_of(outcome))

    def _usage(self) -> Usage:
        queues, tenants, projects = active_jobs() if self._counts_jobs() else ({}, {}, {})
        mirror = self.mirror
        held = dict(mirror.queue_bp), dict(mirror.tenant_bp)
        return Usage(*held, queues, tenants, dict(mirror.project_bp), projects)

    def _counts_jobs(self) -> bool:
        """Whether any limit asks for the number of running jobs: counting them costs a query."""
        return any(
            queue.limit_running_jobs is not None or queue.tenant.limit_running_jobs is not None
            for queue in self.waiting.queues.values()
        ) or any(project.limit_running_jobs is not None for project in self.waiting.projects.values())

    def _limits(self, item: Waiting, usage: Usage) -> list[Limit]:
        return limits_of(self.waiting.queues[item.queue_id], usage, self.waiting.projects.get(item.project_id))

    def _count(self, item: Waiting, holds: tuple[Hold, ...], usage: Usage, sign: int = 1) -> None:
        share = sign * sum(hold.share_bp for hold in holds)
        usage.count(item.queue_id, item.tenant_id, item.project_id, share, sign)
        self.budgets.count(item, holds, self.clock(), sign)

    def _commit(self, batch: list[tuple[Choice, tuple[Hold, ...]]], at_once: bool = False) -> None:
        """Sends a batch to the database, which stores it while the next one is decided if there is one."""
        if not batch:
            return
        choices = [choice for choice, _ in batch]
        if self.facts.lacks(nodes_of(choices)):
            self._settle()  # what follows asks the database
        placement = Placement(choices, self.facts, self.lease_name, self.epoch, self.clock(), self.journal)
        self._settle()
        if self._guarded(batch, lambda: placement.send(at_once)):
            self._sent = (placement, batch)

    def _settle(self) -> None:
        """Waits for the batch that is on its way, and takes in what became of it."""
        if self._sent is None:
            return
        (placement, batch), self._sent = self._sent, None
        if not self._guarded(batch, placement.finish):
            return
        done = placement.done
        self._started |= done.versions.keys()
        if time.monotonic() > self._told_at + TELL_S:
            self._tell()
        self.batch = BATCH
        self._forget([pair for pair in batch if pair[0].job.pk not in done.job_ids])
        self._learn(batch, done)
        for choice, _ in batch:
            self.waiting.drop(choice.job.pk)

    def _tell(self) -> None:
        """Starting what was placed needs the cores that placing needs: in a long pass it waits, but not for long."""
        wake.gateways(self._started)
        self._started, self._told_at = set(), time.monotonic()

    def _guarded(self, batch: list[tuple[Choice, tuple[Hold, ...]]], step: Callable[[], None]) -> bool:
        """Runs a step of this batch's placement; whether it went well. What was not stored is not held in memory."""
        try:
            step()
        except IntegrityError as error:
            # memory and database differ: believe the database, and find the culprit one by one
            log.warning("placement_refused_by_database", jobs=len(batch), error=str(error))
            self._forget(batch)
            self.batch = 1 if self.batch > 1 else BATCH
            return False
        except BaseException:
            self._forget(batch)
            raise
        return True

    def _forget(self, batch: list[tuple[Choice, tuple[Hold, ...]]]) -> None:
        """Give back in memory what was not made durable, and read those nodes again."""
        for _, holds in batch:
            self.mirror.coming(holds, -1)
            self.mirror.release(holds)
            self.mirror.dirty |= {hold.node_key for hold in holds}

    def _learn(self, batch: list[tuple[Choice, tuple[Hold, ...]]], done: Committed) -> None:
        """Tell the mirror what this process has just made durable: the fleet holds it already."""
        jobs = {choice.job.pk: choice.job for choice, _ in batch}
        by_node: dict[int, dict[int, Held]] = {}
        for row in done.allocations:
            job = jobs[row.job_id]
            by_node.setdefault(row.node_id, {})[row.pk] = Held(
                hold_of(row, job.request), job.queue_id, job.tenant_id, job.pk, row.replica.pk, job.project_id
            )
        for node, held in by_node.items():
            self.mirror.committed(node, held, done.versions[node])
        for choice, holds in batch:
            if choice.job.pk in done.job_ids:
                self.mirror.coming(holds, -1)


def lease_name() -> str:
    """One fenced scheduler a cell."""
    return f"scheduler.{settings.WEIR_CELL}"
