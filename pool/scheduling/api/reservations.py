"""Reserved capacity, and the calendar of it."""

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common import clock
from console.common.api import params
from console.common.api.params import Filters
from console.common.api.views import ApiView, ListView, idempotent
from console.common.errors import FieldError, InvalidInput
from console.common.exports import Column
from console.tenants.queries import tenants_for
from pool.scheduling import queries as scheduling
from pool.scheduling import services
from pool.scheduling.calendar import queries as calendar
from pool.scheduling.models import Reservation

LONGEST = timedelta(days=62)


class ReservationRequest(serializers.Serializer[Any]):
    """`replicas` times `cards` whole cards; those of one replica are of one node."""

    tenant = serializers.CharField(max_length=64, help_text="slug")
    queue = serializers.CharField(
        required=False, allow_null=True, default=None, max_length=40, help_text="id; null: all queues of the tenant"
    )
    name = serializers.CharField(max_length=120)
    replicas = serializers.IntegerField(required=False, default=1)
    cards = serializers.IntegerField(required=False, default=8, help_text="whole cards of one node, a replica")
    models = serializers.ListField(child=serializers.CharField(max_length=64), required=False, default=list)
    level = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=16, help_text="topology level that must hold all of it"
    )
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    every = serializers.ChoiceField(
        choices=Reservation.Every.choices, required=False, default="once", help_text="by the clock of the tenant's zone"
    )
    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    lead_s = serializers.IntegerField(
        required=False, default=3600, help_text="so long before, its cards are chosen and kept for what ends in time"
    )
    lends = serializers.BooleanField(
        required=False, default=True, help_text="until somebody asks, its cards run what can be preempted"
    )
    give_back_s = serializers.IntegerField(required=False, default=120, help_text="and are free within so long then")


class ReservationRow(serializers.ModelSerializer[Reservation]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    queue = serializers.CharField(source="queue.public_id", default=None, allow_null=True)
    models = serializers.ListField(source="models_allowed", child=serializers.CharField())

    class Meta:
        model = Reservation
        fields = [
            "id",
            "tenant",
            "queue",
            "name",
            "state",
            "replicas",
            "cards",
            "models",
            "level",
            "starts_at",
            "ends_at",
            "every",
            "until",
            "lead_s",
            "lends",
            "give_back_s",
            "origin",
            "created_at",
            "cancelled_at",
        ]


class ReservationFilters(Filters):
    state = serializers.ChoiceField(choices=Reservation.State.choices, required=False)
    tenant = serializers.CharField(required=False, max_length=64)


class Reservations(ListView):
    """Reserved capacity of the tenants that you may see."""

    room = "jobs"
    filters = ReservationFilters
    row = ReservationRow
    columns = [
        Column("id", "public_id"),
        Column("tenant", "tenant.slug"),
        Column("name", "name"),
        Column("state", "state"),
        Column("replicas", "replicas", "number"),
        Column("cards", "cards", "number"),
        Column("starts_at (UTC)", "starts_at", "time"),
        Column("ends_at (UTC)", "ends_at", "time"),
        Column("every", "every"),
    ]
    file_name = "reservations"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Reservation]:
        rows = calendar.reservations_for(self.actor)
        if "tenant" in wanted:
            rows = rows.filter(tenant__slug=wanted["tenant"])
        return rows.filter(state=wanted["state"]) if "state" in wanted else rows

    @extend_schema(request=ReservationRequest, responses={201: ReservationRow}, operation_id="reservations_create")
    @idempotent
    def post(self, request: Request) -> Response:
        """Reserve capacity. Operators; 409 (no_room) where the hardware cannot keep it beside what overlaps it."""
        given = params.body(ReservationRequest, self.sent)
        tenant = tenants_for(self.actor).filter(slug=given.pop("tenant")).first()
        if tenant is None:
            raise InvalidInput([FieldError("tenant", _("is not a tenant of yours"))])
        named = given.pop("queue")
        queue = None if named is None else scheduling.queues_for(self.actor).filter(public_id=named).first()
        if named is not None and queue is None:
            raise InvalidInput([FieldError("queue", _("is not a queue of the tenant"))])
        row = services.reserve(self.actor, tenant, services.Wanted(queue=queue, **given))
        headers = {"Location": f"/api/v1/reservations/{row.public_id}"}
        return Response(ReservationRow(row).data, status=201, headers=headers)


class ReservationPage(ApiView):
    room = "jobs"

    @extend_schema(responses={200: ReservationRow}, operation_id="reservation")
    def get(self, request: Request, public_id: str) -> Response:
        """One reservation."""
        return Response(ReservationRow(calendar.reservation_for(self.actor, public_id)).data)


class Cancel(ApiView):
    room = "jobs"

    @extend_schema(request=None, responses={200: ReservationRow}, operation_id="reservations_cancel")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Give it up: its cards are free at once. Operators, and owners of the tenant what nobody bought."""
        row = calendar.reservation_for(self.actor, public_id)
        services.cancel(self.actor, row)
        return Response(ReservationRow(row).data)


class CalendarFilters(Filters):
    since = serializers.DateTimeField(required=False, help_text="now, if not given")
    until = serializers.DateTimeField(required=False, help_text="a week after `since`, if not given; at most 62 days")


class EntryRow(serializers.Serializer[Any]):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField(allow_null=True)
    tenant = serializers.CharField(source="tenant.slug")
    name = serializers.CharField()
    cards = serializers.IntegerField()
    state = serializers.CharField(
        help_text="planned, kept, current, short, ended, dropped; of a job's start kept, estimated, started, dropped"
    )
    reservation = serializers.CharField(source="reservation.public_id", default=None, allow_null=True)
    job = serializers.CharField(source="job.public_id", default=None, allow_null=True)


class Calendar(ApiView):
    room = "jobs"

    @extend_schema(parameters=[CalendarFilters], responses={200: EntryRow(many=True)}, operation_id="calendar")
    def get(self, request: Request) -> Response:
        """Occurrences of reservations and reserved starts of jobs within a time, yours."""
        given = params.read(CalendarFilters, request.GET)
        now = clock.now()
        since = given.get("since") or now
        until = given.get("until") or since + timedelta(days=7)
        if not since < until <= since + LONGEST:
            text = _("must be after since, by at most %(days)s days") % {"days": LONGEST.days}
            raise InvalidInput([FieldError("until", text)])
        return Response(EntryRow(calendar.entries(self.actor, since, until, now), many=True).data)
