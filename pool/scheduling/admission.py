"""Checks at submit against the hardware there is: what can never run is refused at once, with the field named."""

import threading
import time
from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from console.common import memory
from console.common.errors import FieldError, InvalidInput
from pool.engine.calendar import all_fit
from pool.engine.kinds import Kind
from pool.engine.types import Change, JobRequest, Refused
from pool.engine.validate import never_fits
from pool.scheduling import requests
from pool.scheduling.calendar.foreseen import Foreseen, Guest, decide_for
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.places import Place
from pool.scheduling.spec import JobSpec

# What can never run depends on hardware alone, and whoever changes hardware raises its version, which comes with the
# queue of a submission: a submit must not pay for reading the whole fleet. What somebody changes in the database by
# hand is learned late (the job then waits, and its page says why), but looked for before a refusal.
_FRESH_S = 300.0
_REFUSAL_S = 0.5


class SharedMirror:
    """One mirror a process, for checks and dry runs; a lock because requests run in threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.mirror = FleetMirror()
        self.synced = float("-inf")
        self.hardware: int | None = None

    def never(self, spec: JobSpec, place: Place) -> Refused | None:
        tenant = place.tenant
        request = requests.of_spec(spec, tenant.public_id, tenant.trust_key)
        with self.lock:
            self._sync(_FRESH_S if place.hardware == self.hardware else 0)
            self.hardware = place.hardware
            refused = never_fits(self.mirror.fleet, request)
            if refused is not None and self.synced < time.monotonic() - _REFUSAL_S:
                self._sync(0)
                refused = never_fits(self.mirror.fleet, request)
        return refused

    def foresee(self, request: JobRequest, guest: Guest) -> Foreseen:
        """On the fleet as it is now, and what of it is kept for others."""
        with self.lock:
            self._sync(0)
            return decide_for(self.mirror, request, guest)

    def kinds(self) -> list[Kind]:
        """Of the cards of the fleet, as it was looked at last."""
        with self.lock:
            return list(self.mirror.fleet.kinds.all)

    def all_fit(self, jobs: Sequence[JobRequest]) -> bool:
        """Whether the hardware of now, wholly free, holds all of these at once."""
        with self.lock:
            self._sync(0)
            return all_fit(self.mirror.fleet, jobs)

    def _sync(self, age_s: float) -> None:
        if time.monotonic() - self.synced < age_s:
            return
        first = not self.mirror.versions
        self.mirror.sync()
        self.synced = time.monotonic()
        if first:
            memory.settle()


shared = SharedMirror()

_FIELDS = {
    "schedulable": "gpus",
    "model": "models",
    "vendor": "vendors",
    "selector": "gpu_selector",
    "affinity": "anti_affinity",
    "topology": "required_topology_level",
    "mig_mode": "isolation",
    "isolation": "isolation",
    "mig_profile": "mig_profile",
    "memory": "gpu_memory_mib",
    "share": "gpu_fraction",
    "node_cpu": "cpu_milli",
    "node_memory": "memory_mib",
    "node_devices": "gpus",
    "gang": "replicas",
}
_CHANGE_FIELDS = {
    "host_memory_mib": "memory_mib",
    "memory_mib": "gpu_memory_mib",
    "share_bp": "gpu_fraction",
    "devices": "gpus",
    "min_member": "min_member",
}


def check_times(spec: JobSpec, now: datetime) -> None:
    """Raises InvalidInput for a deadline that has passed."""
    if spec.deadline is not None and spec.deadline <= now:
        raise InvalidInput([FieldError("deadline", _("must be in the future"))])


def check(spec: JobSpec, place: Place) -> None:
    """Raises InvalidInput if no state of the present hardware could ever hold the job."""
    refused = shared.never(spec, place)
    if refused is not None:
        raise InvalidInput([never_error(spec, refused)])


def never_error(spec: JobSpec, refused: Refused) -> FieldError:
    """The field at which the job fails on wholly free hardware, and the smallest change that would admit it."""
    if not refused.failed:
        return FieldError("gpus", _("the pool has no devices yet"))
    change = refused.changes[0] if refused.changes else None
    name = field_of(change) if change else _FIELDS.get(refused.failed[-1].filter, "gpus")
    if name == "vendors" and not any(role.vendors for role in spec.roles) and any(r.preference for r in spec.roles):
        name = "preference"
    if name == "isolation" and any(role.mig_profile for role in spec.roles):
        name, change = "mig_profile", None  # what was asked for by name is what no card has
    text = _("no state of the present hardware can ever hold this job")
    if any(count.filter == "mig_mode" for count in refused.failed):
        text += "; " + _("cards in MIG mode run MIG slices only, other cards none; an operator switches the mode")
    if change is not None:
        text += "; " + _("%(field)s = %(after)s would fit (asked: %(before)s)") % {
            "field": name,
            "after": _asked(change.kind, change.after),
            "before": _asked(change.kind, change.before),
        }
    return FieldError(_path(spec, refused.role, name), text)


def _asked(kind: str, value: int | str) -> str:
    """A value of the engine in the request's own unit."""
    return f"{int(value) / 10_000:g}" if kind == "share_bp" else str(value)


def field_of(change: Change) -> str:
    """The request field that a change of the engine is about."""
    return _CHANGE_FIELDS.get(change.kind, change.kind)


def _path(spec: JobSpec, role: str, name: str) -> str:
    names = [item.name for item in spec.roles]
    if len(names) == 1 or role not in names or name == "min_member":
        return name
    return f"roles[{names.index(role)}].{name}"
