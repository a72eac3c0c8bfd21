"""Where a job may stand, and would like to, for the jobs that live there (affinity)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine.affinity import Affinity
from pool.engine.domains import domains_of
from pool.engine.selectors import matches
from pool.engine.types import JobRequest

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def concerned(fleet: Fleet, job: JobRequest) -> bool:
    """Whether neighbours matter to this job, or this job to them."""
    return bool(job.affinity) or (bool(job.labels) and fleet.labelled.repels)


def repels_of(job: JobRequest) -> tuple[Affinity, ...]:
    """What a job keeps away while it lives: written into its holds."""
    return tuple(term for term in job.affinity if term.anti and term.required)


def allowed(fleet: Fleet, job: JobRequest) -> Bools:
    """By row, whether every required term holds there, the job's own and those of live work."""
    rows = np.ones(len(fleet.nodes), dtype=bool)
    for term in job.affinity:
        if term.required:
            rows &= _meets(fleet, job, term)
    if job.labels and fleet.labelled.repels:
        for term, nodes in fleet.labelled.repelling(job.tenant, job.labels):
            rows &= ~_around(fleet, term, nodes)
    return rows


def liking(fleet: Fleet, job: JobRequest) -> Ints | None:
    """By row, the weight of the preferred terms that hold there; None if there are none."""
    terms = [term for term in job.affinity if not term.required]
    if not terms:
        return None
    weight = np.zeros(len(fleet.nodes), dtype=np.int64)
    for term in terms:
        near = _around(fleet, term, fleet.labelled.nodes(job.tenant, term.selector))
        weight += term.weight * (~near if term.anti else near)
    return weight


def meets_itself(job: JobRequest, term: Affinity) -> bool:
    """Whether a term is about the job's own replicas too. Work without labels is nobody's neighbour."""
    return bool(job.labels) and matches(term.selector, dict(job.labels))


def _meets(fleet: Fleet, job: JobRequest, term: Affinity) -> Bools:
    nodes = fleet.labelled.nodes(job.tenant, term.selector)
    if not term.anti and not nodes and meets_itself(job, term):
        return np.ones(len(fleet.nodes), dtype=bool)  # the first of its like may start anywhere
    near = _around(fleet, term, nodes)
    return ~near if term.anti else near


def _around(fleet: Fleet, term: Affinity, nodes: Iterable[int]) -> Bools:
    """Rows in the same domain of the term's level as one of these nodes."""
    domains = domains_of(fleet)
    number = domains.number(term.depth)
    inside = np.zeros(domains.how_many(term.depth), dtype=bool)
    inside[number[[fleet.row_of[node] for node in nodes if node in fleet.row_of]]] = True
    found: Bools = inside[number]
    return found
