"""How queues stand."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api.views import ApiView
from pool.scheduling.sharing import queries as sharing
from pool.scheduling.sharing.queries import Standing


class AmountsRow(serializers.Serializer[Any]):
    share_bp = serializers.IntegerField(help_text="basis points of a reference card")
    gpu_memory_mib = serializers.IntegerField()
    cpu_milli = serializers.IntegerField()
    memory_mib = serializers.IntegerField()


class StandingRow(serializers.Serializer[Any]):
    """`used`, `wanted`, `deserved` (covered by quota) and `entitlement` are null until the scheduler has told them."""

    id = serializers.CharField(source="queue.public_id")
    tenant = serializers.CharField(source="queue.tenant.slug")
    name = serializers.CharField(source="queue.name")
    depth = serializers.IntegerField(help_text="levels below the top of what you may see")
    quota = AmountsRow(source="line.quota", default=None, allow_null=True)
    used = AmountsRow(source="line.used", default=None, allow_null=True)
    wanted = AmountsRow(source="line.wanted", default=None, allow_null=True)
    deserved = AmountsRow(source="line.deserved", default=None, allow_null=True)
    entitlement = AmountsRow(source="line.entitlement", default=None, allow_null=True)
    bound = serializers.CharField(
        source="line.bound",
        default=None,
        allow_null=True,
        help_text="why not more: demand, limit, lending, scaled, priority, weight, no_weight or capacity",
    )
    resource = serializers.CharField(source="line.resource", default=None, allow_null=True)
    of = serializers.SerializerMethodField(help_text="id of the queue whose doing it is, where you may see it")

    def get_of(self, standing: Standing) -> str | None:
        return standing.of.public_id if standing.of else None


class Shares(ApiView):
    room = "jobs"

    @extend_schema(responses={200: StandingRow(many=True)}, operation_id="queues_shares")
    def get(self, request: Request) -> Response:
        """The tree of queues with entitlements, each queue after the one above it."""
        return Response(StandingRow(sharing.standings_for(self.actor), many=True).data)
