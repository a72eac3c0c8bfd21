"""Questions that this room asks of rooms above it; console/wiring.py plugs the answers in."""

from collections.abc import Callable
from dataclasses import dataclass

from console.common.actor import Actor
from console.tenants.models import Project, Tenant

StopWork = Callable[[Actor, Tenant], int]
Changed = Callable[[], None]
Prepare = Callable[[Actor, Tenant], object]


@dataclass(frozen=True, slots=True)
class Use:
    """What a tenant or project holds now: basis points, running jobs, and jobs that wait."""

    share_bp: int
    running_jobs: int
    waiting_jobs: int


UseOf = Callable[[Tenant | Project], Use]

_stop_work: StopWork | None = None
_changed: Changed | None = None
_use_of: UseOf | None = None
_prepare: Prepare | None = None


def plug(stop_work: StopWork, changed: Changed, use_of: UseOf, prepare: Prepare) -> None:
    global _stop_work, _changed, _use_of, _prepare
    _stop_work, _changed, _use_of, _prepare = stop_work, changed, use_of, prepare


def stop_work(actor: Actor, tenant: Tenant) -> int:
    """Ends all work of the tenant, in the present transaction; how many jobs."""
    return _stop_work(actor, tenant) if _stop_work else 0


def changed() -> None:
    """Limits or states changed: whoever goes by them looks again after the commit."""
    if _changed:
        _changed()


def prepare(actor: Actor, tenant: Tenant) -> None:
    """Gives a new tenant what it needs to work, in the present transaction."""
    if _prepare:
        _prepare(actor, tenant)


def use_of(owner: Tenant | Project) -> Use:
    return _use_of(owner) if _use_of else Use(0, 0, 0)
