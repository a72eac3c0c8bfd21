"""Lists of jobs and of what belongs to one job."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api.params import Filters
from console.common.api.views import ApiView, ListView, Row, idempotent_answer, idempotent_inside
from console.common.exports import Column
from pool.scheduling import queries, services
from pool.scheduling.api.answers import created
from pool.scheduling.api.fields import JobRequest
from pool.scheduling.api.filters import JobFilters, ReplicaFilters, narrow_jobs
from pool.scheduling.api.plan import Plan
from pool.scheduling.api.rows import DecisionRow, EventRow, JobDetail, JobRow, ReplicaRow
from pool.scheduling.models import Decision, Job, JobEvent, Replica
from pool.scheduling.telling import reasons_for

JOB_COLUMNS = [
    Column("id", "public_id"),
    Column("name", "name"),
    Column("tenant", "tenant.slug"),
    Column("project", "project.slug"),
    Column("queue", "queue.name"),
    Column("kind", "kind"),
    Column("state", "state"),
    Column("outcome", "outcome"),
    Column("priority", "priority", "number"),
    Column("total_share_bp", "total_share_bp", "number"),
    Column("attempts", "attempt_count", "number"),
    Column("submitted_by", "submitted_by.email"),
    Column("created_at (UTC)", "created_at", "time"),
    Column("started_at (UTC)", "started_at", "time"),
    Column("finished_at (UTC)", "finished_at", "time"),
]


class Jobs(ListView):
    """Jobs of your tenants, newest first."""

    room = "jobs"
    filters = JobFilters
    row = JobRow
    columns = JOB_COLUMNS
    file_name = "jobs"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Job]:
        return narrow_jobs(queries.jobs_for(self.actor), wanted)

    @extend_schema(request=JobRequest, responses={201: JobRow}, operation_id="jobs_submit")
    @idempotent_inside
    def post(self, request: Request, row: Row) -> None:
        """Submit a job."""
        services.submit_job(self.actor, self.sent, also=lambda job: row(created(job, request.user)))


class DryRun(ApiView):
    """What would happen if this job were submitted now; nothing is stored."""

    room = "jobs"

    @extend_schema(request=JobRequest, responses={200: Plan}, operation_id="jobs_dry_run")
    @idempotent_answer
    def post(self, request: Request) -> Response:
        """Where it would go, why, what an hour would cost, and the limit that bites first."""
        return Response(Plan(services.dry_run(self.actor, self.sent), context={"actor": self.actor}).data)


class JobPage(ApiView):
    room = "jobs"

    @extend_schema(responses={200: JobDetail}, operation_id="jobs_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One job with roles, attempts and the newest decision with its reasons."""
        job = queries.job_for(self.actor, public_id)
        return Response(JobDetail(job, context={"actor": self.actor}).data)


class JobTimeline(ListView):
    """What happened to a job, newest first."""

    room = "jobs"
    filters = Filters
    row = EventRow
    columns = [
        Column("at (UTC)", "at", "time"),
        Column("kind", "kind"),
        Column("params", lambda event: event.params or ""),
        Column("actor", "actor_label"),
    ]
    file_name = "timeline"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[JobEvent]:
        return queries.timeline(self.actor, queries.job_for(self.actor, self.kwargs["public_id"]))


class JobDecisions(ListView):
    """Every decision of the scheduler about a job with its reasons, newest first."""

    room = "jobs"
    filters = Filters
    row = DecisionRow
    columns = [
        Column("id", "public_id"),
        Column("at (UTC)", "at", "time"),
        Column("placed", "placed", "bool"),
        Column("duration_us", "duration_us", "number"),
    ]
    file_name = "decisions"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Decision]:
        told = Column("reasons", lambda row: reasons_for(self.actor, row.reasons))
        self.columns = [*JobDecisions.columns, told]
        return queries.decisions_for(self.actor, queries.job_for(self.actor, self.kwargs["public_id"]))


class JobReplicas(ListView):
    """The processes of a job over all attempts, newest first."""

    room = "jobs"
    filters = ReplicaFilters
    row = ReplicaRow
    columns = [
        Column("id", "public_id"),
        Column("attempt", "attempt.number", "number"),
        Column("role", "role.name"),
        Column("rank", "rank", "number"),
        Column("node", "node.name"),
        Column("state", "state"),
        Column("exit_code", "exit_code", "number"),
        Column("started_at (UTC)", "started_at", "time"),
        Column("ended_at (UTC)", "ended_at", "time"),
    ]
    file_name = "replicas"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Replica]:
        job = queries.job_for(self.actor, self.kwargs["public_id"])
        rows = queries.replicas_for(self.actor).filter(job=job)
        if "attempt" in wanted:
            rows = rows.filter(attempt__number=wanted["attempt"])
        if "state" in wanted:
            rows = rows.filter(state=wanted["state"])
        return rows.select_related("attempt", "role", "node")
