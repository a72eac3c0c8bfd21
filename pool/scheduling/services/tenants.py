"""What becomes of a tenant's work when the tenant is suspended or closed."""

from django.db.models import Sum

from console.common.actor import Actor
from console.common.errors import Conflict
from console.tenants.models import Project, Tenant
from console.tenants.ports import Use
from pool.scheduling import wake
from pool.scheduling.models import Allocation, Job, JobState
from pool.scheduling.services.control import cancel_job
from pool.scheduling.services.queues import create_queue
from pool.scheduling.states import JOB_ACTIVE

_ACTIVE = [JobState(state) for state in JOB_ACTIVE]


def stop_work_of(actor: Actor, tenant: Tenant) -> int:
    """Cancels what waits and tells what runs to end, in the present transaction; how many jobs."""
    stopped = 0
    for job in Job.objects.filter(tenant=tenant, state__in=[JobState.QUEUED, *_ACTIVE]).order_by("pk"):
        try:
            cancel_job(actor, job)
            stopped += 1
        except Conflict:
            continue  # it ended at this moment by itself
    return stopped


def use_of(owner: Tenant | Project) -> Use:
    """What a tenant or project holds and waits for. Two queries."""
    jobs = Job.objects.filter(project=owner) if isinstance(owner, Project) else Job.objects.filter(tenant=owner)
    states = list(jobs.filter(state__in=[JobState.QUEUED, *_ACTIVE]).values_list("state", flat=True))
    live = Allocation.objects.filter(released_at__isnull=True)
    live = live.filter(job__project=owner) if isinstance(owner, Project) else live.filter(tenant=owner)
    waiting = states.count(JobState.QUEUED)
    return Use(live.aggregate(all=Sum("share_bp"))["all"] or 0, len(states) - waiting, waiting)


def first_queue(actor: Actor, tenant: Tenant) -> None:
    """A new tenant can submit at once."""
    create_queue(actor, tenant, "default")


def look_again() -> None:
    """Limits or states of tenants and projects changed."""
    wake.scheduler(queues=True)
