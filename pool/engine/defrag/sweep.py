"""A plan of bounded moves against fragmentation.

First the jobs that wait, in the order given: moves that admit each. Then the classes, the one
that loses most first: on a copy of the fleet every card that it could use already is closed, so
that nobody moves there, and moves are sought that clear one more; again and again, while
moves are left and each step makes the pool more useful over all classes together than it costs.
A job moves once. The steps are carried out on the copy as they are found, so each holds where
those before it are done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from pool.engine import state as s
from pool.engine.defrag.measure import measure, usable
from pool.engine.defrag.types import Budget, ClassLine, Measure, Step, Sweep, Work
from pool.engine.fleet import Fleet
from pool.engine.moves import Movable, Move, MovePlan, by_node, plan_moves
from pool.engine.moves.carry import release_all, take_placed
from pool.engine.types import JobRequest, Policy, RoleRequest

QUIET: Final = Policy(explain=False)
NOBODY: Final = -1  # key of the job that stands for a block


def plan_sweep(
    fleet: Fleet,
    works: Sequence[Work],
    movables: Iterable[Movable],
    budget: Budget,
    waiting: Sequence[JobRequest] = (),
    groups: Mapping[int, object] | None = None,
) -> Sweep:
    """A plan for the fleet as it is; changes nothing. ``groups``: of the movables' jobs by key. The
    same content gives the same plan, whatever the order of the movables."""
    before = measure(fleet, works)
    with fleet.scratch():
        course = _Course(fleet, works, movables, budget, groups or {})
        for job in waiting:
            course.admit(job)
        _classes(course, before)
        after = measure(fleet, works)
    return Sweep(tuple(course.steps), before, after, fleet.snapshot_id)


def _classes(course: _Course, before: Measure) -> None:
    """Each class in turn, with moves in proportion to what it loses."""
    lines = [line for line in before.lines if _is_target(line) and _loss(line)]
    lines.sort(key=lambda line: (-_loss(line), -_size(line.work)))
    total = sum(_loss(line) for line in lines)
    for line in lines:
        left = course.budget.moves - course.moved
        course.clear(line.work, -(-left * _loss(line) // total))
        total -= _loss(line)


def _is_target(line: ClassLine) -> bool:
    """Work on several cards, whole cards, or slices: what small work can be in the way of."""
    request = line.work.request
    if not line.unusable or request.asks or not request.devices:
        return False
    return request.devices > 1 or request.whole or bool(request.mig_profile)


def _loss(line: ClassLine) -> int:
    return line.work.weight * line.unusable


def _size(work: Work) -> int:
    return work.request.devices * work.request.share_bp


class _Course:
    """What was decided so far; the fleet in scratch is as it will be then."""

    def __init__(
        self,
        fleet: Fleet,
        works: Sequence[Work],
        movables: Iterable[Movable],
        budget: Budget,
        groups: Mapping[int, object],
    ) -> None:
        self.fleet, self.works, self.budget, self.groups = fleet, works, budget, groups
        self.on = by_node(movables)
        self.steps: list[Step] = []
        self.moved = self.spent = 0
        self.by_group: Counter[object] = Counter()

    def admit(self, job: JobRequest) -> None:
        """Moves for a job that waits; its place is kept for it from here on."""
        plan = self._plan(job, self.budget.moves - self.moved)
        if plan is not None:
            freed = sum(part.share_bp for replica in plan.placed.replicas for part in replica.devices)
            self._carry_out(Work(job.roles[0].request, waiting=job.roles[0].replicas), plan, job.key, freed)
            take_placed(self.fleet, job, plan.placed)

    def clear(self, work: Work, most: int) -> None:
        """Blocks for a class, with at most so many moves."""
        until = self.moved + most
        for plan in self._blocks(work, most):
            if self.moved + len(plan.moves) > until:
                return
            if not self._worth(plan):
                continue
            freed = sum(part.share_bp for replica in plan.placed.replicas for part in replica.devices)
            self._carry_out(work, plan, None, freed)

    def _blocks(self, work: Work, most: int) -> list[MovePlan]:
        """Plans one after the other, found beside all blocks that are there or were cleared before."""
        found: list[MovePlan] = []
        block = _block(work)
        with self.fleet.scratch():
            _reserve(self.fleet, work)
            count, spent, groups = 0, self.spent, Counter(self.by_group)
            on = {node: list(some) for node, some in self.on.items()}
            while count < most:
                plan = plan_moves(self.fleet, block, on, QUIET, min(self.budget.block, most - count), self._left(spent))
                if plan is None or not plan.moves or not self._fair(plan, groups):
                    break
                release_all(self.fleet, [move.movable for move in plan.moves])
                take_placed(self.fleet, block, plan.placed)
                for move in plan.moves:
                    take_placed(self.fleet, move.movable.job, move.to)
                    on[move.movable.node_key].remove(move.movable)
                found.append(plan)
                count, spent = count + len(plan.moves), spent + plan.cost
        return found

    def _plan(self, job: JobRequest, most: int) -> MovePlan | None:
        if most <= 0:
            return None
        plan = plan_moves(self.fleet, job, self.on, QUIET, min(self.budget.block, most), self._left(self.spent))
        return plan if plan and plan.moves and self._fair(plan, Counter(self.by_group)) else None

    def _left(self, spent: int) -> int | None:
        return None if self.budget.cost is None else self.budget.cost - spent

    def _fair(self, plan: MovePlan, groups: Counter[object]) -> bool:
        """Whether no group moves more often than it may; counts the plan in."""
        if self.budget.per_group is None:
            return True
        groups.update(self.groups.get(move.movable.job.key) for move in plan.moves)
        return all(count <= self.budget.per_group for group, count in groups.items() if group is not None)

    def _worth(self, plan: MovePlan) -> bool:
        """Whether the classes together can use more of the nodes concerned when it is done."""
        keys = {move.movable.node_key for move in plan.moves} | {move.to_node for move in plan.moves}
        rows = np.array(sorted(self.fleet.row_of[key] for key in keys), dtype=np.int64)
        before = measure(self.fleet, self.works, rows)
        with self.fleet.scratch():
            _move(self.fleet, plan.moves)
            after = measure(self.fleet, self.works, rows)
        return _lost(after) < _lost(before)

    def _carry_out(self, work: Work, plan: MovePlan, job: int | None, freed: int) -> None:
        _move(self.fleet, plan.moves)
        for move in plan.moves:
            self.on[move.movable.node_key].remove(move.movable)
            self.by_group[self.groups.get(move.movable.job.key)] += 1
        self.steps.append(Step(work, plan.moves, plan.placed, job, freed, plan.cost))
        self.moved += len(plan.moves)
        self.spent += plan.cost


def _move(fleet: Fleet, moves: Sequence[Move]) -> None:
    release_all(fleet, [move.movable for move in moves])
    for move in moves:
        take_placed(fleet, move.movable.job, move.to)


def _lost(found: Measure) -> int:
    return sum(line.work.weight * line.unusable for line in found.lines) + found.stranded


def _block(work: Work) -> JobRequest:
    return JobRequest(NOBODY, work.tenant, work.trust_group, (RoleRequest("block", work.request, 1, 1),), 1)


def _reserve(fleet: Fleet, work: Work) -> None:
    """Close the cards that the class could use now, and keep the CPU and memory for it: in scratch."""
    used, replicas = usable(fleet, work)
    device, node = fleet.state.device, fleet.state.node
    device[s.OPEN][used > 0] = 0
    node[s.CPU] -= replicas * work.request.cpu_milli
    node[s.HOST] -= replicas * work.request.host_memory_mib
    fleet.touch(replicas.nonzero()[0].tolist())
