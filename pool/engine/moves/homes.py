"""Whether there is anywhere to go, asked before anybody is told to leave.

Found out on the fleet as it is. What would fit only into the room that a plan itself makes is not
seen here: such a move would mostly be a swap, and those for which nothing is free would be tried
in vain by the hundred in a full pool.
"""

from __future__ import annotations

from pool.engine.fleet import Fleet
from pool.engine.moves.types import Movable
from pool.engine.rows import best_row
from pool.engine.types import Policy, ReplicaRequest
from pool.engine.vectors import vector_for

Sort = tuple[object, ...]
Size = tuple[int, ...]


class Homes:
    """Answers for one search; good while the fleet does not change."""

    def __init__(self, fleet: Fleet, policy: Policy) -> None:
        self.fleet, self.policy = fleet, policy
        self.known: dict[tuple[ReplicaRequest, str, str], bool] = {}
        self.none: dict[Sort, list[Size]] = {}  # sizes for which there was nothing

    def any_for(self, movable: Movable) -> bool:
        """Whether another one like it would fit somewhere now."""
        job = movable.job
        key = (job.roles[0].request, job.tenant, job.trust_group)
        if key not in self.known or job.affinity or job.labels:
            self.known[key] = self._look(movable)
        return self.known[key]

    def _look(self, movable: Movable) -> bool:
        job, request = movable.job, movable.job.roles[0].request
        sort, size = _sort(request, job.tenant, job.trust_group), _size(request)
        plain = not (job.affinity or job.labels)
        if plain and any(all(a >= b for a, b in zip(size, less, strict=True)) for less in self.none.get(sort, ())):
            return False  # something smaller of its sort found nothing
        vector = vector_for(self.fleet, request, job.tenant, job.trust_group, self.policy)
        found = best_row(self.fleet, job, vector) is not None
        if plain and not found:
            self.none.setdefault(sort, []).append(size)
        return found


def _sort(request: ReplicaRequest, tenant: str, trust_group: str) -> Sort:
    """Requests that differ in size only."""
    return (
        request.models,
        request.vendors,
        request.preference,
        request.gpu_selector,
        request.asks,
        request.memory_mib,
        request.mig_profile,
        request.isolation,
        request.bandwidth_sensitive,
        request.whole,
        tenant,
        trust_group,
    )


def _size(request: ReplicaRequest) -> Size:
    return request.devices, request.share_bp, request.compute_bp, request.cpu_milli, request.host_memory_mib
