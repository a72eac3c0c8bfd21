"""Whether reservations that overlap can all be kept on the hardware there is."""

from __future__ import annotations

from collections.abc import Sequence

from pool.engine.fleet import Fleet
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, JobRequest, Placed, Policy
from pool.engine.validate import empty_twin


def all_fit(fleet: Fleet, jobs: Sequence[JobRequest], policy: Policy = DEFAULT) -> bool:
    """Whether all of these have a place at once on the fleet's hardware, everything free and open: the largest first.
    False may be said of a rare set that another order would fit. Changes nothing."""
    twin = empty_twin(fleet)
    with twin.scratch():
        for job in sorted(jobs, key=lambda job: (-_cards(job), job.key)):
            found = try_place(twin, job, policy)
            if not isinstance(found, Placed):
                return False
            twin.apply(found, job.tenant, job.trust_group)
    return True


def _cards(job: JobRequest) -> int:
    return sum(role.replicas * role.request.devices for role in job.roles)
