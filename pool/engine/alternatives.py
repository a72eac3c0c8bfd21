"""The nodes that a placement was chosen from, best first: what a decision page shows beside the winner."""

from __future__ import annotations

from pool.engine.fleet import Fleet
from pool.engine.placing import parts_of
from pool.engine.rows import ranked
from pool.engine.types import JobRequest, Policy, ScoreParts
from pool.engine.vectors import vector_for


def alternatives(fleet: Fleet, job: JobRequest, policy: Policy, most: int = 6) -> tuple[ScoreParts, ...]:
    """The first ``most`` nodes by score for the job's first replica, where neighbours let it stand. Of a gang the
    domain goes before the score, so its own node need not be among them."""
    vector = vector_for(fleet, job.roles[0].request, job.tenant, job.trust_group, policy)
    return tuple(parts_of(fleet, vector, row) for row in ranked(fleet, job, vector, most))
