"""Submitting work."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common import bulk, clock, sql
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.common.joint import joint
from console.tenants.models import Project, Tenant
from pool.scheduling import admission, wake
from pool.scheduling.models import Job, JobEvent, JobRole, Queue
from pool.scheduling.places import Place, resolve
from pool.scheduling.spec import JobSpec, canonical, job_wishes, parse_job, role_wishes

Also = Callable[[Job], Model]  # a row that stands or falls with the job: the stored answer of a request


def submit_job(actor: Actor, spec: dict[str, Any], also: Also | None = None) -> Job:
    """Checks everything, then stores job, roles, event and audit entry together and wakes the scheduler.

    All that can be is made ready before the transaction: whoever holds the database's lock must not be thinking.
    Raises InvalidInput naming each wrong field; nothing is stored then.
    """
    return store_job(actor, parse_job(spec), also=also)


def store_job(actor: Actor, spec: JobSpec, cloned_from: Job | None = None, also: Also | None = None) -> Job:
    """Stores an accepted specification."""
    if not actor.has_scope("jobs:write"):
        raise NotAllowed(_("this token may not submit jobs: it lacks the scope jobs:write"))
    now = clock.now()
    admission.check_times(spec, now)
    place = resolve(actor, spec)
    admission.check(spec, place)
    job = _job_row(actor, spec, place, now, cloned_from)
    event = JobEvent(job=job, at=now, kind="submitted", actor_label=actor.label)
    entry = audit.Entry("job.submit", "job", job.public_id, place.tenant.pk, None, {"name": job.name, "spec": job.spec})
    rows: list[Sequence[Model]] = [[job], _role_rows(job, spec), [event], [also(job)] if also else []]
    try:
        with joint() as together:
            # inside the transaction, so that a job never enters a queue that was closed meanwhile
            facts = (place.queue.pk, str(Queue.State.CLOSED), str(Tenant.State.ACTIVE), place.project.pk)
            together.change(_OPEN, *facts, must=1)
            chain, keys = audit.Chain(), place.keys or bulk.Keys({Job: 1})
            bulk.insert(*rows, chain.link(actor, [entry], together), keys=keys, within=together)
            together.after(lambda: wake.scheduler([job.pk]))
    except sql.Mismatch:
        _check_open(place.queue)
        if Project.objects.filter(pk=place.project.pk, archived_at__isnull=False).exists():
            raise InvalidInput([FieldError("project", _("is archived: it takes no new work"))]) from None
        raise
    return job


def _check_open(queue: Queue) -> None:
    states = sql.fetch(_STATES, queue.pk)
    if not states or states[0][1] != Tenant.State.ACTIVE:
        raise InvalidInput([FieldError("tenant", _("is not active: it takes no new work"))])
    if states[0][0] == Queue.State.CLOSED:
        raise InvalidInput([FieldError("queue", _("is closed: it takes no new work"))])


_STATES = "SELECT q.state, t.state FROM scheduling_queue q JOIN tenants_tenant t ON t.id = q.tenant_id WHERE q.id = %s"
_OPEN = f"{_STATES.replace('q.state, t.state', 'q.id')} AND q.state <> %s AND t.state = %s"
_OPEN += " AND EXISTS (SELECT 1 FROM tenants_project p WHERE p.id = %s AND p.archived_at IS NULL)"


def _job_row(actor: Actor, spec: JobSpec, place: Place, now: datetime, cloned_from: Job | None) -> Job:
    project: Project = place.project
    body = canonical(spec)
    body.update(project=project.slug, queue=place.queue.name)
    return Job(
        tenant=place.tenant,
        project=project,
        queue=place.queue,
        submitted_by_id=actor.user_id,
        name=spec.name,
        kind=spec.kind,
        labels=spec.labels,
        spec=body,
        command=list(spec.command),
        environment=spec.environment,
        wishes=job_wishes(spec),
        priority=spec.priority,
        preemptible=spec.preemptible,
        min_member=spec.min_member,
        max_duration=timedelta(seconds=spec.max_duration_s) if spec.max_duration_s else None,
        max_retries=spec.max_retries,
        preempt_min_runtime=timedelta(seconds=spec.preempt_min_runtime_s) if spec.preempt_min_runtime_s else None,
        not_before=spec.start_no_earlier_than,
        finish_by=spec.deadline,
        deadline_at=spec.deadline,
        cloned_from=cloned_from,
        created_at=now,
        queued_at=now,
        total_share_bp=spec.total_share_bp,
    )


def _role_rows(job: Job, spec: JobSpec) -> list[JobRole]:
    return [
        JobRole(
            job=job,
            name=role.name,
            position=position,
            replicas=role.replicas,
            min_replicas=role.min_replicas,
            max_replicas=role.max_replicas,
            devices=role.devices,
            share_bp=role.share_bp,
            memory_mib=list(role.memory_mib),
            mig_profile=role.mig_profile,
            isolation=role.isolation,
            models_allowed=list(role.models),
            cpu_milli=role.cpu_milli,
            host_memory_mib=role.host_memory_mib,
            bandwidth_sensitive=role.bandwidth_sensitive,
            wishes=role_wishes(role),
        )
        for position, role in enumerate(spec.roles)
    ]
