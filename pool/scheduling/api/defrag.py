"""Fragmentation, and plans of moves against it."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.params import Filters
from console.common.api.views import ApiView, ListView, idempotent
from console.common.errors import NotFound
from console.common.exports import Column
from pool.scheduling.defrag import queries
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, DefragStep, FragmentationSample
from pool.scheduling.services import defrag as services
from pool.scheduling.services.defrag_rules import set_defrag_rules


class ClassRow(serializers.Serializer[Any]):
    """A class of work. Amounts in basis points of a card."""

    devices = serializers.IntegerField(help_text="of one replica")
    share_bp = serializers.IntegerField(help_text="of each")
    mig_profile = serializers.CharField()
    isolation = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField())
    cpu_milli = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="replicas that wait; 0: typical work")
    weight = serializers.IntegerField(help_text="against the other classes")
    free_bp = serializers.IntegerField(help_text="on cards that could serve it if they were empty")
    usable_bp = serializers.IntegerField(help_text="of that, what it can use now")
    fits = serializers.IntegerField(help_text="replicas side by side")


class SampleRow(serializers.ModelSerializer[FragmentationSample]):
    fragmentation_bp = serializers.SerializerMethodField(
        help_text="free capacity that no waiting or typical job can use, over all capacity"
    )

    class Meta:
        model = FragmentationSample
        fields = [
            "at",
            "capacity_bp",
            "free_bp",
            "stranded_bp",
            "fragmentation_bp",
            "spread_bp",
            "stranded_devices",
            "devices",
        ]

    def get_fragmentation_bp(self, sample: FragmentationSample) -> int:
        return sample.stranded_bp * 10_000 // sample.capacity_bp if sample.capacity_bp else 0


class MeasureRow(SampleRow):
    classes = ClassRow(many=True)

    class Meta(SampleRow.Meta):
        fields = [*SampleRow.Meta.fields, "classes"]


class Fragmentation(ApiView):
    room = "fleet"

    @extend_schema(responses={200: MeasureRow}, operation_id="fragmentation_retrieve")
    def get(self, request: Request) -> Response:
        """The latest measure, by class of work. Operators and auditors."""
        latest = queries.latest(self.actor)
        if latest is None:
            raise NotFound("fragmentation has not been measured yet")
        return Response(MeasureRow(latest).data)


class Samples(ListView):
    """Fragmentation every five minutes. Operators and auditors."""

    room = "fleet"
    filters = Filters
    row = SampleRow
    columns = [
        Column("at (UTC)", "at", "time"),
        Column("capacity_bp", "capacity_bp", "number"),
        Column("free_bp", "free_bp", "number"),
        Column("stranded_bp", "stranded_bp", "number"),
        Column("spread_bp", "spread_bp", "number"),
        Column("stranded_devices", "stranded_devices", "number"),
    ]
    file_name = "fragmentation"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[FragmentationSample]:
        queries.may_see(self.actor)
        return queries.samples_for(self.actor).order_by("-id")


class PlanFilters(Filters):
    state = serializers.ChoiceField(choices=DefragPlan.State.choices, required=False)


class PlanRow(serializers.ModelSerializer[DefragPlan]):
    id = serializers.CharField(source="public_id")
    fragmentation_before_bp = serializers.IntegerField(source="before.fragmentation_bp", default=None, allow_null=True)
    fragmentation_after_bp = serializers.IntegerField(source="after.fragmentation_bp", default=None, allow_null=True)
    spread_before_bp = serializers.IntegerField(source="before.spread_bp", default=None, allow_null=True)
    spread_after_bp = serializers.IntegerField(source="after.spread_bp", default=None, allow_null=True)
    moves = serializers.IntegerField()
    cost_s = serializers.IntegerField(help_text="GPU-seconds of work that are lost")

    class Meta:
        model = DefragPlan
        fields = [
            "id",
            "state",
            "mode",
            "on_demand",
            "dropped",
            "fragmentation_before_bp",
            "fragmentation_after_bp",
            "spread_before_bp",
            "spread_after_bp",
            "moves",
            "cost_s",
            "snapshot",
            "duration_us",
            "asked_by",
            "approved_by",
            "created_at",
            "approved_at",
            "ended_at",
        ]


class MoveRow(serializers.ModelSerializer[DefragMove]):
    job = serializers.CharField(source="job.public_id")
    source = serializers.DictField(  # type: ignore[assignment]
        help_text="node, and [device, share, memory, isolation, profile, slot] of each part"
    )
    target = serializers.DictField(help_text="the placement that is held for it")
    checkpoint_age_s = serializers.IntegerField(allow_null=True, help_text="when it was planned; null: never saved")

    class Meta:
        model = DefragMove
        fields = [
            "number",
            "job",
            "attempt",
            "state",
            "dropped",
            "source",
            "target",
            "cost_s",
            "checkpoint_age_s",
            "started_at",
            "ended_at",
        ]


class StepRow(serializers.ModelSerializer[DefragStep]):
    job = serializers.CharField(source="job.public_id", default=None, allow_null=True, help_text="that it admits")
    work = serializers.DictField(help_text="what can run there afterwards")
    moves = MoveRow(many=True)

    class Meta:
        model = DefragStep
        fields = ["number", "job", "work", "freed_bp", "cost_s", "moves"]


class PlanDetail(PlanRow):
    steps = StepRow(many=True)

    class Meta(PlanRow.Meta):
        fields = [*PlanRow.Meta.fields, "steps"]


class Plans(ListView):
    """Plans of moves. Operators and auditors."""

    room = "fleet"
    filters = PlanFilters
    row = PlanRow
    columns = [
        Column("id", "public_id"),
        Column("created_at (UTC)", "created_at", "time"),
        Column("state", "state"),
        Column("mode", "mode"),
        Column("moves", "moves", "number"),
        Column("cost_s", "cost_s", "number"),
        Column("approved_by", "approved_by"),
    ]
    file_name = "defrag-plans"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[DefragPlan]:
        queries.may_see(self.actor)
        rows = queries.plans_for(self.actor)
        return rows.filter(state=wanted["state"]) if "state" in wanted else rows

    @extend_schema(request=None, responses={200: PlanRow}, operation_id="defrag_plans_ask")
    @idempotent
    def post(self, request: Request) -> Response:
        """Ask for a plan now: it is `wanted` until a worker has made it. Operators."""
        return Response(PlanRow(services.ask_for_plan(self.actor)).data)


class PlanPage(ApiView):
    room = "fleet"

    @extend_schema(responses={200: PlanDetail}, operation_id="defrag_plans_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One plan with its steps and moves: who is hit, what it costs, what it frees."""
        queries.may_see(self.actor)
        return Response(PlanDetail(queries.plan_for(self.actor, public_id)).data)


class Approve(ApiView):
    room = "fleet"

    @extend_schema(request=None, responses={200: PlanRow}, operation_id="defrag_plans_approve")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Carry a proposed plan out. Operators."""
        queries.may_see(self.actor)
        return Response(PlanRow(services.approve_plan(self.actor, queries.plan_for(self.actor, public_id))).data)


class Reject(ApiView):
    room = "fleet"

    @extend_schema(request=None, responses={200: PlanRow}, operation_id="defrag_plans_reject")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Drop a plan; moves that were begun are finished. Operators."""
        queries.may_see(self.actor)
        return Response(PlanRow(services.reject_plan(self.actor, queries.plan_for(self.actor, public_id))).data)


@extend_schema_field(
    {
        "type": "object",
        "required": ["days", "from", "to"],
        "properties": {
            "days": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 6}},
            "from": {"type": "string", "example": "01:00"},
            "to": {"type": "string", "example": "05:00"},
        },
    }
)
class Window(serializers.JSONField):
    pass


class DefragRulesRow(serializers.Serializer[Any]):
    """What is not named in a change stays."""

    mode = serializers.ChoiceField(choices=DefragRules.Mode.choices, required=False)
    period_s = serializers.IntegerField(required=False, help_text="between two plans; 0: on demand only")
    windows = serializers.ListField(child=Window(), required=False, help_text="of automatic plans; none: any time")
    time_zone = serializers.CharField(required=False, max_length=64, help_text="of the windows")
    busiest_percent = serializers.IntegerField(
        required=False, help_text="automatic plans begin only while at most so much of the pool is held"
    )
    moves = serializers.IntegerField(required=False, help_text="of a plan")
    lost_s = serializers.IntegerField(required=False, help_text="GPU-seconds that a plan may lose")
    per_queue = serializers.IntegerField(required=False, help_text="moves of one queue's jobs in a plan")
    parallel = serializers.IntegerField(required=False, help_text="moves at once")
    rest_s = serializers.IntegerField(required=False, help_text="within this time no more than `parallel` begin")
    job_rest_s = serializers.IntegerField(
        required=False, help_text="a job that moved or was preempted is left alone for so long"
    )


class Rules(ApiView):
    room = "fleet"

    @extend_schema(responses={200: DefragRulesRow}, operation_id="defrag_rules")
    def get(self, request: Request) -> Response:
        """When and how gently the pool is defragmented. Operators and auditors."""
        queries.may_see(self.actor)
        return Response(DefragRulesRow(queries.rules()).data)

    @extend_schema(request=DefragRulesRow, responses={200: DefragRulesRow}, operation_id="defrag_rules_set")
    @idempotent
    def post(self, request: Request) -> Response:
        """Change when and how gently the pool is defragmented. Operators."""
        given = params.body(DefragRulesRow, self.sent)
        return Response(DefragRulesRow(set_defrag_rules(self.actor, given)).data)
