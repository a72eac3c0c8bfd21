"""How the outlook of a waiting job reads in answers."""

from typing import Any

from rest_framework import serializers


class OutlookRow(serializers.Serializer[Any]):
    """When it would start, and what is in the way. Times are rounded outwards."""

    at = serializers.DateTimeField(help_text="when the scheduler told this")
    place = serializers.IntegerField(help_text="in its queue, from 1")
    line = serializers.IntegerField(help_text="jobs that wait in its queue")
    overall = serializers.IntegerField(allow_null=True, help_text="place among all; for those who see all work")
    all_waiting = serializers.IntegerField(allow_null=True, help_text="for those who see all work")
    rule = serializers.CharField(help_text="plain: priority, then age; fair: by what queues are entitled to")
    blocker = serializers.CharField(help_text="queue_held, room_made, limit, capacity, or empty: not looked at yet")
    no_room = serializers.CharField(
        help_text="why nobody is stopped for it: barred, not_entitled, no_victims, not_enough, never, none, or empty"
    )
    no_room_queue = serializers.CharField(help_text="whose entitlement or limit that is, where yours to know")
    basis = serializers.CharField(
        help_text="history; or why there is none: held, room_made (soon), not_yet, unknown (what it waits for is not"
        " known to end), beyond (later than horizon)"
    )
    early = serializers.DateTimeField(allow_null=True, help_text="nine of ten times not before")
    middle = serializers.DateTimeField(allow_null=True)
    late = serializers.DateTimeField(allow_null=True, help_text="nine of ten times not after; null: not known")
    horizon = serializers.DateTimeField(allow_null=True, help_text="nothing later was looked at")
    groups = serializers.ListField(
        child=serializers.CharField(), help_text="whose run times it goes by: class, queue, tenant, pool"
    )
