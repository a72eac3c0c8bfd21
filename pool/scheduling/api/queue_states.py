"""What one does to a queue: hold, release, close. Each is a POST that happens once."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.views import ApiView, idempotent
from pool.scheduling import queries, services
from pool.scheduling.api.rows import QueueRow
from pool.scheduling.models import Queue


class QueueChange(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class _QueueState(ApiView):
    room = "jobs"
    state: str

    def change(self, public_id: str) -> Response:
        given = params.body(QueueChange, self.sent)
        services.set_queue_state(self.actor, queries.queue_for(self.actor, public_id), self.state, given["reason"])
        return Response(QueueRow(queries.queue_for(self.actor, public_id)).data)


class Hold(_QueueState):
    state = Queue.State.HELD

    @extend_schema(request=QueueChange, responses={200: QueueRow}, operation_id="queues_hold")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Start none of its jobs, and still take new ones; what runs goes on. Operators and owners of the tenant."""
        return self.change(public_id)


class Release(_QueueState):
    state = Queue.State.OPEN

    @extend_schema(request=QueueChange, responses={200: QueueRow}, operation_id="queues_release")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Open it: what waits in it is tried at once. Operators and owners of the tenant."""
        return self.change(public_id)


class Close(_QueueState):
    state = Queue.State.CLOSED

    @extend_schema(request=QueueChange, responses={200: QueueRow}, operation_id="queues_close")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Take no new jobs; what waits in it still starts. Operators and owners of the tenant."""
        return self.change(public_id)
