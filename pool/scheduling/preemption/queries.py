"""Who took from whom, as the acting user may know it: of another tenant's work neither names nor numbers."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from console.common.actor import Actor
from pool.scheduling import queries
from pool.scheduling.models import Job, Preemption, Queue, Victim


@dataclass(frozen=True, slots=True)
class Change:
    """Of one queue, in basis points of a reference card: entitled to, held before and after."""

    queue: Queue
    entitled: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Told:
    """`job` None: another tenant's. `others`: whether more was stopped than the reader may see. `cost_s`: GPU-seconds,
    of what may be seen."""

    row: Preemption
    job: Job | None
    victims: list[Victim]
    others: bool
    cost_s: int
    changes: list[Change]


def preemptions_for(actor: Actor) -> QuerySet[Preemption]:
    """Those that the actor's own work took part in, on either side; newest first. Show what `tell` makes of them."""
    rows = Preemption.objects.select_related("job__tenant", "job__queue").prefetch_related(
        "victims__job__tenant", "victims__job__queue"
    )
    if not actor.sees_all_work:
        own = Victim.objects.filter(queries.own(actor, "job__tenant"), preemption=OuterRef("pk"))
        rows = rows.filter(queries.own(actor, "job__tenant") | Q(Exists(own)))
    return rows.order_by("-id")


def preemptions_of(actor: Actor, job: Job, most: int = 10) -> list[Told]:
    """Of a job that came from a scoped query, on either side."""
    here = Victim.objects.filter(job=job, preemption=OuterRef("pk"))
    return tell(actor, preemptions_for(actor).filter(Q(job=job) | Q(Exists(here)))[:most])


def tell(actor: Actor, rows: Iterable[Preemption]) -> list[Told]:
    """Three queries however many rows there are: theirs, and one for the queues."""
    found = list(rows)
    keys = {int(key) for row in found for key in row.shares}
    queues = {queue.pk: queue for queue in Queue.objects.filter(pk__in=keys).select_related("tenant")}
    return [_told(actor, row, queues) for row in found]


def _told(actor: Actor, row: Preemption, queues: dict[int, Queue]) -> Told:
    victims = list(row.victims.all())
    seen = [victim for victim in victims if _sees(actor, victim.job.tenant_id)]
    changes = [
        Change(queues[int(key)], **amounts)
        for key, amounts in sorted(row.shares.items(), key=lambda pair: int(pair[0]))
        if int(key) in queues and _sees(actor, queues[int(key)].tenant_id)
    ]
    return Told(
        row=row,
        job=row.job if _sees(actor, row.job.tenant_id) else None,
        victims=seen,
        others=len(seen) < len(victims),
        cost_s=row.cost_s if len(seen) == len(victims) else sum(victim.cost_s for victim in seen),
        changes=changes,
    )


def _sees(actor: Actor, tenant: int) -> bool:
    return actor.sees_all_work or tenant in actor.tenants
