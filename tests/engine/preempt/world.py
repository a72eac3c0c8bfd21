"""A pool in miniature: queues, cards, jobs that run and wait, and a scheduler of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, decide, holds_of
from pool.engine.preempt import Asking, NoPlan, Plan, Roster, Rules, Running, RunningReplica, plan
from pool.engine.sharing import Amounts, Books, Entitlements, Order, Tree, Weights, asked, entitlements, held
from pool.engine.sharing.amounts import plus

QUIET = Policy(explain=False)


@dataclass(slots=True)
class Work:
    """A job as its owner wrote it."""

    job: JobRequest
    queue: int
    priority: int = 50
    more: dict[str, Any] = field(default_factory=dict)  # for Running


class World:
    """Jobs wait in the order in which they are submitted."""

    def __init__(self, nodes: Sequence[NodeSpec], tree: Tree, rules: Rules | None = None) -> None:
        self.fleet, self.tree, self.rules = Fleet.build(nodes), tree, rules or Rules(cooldown_s=0)
        self.model_of = {card.key: card.model for node in nodes for card in node.devices}
        self.weights = Weights()
        self.books, self.roster = Books(tree), Roster()
        self.work: dict[int, Work] = {}
        self.waiting: list[int] = []
        self.now_s, self.evictions = 1_000, 0
        self.log: list[str] = []

    def submit(self, key: int, queue: int, job: JobRequest, priority: int = 50, **more: Any) -> None:
        self.work[key] = Work(replace(job, key=key), queue, priority, more)
        self.waiting.append(key)

    def amounts(self, key: int, whole: bool = False) -> Amounts:
        return asked(self.work[key].job, self.fleet.kinds.all, self.weights, whole)

    def shares(self) -> Entitlements:
        demand: dict[int, Amounts] = {}
        for key, work in self.work.items():
            demand[work.queue] = plus(demand.get(work.queue, (0, 0, 0, 0)), self.amounts(key, whole=True))
        return entitlements(self.tree, demand)

    def asking(self, key: int) -> Asking:
        work = self.work[key]
        preemptible = work.more.get("preemptible", True)
        return Asking(work.job, work.queue, work.priority, self.amounts(key), preemptible)

    def plan(self, key: int) -> Plan | NoPlan:
        return plan(self.fleet, self.shares(), self.books, self.roster, self.asking(key), self.now_s, self.rules, QUIET)

    def start(self, key: int, placed: Placed) -> None:
        """It runs from now on, where the decision says."""
        work = self.work[key]
        self.now_s += 1
        self.fleet.apply(placed, work.job.tenant, work.job.trust_group)
        replicas = []
        for replica in placed.replicas:
            holds = tuple(holds_of([replica], work.job.tenant, work.job.trust_group))
            replicas.append(RunningReplica(replica.role, replica.rank, held(holds, self.model_of, self.weights), holds))
        running = Running(
            key=key,
            queue=work.queue,
            priority=work.priority,
            started_s=self.now_s,
            replicas=tuple(replicas),
            minimum=work.job.min_member,
            role_minimums=tuple((role.name, role.min_replicas) for role in work.job.roles),
            **work.more,
        )
        self.roster.add(running)
        self.books.add(work.queue, running.amounts, 1, running.preemptible)
        self.waiting.remove(key)
        self.log.append(f"start {key}")

    def evict(self, key: int, replicas: Sequence[tuple[str, int]] | None = None) -> None:
        """All of a job, or some of its replicas."""
        running = self.roster.jobs[key]
        gone = [r for r in running.replicas if replicas is None or (r.role, r.rank) in replicas]
        for replica in gone:
            for hold in replica.holds:
                assert self.fleet.release(hold)
            self.books.add(running.queue, replica.amounts, -1, running.preemptible)
        left = tuple(r for r in running.replicas if r not in gone)
        if left:
            paid = self.work[key].more.get("out_of_turn", False)
            self.roster.add(replace(running, replicas=left, out_of_turn=paid))
            return
        self.roster.remove(key)
        self.waiting.append(key)
        self.waiting.sort()

    def carry_out(self, found: Plan) -> None:
        for victim in found.victims:
            if victim.out_of_turn:
                self.work[victim.job_key].more["out_of_turn"] = True
            self.evict(victim.job_key, None if victim.whole else victim.replicas)
            self.evictions += 1
            self.log.append(f"evict {victim.job_key} {'' if victim.whole else victim.replicas}")
        self.start(found.job_key, found.placed)

    def step(self) -> bool:
        """Start, or make room for, the first job in fair order that can be helped; False if none."""
        shares = self.shares()
        order = Order(shares, self.books)
        for key in self.waiting:
            order.wait(self.work[key].queue)
        turns = list(order.turns())
        for evict in (False, True):
            for queue in turns:
                mine = [key for key in self.waiting if self.work[key].queue == queue]
                for key in sorted(mine, key=lambda key: (-self.work[key].priority, key)):
                    if self._help(key, evict):
                        return True
        return False

    def _help(self, key: int, evict: bool) -> bool:
        if evict:
            found = self.plan(key)
            if isinstance(found, Plan):
                self.carry_out(found)
                return True
            return False
        work = self.work[key]
        if self.books.bars(work.queue, self.amounts(key)) is not None:
            return False
        decision = decide(self.fleet, self.within_limits(key), QUIET)
        if not isinstance(decision, Placed):
            return False
        self.start(key, decision)
        return True

    def within_limits(self, key: int) -> JobRequest:
        """The job with no more replicas beyond its minimum than limits allow (jobs of one role)."""
        work, (role, *others) = self.work[key], self.work[key].job.roles
        if others:
            return work.job
        least = max(1, work.job.min_member, role.min_replicas)
        one = replace(work.job, roles=(replace(role, replicas=1, min_replicas=1),), min_member=1)
        each = asked(one, self.fleet.kinds.all, self.weights)
        more = self.books.room(work.queue, self.amounts(key), each, role.replicas - least)
        return replace(work.job, roles=(replace(role, replicas=least + more),))

    def settle(self, most: int = 500) -> int:
        """Run to the fixed point; the steps it took. AssertionError if there is none in sight."""
        for steps in range(most):
            if not self.step():
                return steps
        raise AssertionError(f"no fixed point after {most} steps: {self.log[-12:]}")

    def running(self, queue: int) -> list[int]:
        return sorted(key for key, job in self.roster.jobs.items() if job.queue == queue)

    def cards(self, queue: int) -> float:
        """Reference cards that a queue holds."""
        return self.books.used[queue][0] / 1_000_000
