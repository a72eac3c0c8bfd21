"""Finding the moves that let a refused job in.

The nodes where least has to leave are looked at closely: on each, the cheapest set of movables
whose leaving makes room. The sets are tried from the cheapest up on a scratch copy of the fleet:
they leave, the job is decided, then each of them is decided again, the largest first. The first
set for which all find a place is the plan, so no cheaper one exists among those sets. A move goes
where the fleet's own rule puts it; moves do not cause further moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pool.engine.fleet import Fleet
from pool.engine.moves.candidates import nearest
from pool.engine.moves.cards import Leaving
from pool.engine.moves.carry import release_all, take_placed
from pool.engine.moves.homes import Homes
from pool.engine.moves.types import Movable, Move, MovePlan
from pool.engine.moves.victims import clear, total
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, JobRequest, Placed, Policy, ReplicaRequest
from pool.engine.vectors import vector_for

MOST_NODES: Final = 24  # looked at closely for one job
MOST_TRIES: Final = 12  # sets tried on a copy of the fleet

ByNode = Mapping[int, Sequence[Movable]]
Limits = tuple[int, int | None]  # moves, and their cost together


def plan_moves(
    fleet: Fleet,
    job: JobRequest,
    movable: ByNode,
    policy: Policy = DEFAULT,
    most: int = 8,
    most_cost: int | None = None,
) -> MovePlan | None:
    """At most ``most`` moves, of ``most_cost`` together, that admit the job, or None if none were
    found (for a large fleet the search is bounded, so None is no proof). ``movable``: see
    :func:`~pool.engine.moves.by_node`. Changes nothing; the same content gives the same plan."""
    found = _Search(fleet, job, movable, policy, (most, most_cost))
    outcome = try_place(fleet, job, policy)
    if isinstance(outcome, Placed):
        return MovePlan(outcome, (), 0, fleet.snapshot_id)
    for leaving in found.ways(outcome.request):
        tried = found.attempt(leaving)
        if tried is not None:
            return tried
    return None


class _Search:
    """One search: what was found out about movables on the way is kept for the next try."""

    def __init__(self, fleet: Fleet, job: JobRequest, movable: ByNode, policy: Policy, limits: Limits) -> None:
        self.fleet, self.job, self.movable, self.policy, self.limits = fleet, job, movable, policy, limits
        self.homes = Homes(fleet, policy)

    def ways(self, request: ReplicaRequest, without: frozenset[int] = frozenset()) -> Iterator[Leaving]:
        """Sets that make room for one replica on one node, from the cheapest up."""
        fleet = self.fleet
        task = vector_for(fleet, request, self.job.tenant, self.job.trust_group, self.policy).task
        found = []
        for row in nearest(fleet, task, MOST_NODES):
            key = fleet.nodes[row].key
            if key in without:
                continue
            able = [movable for movable in self.movable.get(key, ()) if self.homes.any_for(movable)]
            leaving = clear(fleet, row, task, able, self.limits[0])
            if leaving and self._within(leaving):
                found.append((total(leaving), len(leaving), row, leaving))
        found.sort(key=lambda way: way[:3])
        for _, _, _, leaving in found[:MOST_TRIES]:
            yield leaving

    def attempt(self, leaving: Leaving) -> MovePlan | None:
        """The plan if they leave, on a copy of the fleet. A gang goes on clearing nodes."""
        with self.fleet.scratch():
            gone = list(leaving)
            release_all(self.fleet, gone)
            outcome = try_place(self.fleet, self.job, self.policy)
            while not isinstance(outcome, Placed):
                more = self._next(outcome.request, gone)
                if not more:
                    return None
                release_all(self.fleet, more)
                gone += more
                outcome = try_place(self.fleet, self.job, self.policy)
            take_placed(self.fleet, self.job, outcome)
            moves = self._rehome(gone)
        if moves is None:
            return None
        return MovePlan(outcome, moves, sum(move.movable.cost for move in moves), self.fleet.snapshot_id)

    def _next(self, request: ReplicaRequest, gone: list[Movable]) -> Leaving:
        """The cheapest set on a node that has not been cleared yet; () if there is none."""
        cleared = frozenset(movable.node_key for movable in gone)
        if len(gone) >= self.limits[0] or self.job.roles[0].replicas + len(self.job.roles) <= 2:
            return ()  # one replica needs one node only
        more = next(self.ways(request, cleared), ())
        return more if self._within((*gone, *more)) else ()

    def _within(self, leaving: Leaving) -> bool:
        most, most_cost = self.limits
        return len(leaving) <= most and (most_cost is None or total(leaving) <= most_cost)

    def _rehome(self, gone: list[Movable]) -> tuple[Move, ...] | None:
        moves = []
        for movable in sorted(gone, key=lambda m: (*_ease(m), *m.order)):
            outcome = try_place(self.fleet, movable.job, self.policy)
            if not isinstance(outcome, Placed):
                return None
            holds = take_placed(self.fleet, movable.job, outcome)
            if set(holds) != set(movable.holds):  # else it stays where it is after all
                moves.append(Move(movable, outcome))
        return tuple(moves)


def _ease(movable: Movable) -> tuple[int, int, int]:
    """Smaller is harder to place: more compute, then memory, then CPU."""
    holds = movable.holds
    return -sum(h.share_bp for h in holds), -sum(h.memory_mib for h in holds), -movable.cpu_milli
