"""What one does to a job. Each is a POST that happens once."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from console.common.api import params
from console.common.api.views import ApiView, Row, idempotent, idempotent_inside
from pool.scheduling import queries, services
from pool.scheduling.api.answers import created
from pool.scheduling.api.fields import JobRequest, PriorityChange
from pool.scheduling.api.rows import JobRow


class Nothing(Serializer[Any]):
    """An empty body."""


class Cancel(ApiView):
    room = "jobs"

    @extend_schema(request=None, responses={200: JobRow}, operation_id="jobs_cancel")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """End the job: at once while it waits, else after its processes were told to stop."""
        params.body(Nothing, self.sent)
        job = queries.job_for(self.actor, public_id)
        services.cancel_job(self.actor, job)
        return Response(JobRow(job).data)


class Retry(ApiView):
    room = "jobs"

    @extend_schema(request=None, responses={200: JobRow}, operation_id="jobs_retry")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Queue a failed, cancelled or expired job again."""
        params.body(Nothing, self.sent)
        job = queries.job_for(self.actor, public_id)
        services.retry_job(self.actor, job)
        return Response(JobRow(job).data)


class Requeue(ApiView):
    room = "jobs"

    @extend_schema(request=None, responses={200: JobRow}, operation_id="jobs_requeue")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Stop the present attempt and wait again."""
        params.body(Nothing, self.sent)
        job = queries.job_for(self.actor, public_id)
        services.requeue_job(self.actor, job)
        return Response(JobRow(job).data)


class Clone(ApiView):
    room = "jobs"

    @extend_schema(request=JobRequest(partial=True), responses={201: JobRow}, operation_id="jobs_clone")
    @idempotent_inside
    def post(self, request: Request, public_id: str, row: Row) -> None:
        """Submit the same request again as a new job; fields in the body replace those of the original."""
        job = queries.job_for(self.actor, public_id)
        services.clone_job(self.actor, job, self.sent, also=lambda clone: row(created(clone, request.user)))


class Priority(ApiView):
    room = "jobs"

    @extend_schema(request=PriorityChange, responses={200: JobRow}, operation_id="jobs_priority")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Change the priority."""
        given = params.body(PriorityChange, self.sent)
        job = queries.job_for(self.actor, public_id)
        services.set_priority(self.actor, job, given["priority"])
        return Response(JobRow(job).data)
