"""What would happen if this were submitted now: where, why, at what price, and which limit bites first."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from console.common import clock
from console.common.actor import Actor
from console.common.errors import FieldError, NotAllowed
from pool.engine.calendar import Visitor
from pool.engine.mig_tables import FAMILIES
from pool.engine.types import JobRequest, Placed, Refused
from pool.inventory.models import Device, DeviceModel, Node
from pool.scheduling import admission, ports
from pool.scheduling.calendar.foreseen import Foreseen, Guest
from pool.scheduling.elastic import is_elastic, least_share_bp, within
from pool.scheduling.limits import Limit, ProjectLimits, Usage, active_jobs, first_biting, limits_of, tightest
from pool.scheduling.models import Allocation
from pool.scheduling.places import Place, resolve
from pool.scheduling.requests import of_spec
from pool.scheduling.services.placement import reasons_of
from pool.scheduling.services.stopping import GRACE_S
from pool.scheduling.shares import WHOLE, part_of
from pool.scheduling.sharing.foreseen import budgets_for
from pool.scheduling.spec import DeviceAsk, JobSpec, parse_job
from pool.scheduling.waiting import bound_s


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """One device part as the actor may see it."""

    replica: int
    role: str
    node: str
    device_index: int
    model: str
    share_bp: int
    memory_mib: int
    isolation: str
    mig_profile: str
    mig_start: int


@dataclass(frozen=True, slots=True)
class DryRun:
    """`fits`: would start at once. `never`: no state of this hardware could hold it.

    An hour costs from `least_per_hour` to `price_per_hour`, by the model it gets; once placed both are the same.
    `starts_at`: what is placed here would go elsewhere then, if the pool has changed.
    `bites_first` is the limit that would stop it now or, if none does, the one with the least room left.
    """

    fits: bool
    never: bool
    placements: tuple[PlacedPart, ...]
    reasons: dict[str, Any]
    limits: tuple[Limit, ...]
    bites_first: Limit | None
    blocked_by_limit: bool
    price_per_hour: Decimal | None = None
    least_per_hour: Decimal | None = None
    currency: str = ""
    price_missing: tuple[str, ...] = ()
    refusal: FieldError | None = None
    notes: tuple[str, ...] = field(default=())
    starts_at: datetime | None = None  # not before


def dry_run(actor: Actor, spec: dict[str, Any]) -> DryRun:
    """Raises InvalidInput like submit_job would; changes nothing."""
    if not actor.has_scope("jobs:read"):
        raise NotAllowed(_("this token may not read jobs: it lacks the scope jobs:read"))
    parsed, now = parse_job(spec), clock.now()
    admission.check_times(parsed, now)
    early = parsed.start_no_earlier_than is not None and parsed.start_no_earlier_than > now
    place = resolve(actor, parsed)
    never = admission.shared.never(parsed, place)
    held_at_once = limits_of(place.queue, _usage(place), _project(place))
    request = of_spec(parsed, place.tenant.public_id, place.tenant.trust_key)
    asked_bp = least_share_bp(request) if is_elastic(request) else parsed.total_share_bp
    longest = bound_s(parsed.max_duration_s, parsed.deadline, now)
    foreseen = _foreseen(never, within(request, held_at_once), parsed, place, longest, now)
    outcome = foreseen.outcome
    spent = budgets_for(place, request, admission.shared.kinds(), longest, now, actor.sees_all_work)
    limits = (*held_at_once, *spent.limits)
    biting = first_biting(limits, asked_bp, spent.wanted)
    parts = _parts(outcome) if isinstance(outcome, Placed) else ()
    quote = ports.price_quote(place.tenant, _quote_items(parsed, parts))
    return DryRun(
        fits=isinstance(outcome, Placed) and biting is None and not early,
        never=isinstance(outcome, Refused) and outcome.never,
        placements=tuple(part for part, _ in parts),
        reasons=reasons_of(outcome),
        limits=limits,
        bites_first=biting or tightest(limits, asked_bp, spent.wanted),
        blocked_by_limit=biting is not None,
        price_per_hour=quote.per_hour if quote else None,
        least_per_hour=quote.least if quote else None,
        currency=quote.currency if quote else "",
        price_missing=quote.missing if quote else (),
        refusal=admission.never_error(parsed, never) if never else None,
        notes=(*_kept(foreseen), *_notes(parsed)),
        starts_at=parsed.start_no_earlier_than if early else None,
    )


def _foreseen(
    never: Refused | None, request: JobRequest, spec: JobSpec, place: Place, longest: int | None, now: datetime
) -> Foreseen:
    if never is not None:
        return Foreseen(never)
    leaving_s = GRACE_S + (spec.checkpoint.grace_s if spec.checkpoint else 0)
    visitor = Visitor(longest, spec.preemptible, spec.preempt_min_runtime_s + leaving_s)
    return admission.shared.foresee(request, Guest(place.tenant.pk, place.queue.pk, visitor, now))


def _kept(foreseen: Foreseen) -> tuple[str, ...]:
    if not foreseen.kept:
        return ()
    text = _(
        "Free cards are kept for reservations or for work that waits longer. A maximum duration that ends before, or "
        "being preemptible where they are lent, lets this job use them."
    )
    return (text,)


def _usage(place: Place) -> Usage:
    live = Allocation.objects.filter(released_at__isnull=True, tenant=place.tenant)
    queues: dict[int, int] = {}
    projects: dict[int, int] = {}
    for queue, project, total in live.values_list("job__queue_id", "job__project_id").annotate(total=Sum("share_bp")):
        queues[queue] = queues.get(queue, 0) + (total or 0)
        projects[project] = projects.get(project, 0) + (total or 0)
    queue_jobs, tenant_jobs, project_jobs = active_jobs()
    return Usage(queues, {place.tenant.pk: sum(queues.values())}, queue_jobs, tenant_jobs, projects, project_jobs)


def _project(place: Place) -> ProjectLimits:
    row = place.project
    return ProjectLimits(row.pk, row.slug, row.limit_share_bp, row.limit_running_jobs)


def _parts(outcome: Placed) -> list[tuple[PlacedPart, Device]]:
    keys = {item.device_key for replica in outcome.replicas for item in replica.devices}
    devices = {device.pk: device for device in Device.objects.filter(pk__in=keys).select_related("model")}
    names = dict(Node.objects.filter(pk__in={r.node_key for r in outcome.replicas}).values_list("pk", "name"))
    return [
        (
            PlacedPart(
                replica=number,
                role=replica.role,
                node=names[replica.node_key],
                device_index=devices[item.device_key].index,
                model=devices[item.device_key].model.name,
                share_bp=item.share_bp,
                memory_mib=item.memory_mib,
                isolation=item.isolation,
                mig_profile=item.mig_profile,
                mig_start=item.mig_start,
            ),
            devices[item.device_key],
        )
        for number, replica in enumerate(outcome.replicas)
        for item in replica.devices
    ]


def _quote_items(spec: JobSpec, parts: list[tuple[PlacedPart, Device]] | tuple[()]) -> list[ports.QuoteItem]:
    """Placed: the very parts. Not placed: what was asked, on each model that could give it."""
    if parts:
        counted = Counter(_placed_item(part, device) for part, device in parts)
        return [replace(item, count=count) for item, count in counted.items()]
    asks = [(ask, role.replicas) for role in spec.roles for ask in role.asks or (role,)]
    return [_asked_item(ask, replicas) for ask, replicas in asks if ask.devices]


def _asked_item(ask: DeviceAsk, replicas: int) -> ports.QuoteItem:
    models = _could_give(ask)
    isolation = "exclusive" if ask.isolation == "auto" and ask.whole else _soft(ask.isolation)
    num, den = ask.compute_bp, WHOLE
    if ask.mig_profile and models:  # a profile is the same part of each model that has it
        exact = part_of(models[0].mig_family, ask.mig_profile, WHOLE, 0, models[0].memory_mib)
        isolation, num, den = "mig", exact.compute_num, exact.compute_den
    names = tuple(model.name for model in models)
    return ports.QuoteItem(names, isolation, num * WHOLE // den, num, den, replicas * ask.devices)


def _could_give(ask: DeviceAsk) -> list[DeviceModel]:
    """Models of the pool's cards that are allowed, large enough, and have the MIG profile; by name."""
    rows = DeviceModel.objects.filter(devices__isnull=False, memory_mib__gte=max(ask.memory_mib, default=0))
    if ask.models:
        rows = rows.filter(name__in=ask.models)
    if ask.vendors:
        rows = rows.filter(vendor__in=ask.vendors)
    if ask.preference:
        rows = rows.filter(Q(name__in=ask.preference) | Q(vendor__in=ask.preference))
    found = rows.distinct().order_by("name")
    return [model for model in found if not ask.mig_profile or _has(model.mig_family, ask.mig_profile)]


def _has(family: str, profile: str) -> bool:
    return family in FAMILIES and any(each.name == profile for each in FAMILIES[family].profiles)


def _soft(isolation: str) -> str:
    return "vgpu" if isolation == "auto" else isolation


def _placed_item(part: PlacedPart, device: Device) -> ports.QuoteItem:
    exact = part_of(device.model.mig_family, part.mig_profile, part.share_bp, part.memory_mib, device.memory_mib)
    return ports.QuoteItem(
        (part.model,),
        part.isolation,
        part.share_bp,
        exact.compute_num,
        exact.compute_den,
        1,
        part.memory_mib,
        device.memory_mib,
    )


def _notes(spec: JobSpec) -> tuple[str, ...]:
    """What a backend cannot enforce is said, not implied."""
    asks = [ask for role in spec.roles for ask in role.asks or (role,)]
    found = []
    if any(not ask.whole and ask.isolation in {"vgpu", "auto"} for ask in asks):
        found.append(_("A vGPU share is a soft limit: memory and compute are limited by MPS, faults are not isolated."))
    return tuple(found)
