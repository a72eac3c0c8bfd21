"""Changes of a refused request that have no amount: wider topology, other models, fewer conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pool.engine import neighbours
from pool.engine.fleet import Fleet
from pool.engine.kinds import isolation_for
from pool.engine.levels import LEVELS, depth
from pool.engine.types import Change, JobRequest, RoleRequest

NO_AMOUNT: Final = 0.5  # the size of a change that gives nothing up that could be counted

Candidate = tuple[Change, JobRequest]


def with_request(job: JobRequest, role: RoleRequest, **changes: Any) -> JobRequest:
    """The job with some fields of one role's request changed."""
    request = replace(role.request, **changes)
    roles = tuple(replace(r, request=request) if r.name == role.name else r for r in job.roles)
    return replace(job, roles=roles)


def loosened(fleet: Fleet, job: JobRequest, role: RoleRequest) -> Iterator[Candidate]:
    """The request with one thing less strict each time."""
    yield from _wider(job)
    yield from _other_cards(fleet, job, role)
    yield from _fewer_conditions(job, role)
    yield from _other_neighbours(fleet, job)
    yield from _other_isolation(fleet, job, role)


def _wider(job: JobRequest) -> Iterator[Candidate]:
    """The next levels outward, at last none at all."""
    before = job.required_topology_level
    if not before:
        return
    for after in [*reversed(LEVELS[: depth(before)]), ""]:
        change = Change("required_topology_level", "", before, after, NO_AMOUNT)
        yield change, replace(job, required_topology_level=after)


def _other_cards(fleet: Fleet, job: JobRequest, role: RoleRequest) -> Iterator[Candidate]:
    """One more model, or one more vendor, among those allowed."""
    request, kinds = role.request, fleet.kinds.all[1:]
    if not request.devices or request.asks:
        return
    if request.models:
        before = "|".join(sorted(request.models))
        for model in sorted({kind.model for kind in kinds} - request.models):
            changed = with_request(job, role, models=request.models | {model})
            yield Change("models", role.name, before, model, NO_AMOUNT), changed
    if request.vendors:
        before = "|".join(sorted(request.vendors))
        for vendor in sorted({kind.vendor for kind in kinds if kind.vendor} - request.vendors):
            changed = with_request(job, role, vendors=request.vendors | {vendor})
            yield Change("vendors", role.name, before, vendor, NO_AMOUNT), changed
    if request.preference:
        before = ">".join(request.preference)
        known = {*request.preference, *(k.model for k in kinds if k.vendor in request.preference)}
        for model in sorted({kind.model for kind in kinds} - known):
            changed = with_request(job, role, preference=(*request.preference, model))
            yield Change("preference", role.name, before, model, NO_AMOUNT), changed


def _fewer_conditions(job: JobRequest, role: RoleRequest) -> Iterator[Candidate]:
    """One condition on labels less, and if that is not enough, none."""
    selector = role.request.gpu_selector
    for gone in selector:
        rest = tuple(term for term in selector if term != gone)
        yield Change("gpu_selector", role.name, str(gone), "", NO_AMOUNT), with_request(job, role, gpu_selector=rest)
    if len(selector) > 1:
        change = Change("gpu_selector", role.name, "; ".join(map(str, selector)), "", 2 * NO_AMOUNT)
        yield change, with_request(job, role, gpu_selector=())


def _other_neighbours(fleet: Fleet, job: JobRequest) -> Iterator[Candidate]:
    """One required term less."""
    if not neighbours.concerned(fleet, job):
        return
    for gone in job.affinity:
        if gone.required:
            rest = tuple(term for term in job.affinity if term != gone)
            yield Change("affinity", "", str(gone), "", NO_AMOUNT), replace(job, affinity=rest)


def _other_isolation(fleet: Fleet, job: JobRequest, role: RoleRequest) -> Iterator[Candidate]:
    request = role.request
    now = isolation_for(request, fleet.kinds.all)
    if not request.devices or request.mig_profile or now not in ("vgpu", "mig"):
        return
    other = "mig" if now == "vgpu" else "vgpu"
    yield Change("isolation", role.name, now, other, NO_AMOUNT), with_request(job, role, isolation=other)
