"""Usage records, their sums, and prices."""

from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from billing import config
from billing.api.rows import PriceRow, Summary, UsageRow
from billing.catalog import queries as catalog
from billing.catalog.models import Price
from billing.metering import queries, showing
from billing.metering.models import UsageRecord
from billing.metering.pages import RECORDS
from billing.metering.queries import UsageFilter
from billing.metering.queries.usage import BY
from billing.metering.showing import Shown
from billing.rating.amounts import card_hours
from billing.rating.calendar import first_of, local_day, next_month
from console.common import clock
from console.common.actor import Actor
from console.common.api import params
from console.common.api.views import ApiView, ListView
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.common.exports import Column
from console.tenants.models import Project, Tenant

_LONGEST = timedelta(days=366)


class _Days(serializers.Serializer[Any]):
    first = serializers.DateField(required=False, help_text="day in the tenant's billing zone; with `last`, included")
    last = serializers.DateField(required=False)
    tenant = serializers.CharField(required=False, max_length=64)
    project = serializers.CharField(required=False, max_length=64)
    model = serializers.CharField(required=False, max_length=64)


class UsageFilters(_Days, params.Filters):
    pass


class SummaryFilters(_Days):
    by = serializers.ChoiceField(choices=list(BY), required=False, default="day")


class PriceFilters(params.Filters):
    model = serializers.CharField(required=False, max_length=64)
    at = serializers.DateTimeField(required=False, help_text="only those that hold at this moment")


class Usage(ListView):
    """What was held and is charged: one record a piece of time at one price, newest first."""

    room = "billing"
    filters = UsageFilters
    row = UsageRow
    columns = RECORDS
    file_name = "usage"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[UsageRecord]:
        require_money(self.actor)
        rows = queries.records_for(self.actor)
        plain = {
            "first": "day__gte",
            "last": "day__lte",
            "tenant": "tenant__slug",
            "project": "project__slug",
            "model": "model_name",
        }
        return rows.filter(**{column: wanted[name] for name, column in plain.items() if name in wanted})


class UsageSummary(ApiView):
    room = "billing"

    @extend_schema(parameters=[SummaryFilters], responses={200: Summary}, operation_id="usage_summary")
    def get(self, request: Request) -> Response:
        """Usage summed, work that still runs included; this month unless days are given."""
        require_money(self.actor)
        wanted = params.read(SummaryFilters, request.query_params)
        now = clock.now()
        first = wanted.get("first") or first_of(local_day(now, config.zone()))
        last = wanted.get("last") or next_month(first) - timedelta(days=1)
        chosen = _chosen(self.actor, wanted, first, last)
        sums = queries.summary(self.actor, chosen, wanted["by"], now)
        rows, whole = showing.table(sums, queries.total(sums))
        body = {"by": wanted["by"], "first": first, "last": last, "rows": map(_sum, rows), "total": _sum(whole)}
        return Response(Summary({**body, "rows": list(body["rows"])}).data)


class Prices(ListView):
    """Every version of every price, newest first; the same for everyone."""

    room = "billing"
    filters = PriceFilters
    row = PriceRow
    columns = [
        Column("id", "public_id"),
        Column("model", "model_name"),
        Column("isolation", "isolation"),
        Column("per_card_hour", "per_card_hour", "number"),
        Column("currency", "book.currency"),
        Column("valid_from (UTC)", "valid_from", "time"),
        Column("valid_to (UTC)", "valid_to", "time"),
        Column("assumed", "assumed", "bool"),
    ]
    file_name = "prices"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Price]:
        rows = catalog.prices_for(self.actor)
        if "at" in wanted:
            rows = catalog.valid_at(rows, wanted["at"])
        return rows.filter(model_name=wanted["model"]) if "model" in wanted else rows


def require_money(actor: Actor) -> None:
    if not queries.may_see_money(actor):
        raise NotAllowed("usage and its cost are for owners and billing contacts of a tenant")


def _chosen(actor: Actor, wanted: dict[str, Any], first: date, last: date) -> UsageFilter:
    """Another tenant's slug narrows to nothing, exactly like one that does not exist."""
    if not first <= last <= first + _LONGEST:
        raise InvalidInput([FieldError("last", "must not be before `first` and at most 366 days after it")])
    tenant = project = None
    if "tenant" in wanted:
        found = queries.tenants_for(actor).filter(slug=wanted["tenant"]).first()
        tenant = found.pk if found else -1
    if "project" in wanted:
        project = _project(queries.tenants_for(actor), tenant, wanted["project"])
    return UsageFilter(first, last, tenant, project, wanted.get("model", ""))


def _project(tenants: QuerySet[Tenant], tenant: int | None, slug: str) -> int:
    rows = Project.objects.filter(tenant__in=tenants, slug=slug)
    if tenant is not None:
        rows = rows.filter(tenant_id=tenant)
    ids = list(rows.values_list("pk", flat=True)[:2])
    if len(ids) > 1:
        raise InvalidInput([FieldError("tenant", "must be given: several of your tenants have this project")])
    return ids[0] if ids else -1


def _sum(row: Shown) -> dict[str, Any]:
    return {
        "label": row.label,
        "held_hours": str(card_hours(row.held_us)),
        "card_hours": str(card_hours(row.card_us)),
        "unrated_hours": str(card_hours(row.unrated_us)),
        "amounts": [{"currency": currency, "amount": str(amount)} for amount, currency in row.amounts],
    }
