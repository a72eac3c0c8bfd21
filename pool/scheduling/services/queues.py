"""Queues: made, held, released and closed by operators and by the owners of their tenant."""

import re
from dataclasses import asdict, dataclass
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common.actor import Actor, TenantRole
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from console.tenants.models import Tenant
from pool.scheduling import wake
from pool.scheduling.models import Queue

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_BP = 10**12
_MOST_JOBS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Shares in basis points of a card. The first two bind the queue itself; the others weigh it against the queues of
    other tenants, so that only operators set them."""

    limit_share_bp: int | None = None
    limit_running_jobs: int | None = None
    quota_share_bp: int = 0
    over_quota_weight: Decimal = Decimal(1)
    priority: int = 0

    @property
    def weighs(self) -> bool:
        """Whether it claims something from others."""
        return (self.quota_share_bp, self.over_quota_weight, self.priority) != (0, Decimal(1), 0)


NO_LIMITS = QueueLimits()


def create_queue(actor: Actor, tenant: Tenant, name: str, limits: QueueLimits = NO_LIMITS) -> Queue:
    """An open queue. Raises NotAllowed, InvalidInput naming every wrong field, Conflict for a name that is taken."""
    if not may_manage(actor, tenant.pk):
        raise NotAllowed(_("queues are made by operators and by owners of the tenant"))
    if limits.weighs and not actor.is_operator:
        raise NotAllowed(_("quota, over-quota weight and priority of a queue are set by operators"))
    wrong = [*_wrong_name(name), *_wrong_limits(limits)]
    if wrong:
        raise InvalidInput(wrong)
    try:
        with transaction.atomic():
            queue = Queue.objects.create(tenant=tenant, name=name, **asdict(limits))
            after = {"name": name, **asdict(limits), "over_quota_weight": str(limits.over_quota_weight)}
            audit.record(actor, "queue.create", queue, tenant_id=tenant.pk, after=after)
    except IntegrityError:
        raise Conflict(_("the tenant has a queue of this name already"), code="name_taken") from None
    return queue


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
    owns = actor.tenants.get(tenant_id) is TenantRole.OWNER
    return (actor.is_operator or owns) and actor.has_scope("jobs:write")


def _wrong_name(name: object) -> list[FieldError]:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return []
    return [FieldError("name", _("must be 1 to 64 letters, digits, hyphens and underscores"))]


def _wrong_limits(limits: QueueLimits) -> list[FieldError]:
    ranges = (
        ("limit_share_bp", limits.limit_share_bp, 1, _MOST_BP),
        ("limit_running_jobs", limits.limit_running_jobs, 1, _MOST_JOBS),
        ("quota_share_bp", limits.quota_share_bp, 0, _MOST_BP),
        ("priority", limits.priority, -1000, 1000),
    )
    wrong = [
        FieldError(field, _("must be a whole number from %(low)s to %(high)s") % {"low": low, "high": high})
        for field, value, low, high in ranges
        if value is not None and not _is_whole(value, low, high)
    ]
    weight = limits.over_quota_weight
    if not weight.is_finite() or not 0 <= weight < 10**5 or weight != round(weight, 3):
        wrong.append(FieldError("over_quota_weight", _("must be from 0 to 99999.999, with three decimals at most")))
    return wrong


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
