"""Carrying out a plan on a fleet: all who move leave, the job comes in, they take their new places."""

from __future__ import annotations

from collections.abc import Iterable

from pool.engine.fleet import Fleet, holds_of
from pool.engine.moves.types import Movable, MovePlan
from pool.engine.neighbours import repels_of
from pool.engine.types import Hold, JobRequest, Placed


def carry_out(fleet: Fleet, job: JobRequest, plan: MovePlan) -> tuple[Hold, ...]:
    """Do it, and return the job's holds; those of each move are :func:`taken_by` it.
    ValueError if the plan is stale; then nothing is changed."""
    if plan.snapshot_id != fleet.snapshot_id:
        raise ValueError("snapshot_id: the fleet is no longer as it was when this plan was made; plan again")
    release_all(fleet, [move.movable for move in plan.moves])
    holds = take_placed(fleet, job, plan.placed)
    for move in plan.moves:
        take_placed(fleet, move.movable.job, move.to)
    return holds


def taken_by(job: JobRequest, placed: Placed) -> tuple[Hold, ...]:
    """What a job holds where it was placed."""
    return tuple(holds_of(placed.replicas, job.tenant, job.trust_group, job.labels, repels_of(job)))


def release_all(fleet: Fleet, movables: Iterable[Movable]) -> None:
    """Free all that these hold."""
    for movable in movables:
        for hold in movable.holds:
            fleet.release(hold)


def take_placed(fleet: Fleet, job: JobRequest, placed: Placed) -> tuple[Hold, ...]:
    """Hold what was decided for a job."""
    return fleet.apply(placed, job.tenant, job.trust_group, job.labels, repels_of(job))
