"""The answer of a dry run."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from pool.scheduling.limits import Limit
from pool.scheduling.telling import reasons_for


class LimitRow(serializers.Serializer[Limit]):
    scope = serializers.CharField(help_text="queue, project, tenant, or budget (of a queue), project_budget")
    name = serializers.CharField()
    kind = serializers.CharField(help_text="share_bp, running_jobs, or card_s: basis-point-seconds of a reference card")
    limit = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)


class PlacementRow(serializers.Serializer[Any]):
    replica = serializers.IntegerField()
    role = serializers.CharField()
    node = serializers.CharField()
    device_index = serializers.IntegerField()
    model = serializers.CharField()
    share_bp = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    isolation = serializers.CharField()
    mig_profile = serializers.CharField()
    mig_start = serializers.IntegerField()


class FieldReason(serializers.Serializer[Any]):
    field = serializers.CharField()
    message = serializers.CharField()


class Plan(serializers.Serializer[Any]):
    fits = serializers.BooleanField(help_text="would start at once")
    never = serializers.BooleanField(help_text="no state of the present hardware could hold it")
    placements = PlacementRow(many=True)
    reasons = serializers.SerializerMethodField()
    limits = LimitRow(many=True)
    bites_first = LimitRow(allow_null=True)
    blocked_by_limit = serializers.BooleanField()
    price_per_hour = serializers.DecimalField(
        18, 6, allow_null=True, help_text="at most; null where something has no price on any model that could give it"
    )
    least_per_hour = serializers.DecimalField(18, 6, allow_null=True, help_text="on the cheapest models that could do")
    currency = serializers.CharField()
    price_missing = serializers.ListField(child=serializers.CharField(), help_text="such as: H100-80GB exclusive")
    refusal = FieldReason(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField())
    starts_at = serializers.DateTimeField(allow_null=True, help_text="not before; null: at once or with room")

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_reasons(self, plan: Any) -> dict[str, Any]:
        return reasons_for(self.context["actor"], plan.reasons)
