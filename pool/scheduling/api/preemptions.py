"""Who took from whom."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from console.common.api.params import Filters
from console.common.api.views import ListView
from console.common.exports import Column
from pool.scheduling.models import Preemption
from pool.scheduling.preemption import queries as preemptions


class PreemptionFilters(Filters):
    state = serializers.ChoiceField(choices=Preemption.State.choices, required=False)
    why = serializers.ChoiceField(choices=Preemption.Why.choices, required=False)


class VictimRow(serializers.Serializer[Any]):
    job = serializers.CharField(source="job.public_id")
    queue = serializers.CharField(source="job.queue.name")
    attempt = serializers.IntegerField()
    whole = serializers.BooleanField(help_text="false: only replicas beyond its minimum were stopped")
    because = serializers.CharField(help_text="lower_priority or over_entitlement")
    cost_s = serializers.IntegerField(help_text="GPU-seconds lost")
    checkpoint_age_s = serializers.IntegerField(allow_null=True, help_text="null: never saved")
    out_of_turn = serializers.BooleanField()


class ShareRow(serializers.Serializer[Any]):
    """In basis points of a reference card."""

    queue = serializers.CharField(source="queue.public_id")
    entitled = serializers.IntegerField()
    before = serializers.IntegerField()
    after = serializers.IntegerField()


class PreemptionRow(serializers.Serializer[Any]):
    """Of another tenant's work nothing is told: `job` is null, and `others` says that more than `victims` stopped."""

    id = serializers.CharField(source="row.public_id")
    at = serializers.DateTimeField(source="row.created_at")
    ended_at = serializers.DateTimeField(source="row.ended_at", allow_null=True)
    state = serializers.CharField(source="row.state")
    why = serializers.CharField(source="row.why")
    dropped = serializers.CharField(source="row.dropped", help_text="gone, stale, late, or empty")
    job = serializers.CharField(source="job.public_id", default=None, allow_null=True)
    victims = VictimRow(many=True)
    others = serializers.BooleanField()
    cost_s = serializers.IntegerField()
    shares = ShareRow(source="changes", many=True)


class _Rows(serializers.ListSerializer[Any]):
    def to_representation(self, data: Any) -> Any:
        return super().to_representation(preemptions.tell(self.context["actor"], data))


class ToldRow(PreemptionRow):
    class Meta:
        list_serializer_class = _Rows


class Preemptions(ListView):
    """Plans that stopped some work so that other work could start; yours on either side."""

    room = "jobs"
    filters = PreemptionFilters
    row = ToldRow
    columns = [
        Column("id", "public_id"),
        Column("at (UTC)", "created_at", "time"),
        Column("state", "state"),
        Column("why", "why"),
        Column("dropped", "dropped"),
    ]
    file_name = "preemptions"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Preemption]:
        rows = preemptions.preemptions_for(self.actor)
        return rows.filter(**{name: wanted[name] for name in ("state", "why") if name in wanted})
