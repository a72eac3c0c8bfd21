"""How queues stand."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.views import ApiView, idempotent
from pool.scheduling import services
from pool.scheduling.models import SharingRules
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


class RulesRequest(serializers.Serializer[Any]):
    """What is not named stays."""

    reclaim_to = serializers.ChoiceField(
        choices=SharingRules.ReclaimTo.choices, required=False, help_text="how much a queue takes back from others"
    )
    cooldown_s = serializers.IntegerField(required=False, help_text="so long a job that was preempted is left alone")
    within_quota = serializers.BooleanField(
        required=False, help_text="work that cannot be preempted stays within the quota of its queue"
    )
    history_strength = serializers.IntegerField(
        required=False, help_text="0: the past does not count; above: who used much lately gets less beyond the quotas"
    )
    history_window_s = serializers.IntegerField(required=False, help_text="how far back use counts")
    history_half_life_s = serializers.IntegerField(
        required=False, allow_null=True, help_text="use of that age counts half; null: all of the window alike"
    )
    starve_after_s = serializers.IntegerField(
        required=False, allow_null=True, help_text="a job that waits so long gets a reserved start; null: none does"
    )
    starve_cards = serializers.IntegerField(required=False, help_text="if it asks for so many cards or more")
    starve_most = serializers.IntegerField(required=False, help_text="so many reserved starts at once")
    assumed_runtime_s = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text="so long endless running work is taken to run; null: for ever",
    )


class WeightRequest(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=64, help_text="name of a device model")
    hundredths = serializers.IntegerField(help_text="of the reference card; 100 forgets it")


class RulesRow(serializers.Serializer[Any]):
    reclaim_to = serializers.CharField()
    cooldown_s = serializers.IntegerField()
    within_quota = serializers.BooleanField()
    history_strength = serializers.IntegerField()
    history_window_s = serializers.IntegerField()
    history_half_life_s = serializers.IntegerField(allow_null=True)
    starve_after_s = serializers.IntegerField(allow_null=True)
    starve_cards = serializers.IntegerField()
    starve_most = serializers.IntegerField()
    assumed_runtime_s = serializers.IntegerField(allow_null=True)
    weights = serializers.DictField(child=serializers.IntegerField(), help_text="by model; others count 100")


def _rules() -> Response:
    rules = asdict(services.RuleSet.of(sharing.rules()))
    return Response(RulesRow({**rules, "weights": sharing.weights()}).data)


class Rules(ApiView):
    room = "jobs"

    @extend_schema(responses={200: RulesRow}, operation_id="sharing_rules")
    def get(self, request: Request) -> Response:
        """By which rules the pool is shared, and what a card of each model counts."""
        return _rules()

    @extend_schema(request=RulesRequest, responses={200: RulesRow}, operation_id="sharing_rules_set")
    @idempotent
    def post(self, request: Request) -> Response:
        """Change the rules. Operators."""
        given = params.body(RulesRequest, self.sent)
        services.set_rules(self.actor, {name: value for name, value in given.items() if name in self.sent})
        return _rules()


class Weights(ApiView):
    room = "jobs"

    @extend_schema(request=WeightRequest, responses={200: RulesRow}, operation_id="sharing_weights_set")
    @idempotent
    def post(self, request: Request) -> Response:
        """Set what a card of one model counts. Operators."""
        given = params.body(WeightRequest, self.sent)
        services.set_weight(self.actor, given["model"], given["hundredths"])
        return _rules()
