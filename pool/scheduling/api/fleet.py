"""Allocations and queues."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api.views import ApiView, ListView, idempotent
from console.common.errors import NotFound
from console.common.exports import Column
from pool.scheduling import queries
from pool.scheduling.api.filters import AllocationFilters, QueueFilters, narrow_allocations
from pool.scheduling.api.queue_states import QueueRequest, create
from pool.scheduling.api.rows import AllocationRow, QueueRow
from pool.scheduling.models import Allocation, Queue

_RELATED = ("job", "replica", "tenant", "node", "device", "device__model")


class Allocations(ListView):
    """What your tenants hold and held, newest first."""

    room = "jobs"
    filters = AllocationFilters
    row = AllocationRow
    columns = [
        Column("id", "public_id"),
        Column("job", "job.public_id"),
        Column("tenant", "tenant.slug"),
        Column("node", "node.name"),
        Column("device", "device.index", "number"),
        Column("uuid", "device.uuid"),
        Column("model", "device.model.name"),
        Column("isolation", "isolation"),
        Column("share_bp", "share_bp", "number"),
        Column("memory_mib", "memory_mib", "number"),
        Column("mig_profile", "mig_profile"),
        Column("mig_start", "mig_start", "number"),
        Column("cpu_milli", "cpu_milli", "number"),
        Column("host_memory_mib", "host_memory_mib", "number"),
        Column("created_at (UTC)", "created_at", "time"),
        Column("released_at (UTC)", "released_at", "time"),
    ]
    file_name = "allocations"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Allocation]:
        return narrow_allocations(queries.allocations_for(self.actor), wanted).select_related(*_RELATED)


class AllocationPage(ApiView):
    room = "jobs"

    @extend_schema(responses={200: AllocationRow}, operation_id="allocations_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One allocation."""
        rows = queries.allocations_for(self.actor).select_related(*_RELATED)
        found = rows.filter(public_id=public_id).first()
        if found is None:
            raise NotFound(f"allocation {public_id!r} was not found")
        return Response(AllocationRow(found).data)


class Queues(ListView):
    """Queues of your tenants."""

    room = "jobs"
    filters = QueueFilters
    row = QueueRow
    columns = [
        Column("id", "public_id"),
        Column("tenant", "tenant.slug"),
        Column("name", "name"),
        Column("state", "state"),
        Column("priority", "priority", "number"),
        Column("quota_share_bp", "quota_share_bp", "number"),
        Column("limit_share_bp", "limit_share_bp", "number"),
        Column("limit_running_jobs", "limit_running_jobs", "number"),
        Column("over_quota_weight", "over_quota_weight", "number"),
    ]
    file_name = "queues"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Queue]:
        rows = queries.queues_for(self.actor)
        if "tenant" in wanted:
            rows = rows.filter(tenant__slug=wanted["tenant"])
        if "state" in wanted:
            rows = rows.filter(state=wanted["state"])
        return rows.select_related("tenant", "parent")

    @extend_schema(request=QueueRequest, responses={201: QueueRow}, operation_id="queues_create")
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a queue to a tenant. Operators and owners of the tenant."""
        return create(self.actor, self.sent)


class QueuePage(ApiView):
    room = "jobs"

    @extend_schema(responses={200: QueueRow}, operation_id="queues_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One queue."""
        found = queries.queues_for(self.actor).select_related("tenant", "parent").filter(public_id=public_id).first()
        if found is None:
            raise NotFound(f"queue {public_id!r} was not found")
        return Response(QueueRow(found).data)
