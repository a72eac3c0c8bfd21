"""What a card in MIG mode can be cut into next."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api.views import ApiView
from pool.inventory import queries as inventory
from pool.scheduling.defrag import mig


class OptionRow(serializers.Serializer[Any]):
    profile = serializers.CharField()
    start = serializers.IntegerField(help_text="memory slot at which it begins")
    size = serializers.IntegerField(help_text="memory slots")
    evicts = serializers.ListField(child=serializers.CharField(), help_text="jobs that must go first; empty: it fits")
    cost_s = serializers.IntegerField(help_text="GPU-seconds that their moves lose")
    blocked = serializers.BooleanField(help_text="one of them may not be moved")
    room_bp = serializers.IntegerField(help_text="room that is left for the observed mix, of an empty card's")
    best = serializers.BooleanField(help_text="of its profile")


class MigRow(serializers.Serializer[Any]):
    """`options` is empty for a card that is not in MIG mode."""

    family = serializers.CharField()
    mix = serializers.DictField(child=serializers.IntegerField(), help_text="how often each profile is asked for, bp")
    options = OptionRow(many=True)


class DeviceMig(ApiView):
    room = "fleet"

    @extend_schema(responses={200: MigRow}, operation_id="devices_mig")
    def get(self, request: Request, public_id: str) -> Response:
        """Every legal next profile with its placements, what it costs and whom it evicts. Operators and auditors."""
        plan = mig.plan_of(self.actor, inventory.device_for(self.actor, public_id))
        if plan is None:
            return Response(MigRow({"family": "", "mix": {}, "options": []}).data)
        options = [
            {
                "profile": each.profile,
                "start": each.start,
                "size": each.size,
                "evicts": [plan.held[key].job.public_id for key in each.evicts],
                "cost_s": each.cost,
                "blocked": each.blocked,
                "room_bp": each.room,
                "best": each.best,
            }
            for each in plan.options
        ]
        return Response(MigRow({"family": plan.family.key, "mix": plan.mix, "options": options}).data)
