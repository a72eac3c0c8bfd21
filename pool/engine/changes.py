"""The smallest changes of a request that would admit a refused job now.

Each candidate changes one thing. Its value is found by bisection on a count of what fits (more
of anything never fits better), and it is kept only if deciding again with it places the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from pool.engine import neighbours
from pool.engine.capacity import replicas_per_node
from pool.engine.classes import compile_class
from pool.engine.domains import domains_of
from pool.engine.fleet import Fleet
from pool.engine.levels import levels_of
from pool.engine.loosened import Candidate, loosened, with_request
from pool.engine.members import need
from pool.engine.mig_tables import FAMILIES
from pool.engine.trying import try_place
from pool.engine.types import (
    WHOLE,
    Change,
    JobRequest,
    Placed,
    Policy,
    ReplicaRequest,
    RoleRequest,
)

PERCENT: Final = 100  # share is offered in whole percent
_FIRST_ONLY: Final = ("required_topology_level",)  # tried from the least change on: the first that helps is it


def smallest_changes(fleet: Fleet, job: JobRequest, role: RoleRequest, policy: Policy) -> tuple[Change, ...]:
    """Changes of ``role`` (or of the gang's minimum) that admit the job, smallest first."""
    quiet = replace(policy, explain=False)
    found: list[Change] = []
    with fleet.scratch():  # so that trials leave no score vectors behind
        for change, changed in _candidates(fleet, job, role, quiet):
            if change.kind in _FIRST_ONLY and any(known.kind == change.kind for known in found):
                continue
            if isinstance(try_place(fleet, changed, quiet), Placed):
                found.append(change)
    return tuple(sorted(found, key=lambda change: (change.size, change.kind, str(change.after))))


def _candidates(fleet: Fleet, job: JobRequest, role: RoleRequest, policy: Policy) -> Iterator[Candidate]:
    for make in (_fewer_members, _less_of_each, _other_slice):
        yield from make(fleet, job, role, policy)
    yield from loosened(fleet, job, role)


def with_members(job: JobRequest, role: RoleRequest, members: int) -> JobRequest:
    """The job with its minimum lowered to ``members`` at the cost of one role's minimum."""
    lower = need(job) - members
    least = max(role.min_replicas - lower, 0)
    roles = tuple(replace(r, min_replicas=least) if r.name == role.name else r for r in job.roles)
    return replace(job, roles=roles, min_member=max(job.min_member - lower, 0))


def _fits(fleet: Fleet, job: JobRequest, policy: Policy) -> bool:
    """Whether the job may fit: by counting if all its devices are alike, else by placing."""
    role = job.roles[0]
    request = role.request
    counted = len(job.roles) == 1 and len(request.memory_mib) < 2 and not request.asks
    counted &= not (role.required_topology_level or job.required_topology_level == "island")
    if not counted or neighbours.concerned(fleet, job):
        return isinstance(try_place(fleet, job, policy), Placed)
    trust = fleet.trust_number(job.tenant, job.trust_group)
    room = replicas_per_node(fleet, compile_class(fleet, request, trust))
    required, _ = levels_of(job)
    return int(domains_of(fleet).total(required, room).max(initial=0)) >= need(job)


def _most(low: int, high: int, fits: Callable[[int], bool]) -> int | None:
    """The largest value in low..high that fits, given that smaller values fit better."""
    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _amount(kind: str, role: RoleRequest, before: int, after: int) -> Change:
    return Change(kind, role.name, before, after, (before - after) / before)


def _fewer_members(fleet: Fleet, job: JobRequest, role: RoleRequest, policy: Policy) -> Iterator[Candidate]:
    before = need(job)
    after = _most(1, before - 1, lambda n: _fits(fleet, with_members(job, role, n), policy))
    if after is not None:
        yield _amount("min_member", role, before, after), with_members(job, role, after)


def _less_of_each(fleet: Fleet, job: JobRequest, role: RoleRequest, policy: Policy) -> Iterator[Candidate]:
    amounts = _of_asks(role.request) if role.request.asks else _amounts(role.request)
    for kind, before, low, step, make in amounts:

        def changed(value: int, make: Callable[[int], dict[str, Any]] = make) -> JobRequest:
            return with_request(job, role, **make(value))

        least, most = -(-low // step), (before - 1) // step
        after = _most(least, most, lambda n, c=changed, s=step: _fits(fleet, c(n * s), policy))  # type: ignore[misc]
        if after is not None:
            yield _amount(kind, role, before, after * step), changed(after * step)


Amount = tuple[str, int, int, int, Callable[[int], dict[str, Any]]]


def _amounts(request: ReplicaRequest) -> Iterator[Amount]:
    """What could be asked less of: name, present value, least value, step, how to change it."""
    if request.cpu_milli:
        yield "cpu_milli", request.cpu_milli, 0, 1, lambda n: {"cpu_milli": n}
    if request.host_memory_mib:
        yield "host_memory_mib", request.host_memory_mib, 0, 1, lambda n: {"host_memory_mib": n}
    if request.devices > 1 and len(request.memory_mib) <= 1:
        yield "devices", request.devices, 1, 1, lambda n: {"devices": n}
    if request.devices and request.memory_mib and not request.mig_profile:
        most = max(request.memory_mib)
        yield "memory_mib", most, 1, 1, lambda n: {"memory_mib": tuple(min(memory, n) for memory in request.memory_mib)}
    if request.gpu_cores_percent:
        yield "gpu_cores_percent", request.gpu_cores_percent, 1, 1, lambda n: {"gpu_cores_percent": n}
    fraction = request.share_bp < WHOLE or request.devices == 1
    if request.devices and fraction and not request.mig_profile and request.isolation != "exclusive":
        yield "share_bp", request.share_bp, 1, PERCENT, lambda n: {"share_bp": n}


def _of_asks(request: ReplicaRequest) -> Iterator[Amount]:
    """The same of a request whose devices differ: CPU and memory, and what each of its asks names."""
    for kind, before, low, step, make in _amounts(replace(request, asks=(), devices=1)):
        if kind in ("cpu_milli", "host_memory_mib"):
            yield kind, before, low, step, make
    for place, ask in enumerate(request.asks):
        for kind, before, low, step, make in _amounts(ask):

            def changed(
                value: int, at: int = place, old: ReplicaRequest = ask, make: Callable[[int], dict[str, Any]] = make
            ) -> dict[str, Any]:
                asks = (*request.asks[:at], replace(old, **make(value)), *request.asks[at + 1 :])
                return {"asks": asks, "devices": sum(one.devices for one in asks)}

            yield f"asks[{place}].{kind}", before, low, step, changed


def _other_slice(fleet: Fleet, job: JobRequest, role: RoleRequest, policy: Policy) -> Iterator[Candidate]:
    """The largest MIG profile below the one asked for."""
    asked = role.request.mig_profile
    if not asked:
        return
    sizes = _profile_sizes(fleet)
    before = sizes.get(asked, (WHOLE + 1, 0))
    smaller = [name for name, size in sizes.items() if size < before and "+" not in name]
    for name in sorted(smaller, key=lambda name: (-sizes[name][0], -sizes[name][1], name)):
        changed = with_request(job, role, mig_profile=name, memory_mib=())
        if _fits(fleet, changed, policy):
            lost = 1 - sizes[name][0] / before[0]
            yield Change("mig_profile", role.name, asked, name, lost), changed
            return


def _profile_sizes(fleet: Fleet) -> dict[str, tuple[int, int]]:
    """Memory part and compute share (bp) of each profile that some card of the fleet has."""
    sizes: dict[str, tuple[int, int]] = {}
    for key in sorted({kind.mig_family for kind in fleet.kinds.all if kind.family}):
        family = FAMILIES[key]
        for profile in family.profiles:
            part = profile.units * WHOLE // family.units
            sizes.setdefault(profile.name, (part, family.share_bp(profile)))
    return sizes
