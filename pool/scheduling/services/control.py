"""What people do with a submitted job."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from pool.scheduling import wake
from pool.scheduling.models import Job, JobState
from pool.scheduling.services.events import note
from pool.scheduling.services.stopping import stop_job
from pool.scheduling.services.submit import Also, store_job
from pool.scheduling.spec import parse_job
from pool.scheduling.states import JOB_FINAL, StopReason


def cancel_job(actor: Actor, job: Job) -> None:
    """Queued: ends now. Starting or running: its processes are told to end. Already stopping: nothing more."""
    check_may_change(actor, job)
    now = clock.now()
    with transaction.atomic():
        waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(
            state=JobState.CANCELLED, finished_at=now, outcome=StopReason.CANCEL, deadline_at=None
        )
        if not waiting and not stop_job(job, StopReason.CANCEL, now):
            # what is stopping to be queued again is cancelled instead
            redirected = Job.objects.filter(pk=job.pk, state=JobState.STOPPING).update(stop_reason=StopReason.CANCEL)
            if not redirected:
                raise Conflict(_("the job has already ended"), code="already_ended")
        note(job.pk, now, "cancelled", actor.label)
        audit.record(actor, "job.cancel", job, tenant_id=job.tenant_id, before={"state": job.state})
        wake.scheduler([job.pk])
    job.refresh_from_db()


def requeue_job(actor: Actor, job: Job) -> None:
    """Stops the present attempt; the job waits again from now on."""
    check_may_change(actor, job)
    now = clock.now()
    with transaction.atomic():
        before = job.state
        if not stop_job(job, StopReason.REQUEUE, now):
            raise Conflict(_("only a starting or running job can be requeued"), code="not_active")
        note(job.pk, now, "requeue_asked", actor.label)
        audit.record(actor, "job.requeue", job, tenant_id=job.tenant_id, before={"state": before})
    job.refresh_from_db()


def retry_job(actor: Actor, job: Job) -> None:
    """A failed, cancelled or expired job waits for another attempt."""
    check_may_change(actor, job)
    now = clock.now()
    again = [JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED]
    if job.finish_by is not None and job.finish_by <= now:
        raise Conflict(_("its deadline has passed; clone it with another"), code="deadline_passed")
    with transaction.atomic():
        moved = Job.objects.filter(pk=job.pk, state__in=again).update(
            state=JobState.QUEUED,
            queued_at=now,
            finished_at=None,
            started_at=None,
            deadline_at=job.finish_by,
            outcome="",
            stop_reason="",
        )
        if not moved:
            raise Conflict(_("only a failed, cancelled or expired job can be retried"), code="not_retryable")
        note(job.pk, now, "retried", actor.label)
        audit.record(actor, "job.retry", job, tenant_id=job.tenant_id, before={"state": job.state})
        wake.scheduler([job.pk])
    job.refresh_from_db()


def clone_job(actor: Actor, job: Job, changes: dict[str, Any] | None = None, also: Also | None = None) -> Job:
    """Submits the same request again, with `changes` to its fields, as a new job; `also` as in submit_job."""
    body = {**job.spec, "tenant": job.tenant.slug, **(changes or {})}
    return store_job(actor, parse_job(body), cloned_from=job, also=also)


def set_priority(actor: Actor, job: Job, priority: int) -> None:
    """-1000 to 1000; decides the order of waiting and counts for a job until it ends."""
    check_may_change(actor, job)
    if isinstance(priority, bool) or not isinstance(priority, int) or not -1000 <= priority <= 1000:
        raise InvalidInput([FieldError("priority", _("must be a whole number from -1000 to 1000"))])
    now = clock.now()
    with transaction.atomic():
        before = job.priority
        if not Job.objects.filter(pk=job.pk).exclude(state__in=JOB_FINAL).update(priority=priority):
            raise Conflict(_("the job has already ended"), code="already_ended")
        note(job.pk, now, "priority", actor.label, before=before, after=priority)
        audit.record(
            actor,
            "job.priority",
            job,
            tenant_id=job.tenant_id,
            before={"priority": before},
            after={"priority": priority},
        )
        wake.scheduler([job.pk])
    job.refresh_from_db()


def check_may_change(actor: Actor, job: Job) -> None:
    """`job` comes from a scoped query, so the actor may see it; this asks whether it may act on it."""
    if not actor.has_scope("jobs:write"):
        raise NotAllowed(_("this token may not change jobs: it lacks the scope jobs:write"))
    if not actor.may_work_in(job.tenant_id, job.project_id):
        raise NotAllowed(_("your role in this tenant may look at jobs but not change them"))
