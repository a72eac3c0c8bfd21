"""What one does to a queue: make, hold, release, close. Each is a POST that happens once."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.actor import Actor
from console.common.api import params
from console.common.api.views import ApiView, idempotent
from console.common.errors import FieldError, InvalidInput
from console.tenants.queries import tenants_for
from pool.scheduling import queries, services
from pool.scheduling.api.rows import QueueRow
from pool.scheduling.models import Queue


class QueueChange(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class QueueRequest(serializers.Serializer[Any]):
    """At the top only operators set what weighs the queue against others: quota, weight, lending limit, priority."""

    tenant = serializers.CharField(max_length=64, help_text="slug")
    name = serializers.CharField(max_length=64, help_text="letters, digits, hyphens and underscores")
    parent = serializers.CharField(  # type: ignore[assignment]
        required=False,
        allow_null=True,
        default=None,
        max_length=40,
        help_text="id of the queue above it; null: the top",
    )
    limit_share_bp = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="held at once, in basis points of a card; null: none"
    )
    limit_running_jobs = serializers.IntegerField(required=False, allow_null=True, default=None)
    quota_share_bp = serializers.IntegerField(required=False, default=0)
    over_quota_weight = serializers.DecimalField(8, 3, required=False, default=Decimal(1))
    priority = serializers.IntegerField(required=False, default=0)
    lending_limit_bp = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="of the quota, what others may use; null: all of it"
    )
    quota_gpu_memory_mib = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="null: as large a part of the pool as that of cards"
    )
    quota_cpu_milli = serializers.IntegerField(required=False, allow_null=True, default=None)
    quota_memory_mib = serializers.IntegerField(required=False, allow_null=True, default=None)
    limit_gpu_memory_mib = serializers.IntegerField(required=False, allow_null=True, default=None)
    limit_cpu_milli = serializers.IntegerField(required=False, allow_null=True, default=None)
    limit_memory_mib = serializers.IntegerField(required=False, allow_null=True, default=None)


class QueueEdit(QueueRequest):
    """What is not named stays. `parent` moves it."""

    tenant = None  # type: ignore[assignment]
    name = None  # type: ignore[assignment]


def create(actor: Actor, sent: dict[str, Any]) -> Response:
    """201 with the new queue. Another's tenant reads like one that does not exist."""
    given = params.body(QueueRequest, sent)
    tenant = tenants_for(actor).filter(slug=given.pop("tenant")).first()
    if tenant is None:
        raise InvalidInput([FieldError("tenant", _("is not a tenant of yours"))])
    parent = _parent(actor, given.pop("parent"))
    made = services.create_queue(actor, tenant, given.pop("name"), services.QueueLimits(**given), parent)
    row = QueueRow(queries.queue_for(actor, made.public_id)).data
    return Response(row, status=201, headers={"Location": f"/api/v1/queues/{made.public_id}"})


def _parent(actor: Actor, public_id: str | None) -> Queue | None:
    if public_id is None:
        return None
    found = queries.queues_for(actor).filter(public_id=public_id).first()
    if found is None:
        raise InvalidInput([FieldError("parent", _("is not a queue of the tenant"))])
    return found


class Edit(ApiView):
    room = "jobs"

    @extend_schema(request=QueueEdit, responses={200: QueueRow}, operation_id="queues_edit")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Change limits, shares or place of a queue. Operators and owners of the tenant."""
        queue = queries.queue_for(self.actor, public_id)
        given = params.body(QueueEdit, self.sent)
        changes = {name: value for name, value in given.items() if name in self.sent}
        moves, parent = "parent" in changes, _parent(self.actor, changes.pop("parent", None))
        with transaction.atomic():
            services.edit_queue(self.actor, queue, changes)
            if moves:
                services.move_queue(self.actor, queue, parent)
        return Response(QueueRow(queries.queue_for(self.actor, public_id)).data)


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
