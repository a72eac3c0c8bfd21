"""Queues: made, changed, moved, held and closed by operators and by the owners of their tenant."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Tenant
from pool.scheduling import wake
from pool.scheduling.models import Queue

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_BP = 10**12
_MOST_JOBS = 2**31 - 1
_MOST_AMOUNT = 2**48
_RANGES = {
    "limit_share_bp": (1, _MOST_BP),
    "limit_running_jobs": (1, _MOST_JOBS),
    "quota_share_bp": (0, _MOST_BP),
    "lending_limit_bp": (0, _MOST_BP),
    "priority": (-1000, 1000),
}
DEEPEST = 8  # levels of the tree


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Shares in basis points of a card. Limits bind the queue itself; the others weigh it against its siblings: those
    at the top weigh against other tenants, so that only operators set them there."""

    limit_share_bp: int | None = None
    limit_running_jobs: int | None = None
    quota_share_bp: int = 0
    over_quota_weight: Decimal = Decimal(1)
    priority: int = 0
    lending_limit_bp: int | None = None
    quota_gpu_memory_mib: int | None = None
    quota_cpu_milli: int | None = None
    quota_memory_mib: int | None = None
    limit_gpu_memory_mib: int | None = None
    limit_cpu_milli: int | None = None
    limit_memory_mib: int | None = None

    @staticmethod
    def of(queue: Queue) -> "QueueLimits":
        """As they are."""
        return QueueLimits(**{field.name: getattr(queue, field.name) for field in fields(QueueLimits)})

    @property
    def claims(self) -> tuple[Any, ...]:
        """What it claims from its siblings."""
        more = (self.quota_gpu_memory_mib, self.quota_cpu_milli, self.quota_memory_mib)
        return (self.quota_share_bp, self.over_quota_weight, self.priority, self.lending_limit_bp, *more)


NO_LIMITS = QueueLimits()
_NUMBERS = tuple(field.name for field in fields(QueueLimits) if field.name != "over_quota_weight")


def create_queue(
    actor: Actor, tenant: Tenant, name: str, limits: QueueLimits = NO_LIMITS, parent: Queue | None = None
) -> Queue:
    """An open queue. Raises NotAllowed, InvalidInput naming every wrong field, Conflict for a name that is taken.

    At the top of the tree only operators put one, beyond the first of a tenant: what an owner makes goes below the
    queue that the tenant has there. Else a tenant with ten queues had ten shares.
    """
    if not may_manage(actor, tenant.pk):
        raise NotAllowed(_("queues are made by operators and by owners of the tenant"))
    _check_claims(actor, NO_LIMITS, limits, parent)
    if parent is None and not actor.is_operator:
        parent = top_queue(tenant)
    wrong = [*_wrong_name(name), *_wrong_limits(limits), *_wrong_parent(actor, tenant.pk, parent)]
    if wrong:
        raise InvalidInput(wrong)
    try:
        with transaction.atomic():
            queue = Queue.objects.create(tenant=tenant, name=name, parent=parent, **asdict(limits))
            after = {"name": name, "parent": parent.public_id if parent else None, **_told(limits)}
            audit.record(actor, "queue.create", queue, tenant_id=tenant.pk, after=after)
            wake.scheduler(queues=True)
    except IntegrityError:
        raise Conflict(_("the tenant has a queue of this name already"), code="name_taken") from None
    return queue


def edit_queue(actor: Actor, queue: Queue, changes: Mapping[str, Any]) -> Queue:
    """Sets these fields of QueueLimits; the same values again are no change. Raises as `create_queue`.

    The scheduler goes by it at once; what runs goes on, and is the first to go where it is over the new limits' shares.
    """
    if not may_manage(actor, queue.tenant_id):
        raise NotAllowed(_("queues are changed by operators and by owners of the tenant"))
    before = QueueLimits.of(queue)
    after = replace(before, **changes)
    _check_claims(actor, before, after, queue.parent)
    wrong = _wrong_limits(after)
    if wrong:
        raise InvalidInput(wrong)
    if after != before:
        changed = {name: value for name, value in _told(after).items() if value != _told(before)[name]}
        old = {name: _told(before)[name] for name in changed}
        with transaction.atomic():
            if not Queue.objects.filter(pk=queue.pk, **asdict(before)).update(**asdict(after)):
                raise Conflict(_("somebody else changed the queue at this moment; look again"), code="changed")
            audit.record(actor, "queue.edit", queue, tenant_id=queue.tenant_id, before=old, after=changed)
            wake.scheduler(queues=True)
    queue.refresh_from_db()
    return queue


def move_queue(actor: Actor, queue: Queue, parent: Queue | None) -> Queue:
    """Below another queue, or (None) to the top. Raises NotAllowed, InvalidInput (parent), Conflict."""
    if not may_manage(actor, queue.tenant_id):
        raise NotAllowed(_("queues are moved by operators and by owners of the tenant"))
    if not actor.is_operator and (parent is None or queue.parent_id is None):
        raise NotAllowed(_("to the top of the tree and away from it, queues are moved by operators"))
    with transaction.atomic():
        # one move at a time: two at once could make a circle that neither of them sees
        list(Queue.objects.select_for_update().order_by("pk").values_list("pk", flat=True))
        wrong = _wrong_parent(actor, queue.tenant_id, parent, queue)
        if wrong:
            raise InvalidInput(wrong)
        before = queue.parent.public_id if queue.parent else None
        after = parent.public_id if parent else None
        if before != after:
            if not Queue.objects.filter(pk=queue.pk, parent=queue.parent_id).update(parent=parent):
                raise Conflict(_("somebody else changed the queue at this moment; look again"), code="changed")
            told = ({"parent": before}, {"parent": after})
            audit.record(actor, "queue.move", queue, tenant_id=queue.tenant_id, before=told[0], after=told[1])
            wake.scheduler(queues=True)
    queue.refresh_from_db()
    return queue


def top_queue(tenant: Tenant) -> Queue | None:
    """The tenant's first queue at the top; None while it has none."""
    mine = list(Queue.objects.filter(tenant=tenant).select_related("parent"))
    tops = [queue for queue in mine if queue.parent is None or queue.parent.tenant_id != tenant.pk]
    return min(tops, key=lambda queue: (queue.name != "default", queue.pk), default=None)


def set_queue_state(actor: Actor, queue: Queue, state: str, reason: str = "") -> Queue:
    """Open, held (takes jobs, starts none) or closed (takes none; what waits in it still starts).

    The scheduler reads it at once: what waits in a queue that is opened is tried, a held one starts nothing more; what
    runs goes on. The same state again is no change. Raises NotAllowed, InvalidInput, Conflict.
    """
    if not may_manage(actor, queue.tenant_id):
        raise NotAllowed(_("queues are held and released by operators and by owners of the tenant"))
    if state not in Queue.State.values:
        raise InvalidInput([FieldError("state", _("must be one of: %s") % ", ".join(Queue.State.values))])
    with transaction.atomic():
        before = Queue.objects.values_list("state", flat=True).get(pk=queue.pk)
        if before != state:
            if not Queue.objects.filter(pk=queue.pk, state=before).update(state=state):
                raise Conflict(_("somebody else changed the queue at this moment; look again"), code="changed")
            after = {"state": state, "reason": " ".join(reason.split())[:200]}
            audit.record(actor, "queue.state", queue, tenant_id=queue.tenant_id, before={"state": before}, after=after)
            wake.scheduler(queues=True)
    queue.refresh_from_db(fields=["state"])
    return queue


def may_manage(actor: Actor, tenant_id: int) -> bool:
    """Operators, and owners of the tenant; a token needs the scope jobs:write."""
    owns = actor.owns(tenant_id)
    return (actor.is_operator or owns) and actor.has_scope("jobs:write")


def _wrong_name(name: object) -> list[FieldError]:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return []
    return [FieldError("name", _("must be 1 to 64 letters, digits, hyphens and underscores"))]


def _told(limits: QueueLimits) -> dict[str, Any]:
    return {**asdict(limits), "over_quota_weight": str(limits.over_quota_weight.normalize())}


def _check_claims(actor: Actor, before: QueueLimits, after: QueueLimits, parent: Queue | None) -> None:
    """What a queue claims from those of other tenants is for operators to set; below its own, the owner divides."""
    if after.claims == before.claims or actor.is_operator:
        return
    if parent is None or not actor.owns(parent.tenant_id):
        raise NotAllowed(
            _("quota, over-quota weight, lending limit and priority of a queue at the top are set by operators")
        )


def _wrong_parent(actor: Actor, tenant_id: int, parent: Queue | None, queue: Queue | None = None) -> list[FieldError]:
    if parent is None:
        return []
    if parent.tenant_id != tenant_id and not actor.is_operator:
        return [FieldError("parent", _("is not a queue of the tenant"))]
    above: Queue | None = parent
    depth = 0
    while above is not None:
        if queue is not None and above.pk == queue.pk:
            return [FieldError("parent", _("is the queue itself or below it"))]
        above, depth = above.parent, depth + 1
    if depth >= DEEPEST:
        return [FieldError("parent", _("is too deep: a tree has at most %(n)s levels") % {"n": DEEPEST})]
    return []


def _wrong_limits(limits: QueueLimits) -> list[FieldError]:
    wrong = []
    for field in _NUMBERS:
        value, (low, high) = getattr(limits, field), _RANGES.get(field, (0, _MOST_AMOUNT))
        may_be_unset = field not in ("quota_share_bp", "priority")
        if not (value is None and may_be_unset) and not _is_whole(value, low, high):
            text = _("must be a whole number from %(low)s to %(high)s") % {"low": low, "high": high}
            wrong.append(FieldError(field, text))
    weight = limits.over_quota_weight
    if not weight.is_finite() or not 0 <= weight < 10**5 or weight != round(weight, 3):
        wrong.append(FieldError("over_quota_weight", _("must be from 0 to 99999.999, with three decimals at most")))
    return wrong


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
