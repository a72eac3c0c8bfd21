"""Filters of the usage page, read from the URL; what does not parse is ignored, never an error page."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing import config
from billing.catalog.queries import model_names
from billing.metering.models import UsageRecord
from billing.metering.queries import UsageFilter, records_for, tenants_for
from billing.rating.calendar import first_of, local_day, next_month
from console.common.actor import Actor
from console.tenants.models import Project, Tenant

LONGEST = timedelta(days=366)
TABS: dict[str, str | Promise] = {
    "day": gettext_lazy("By day"),
    "project": gettext_lazy("By project"),
    "model": gettext_lazy("By model"),
    "queue": gettext_lazy("By queue"),
    "tenant": gettext_lazy("By tenant"),
}
_KEPT = ("first", "last", "tenant", "project", "model")


@dataclass(frozen=True, slots=True)
class Where:
    """`chosen` is what queries take; the texts are what the URL said, for links and form fields."""

    by: str
    chosen: UsageFilter
    tenant: str = ""
    project: str = ""
    tenants: tuple[Tenant, ...] = ()
    narrowed: bool = False

    @property
    def several(self) -> bool:
        return len(self.tenants) > 1

    def query(self, **changes: str) -> str:
        """The URL's query string with `changes`."""
        facts = {
            "by": self.by,
            "first": self.chosen.first.isoformat(),
            "last": self.chosen.last.isoformat(),
            "tenant": self.tenant,
            "project": self.project,
            "model": self.chosen.model_name,
        }
        return urlencode({name: value for name, value in (facts | changes).items() if value})


def read(actor: Actor, params: Mapping[str, Any], now: datetime) -> Where:
    """Default: this month of the seller's zone, all tenants that the actor may bill, by day."""
    texts = {name: str(params.get(name, "")).replace("\0", "").strip()[:100] for name in (*_KEPT, "by")}
    tenants = tuple(tenants_for(actor))
    tenant = next((row for row in tenants if row.slug == texts["tenant"]), None)
    project = _project(tenants, texts["project"])
    month = first_of(local_day(now, config.zone()))
    first = _day(texts["first"]) or month
    last = _day(texts["last"]) or next_month(first) - timedelta(days=1)
    last = min(max(last, first), first + LONGEST)
    chosen = UsageFilter(
        first, last, tenant.pk if tenant else None, project.pk if project else None, texts["model"][:64]
    )
    return Where(
        by=texts["by"] if texts["by"] in TABS else "day",
        chosen=chosen,
        tenant=tenant.slug if tenant else "",
        project=project.public_id if project else "",
        tenants=tenants,
        narrowed=any(texts[name] for name in _KEPT),
    )


def rows(actor: Actor, where: Where) -> QuerySet[UsageRecord]:
    """The usage records that the filter leaves, newest first."""
    wanted: dict[str, Any] = {"day__range": (where.chosen.first, where.chosen.last)}
    if where.chosen.tenant_id is not None:
        wanted["tenant_id"] = where.chosen.tenant_id
    if where.chosen.project_id is not None:
        wanted["project_id"] = where.chosen.project_id
    if where.chosen.model_name:
        wanted["model_name"] = where.chosen.model_name
    return records_for(actor).filter(**wanted)


def tabs(where: Where) -> list[dict[str, Any]]:
    """For components/tabs.html."""
    return [
        {"label": label, "url": f"?{where.query(by=by)}", "current": by == where.by, "count": None}
        for by, label in TABS.items()
        if by != "tenant" or where.several
    ]


def fields(where: Where) -> list[dict[str, Any]]:
    """For components/filters.html."""
    models = [(name, name) for name in model_names()]
    shown: list[dict[str, Any]] = [
        {"name": "by", "kind": "hidden", "value": where.by},
        {"name": "first", "kind": "date", "label": _("From"), "value": where.chosen.first.isoformat()},
        {"name": "last", "kind": "date", "label": _("To and including"), "value": where.chosen.last.isoformat()},
    ]
    if where.several:
        options = [(row.slug, row.name) for row in where.tenants]
        shown.append(_select("tenant", _("Tenant"), where.tenant, options))
    shown.append(_select("project", _("Project"), where.project, _projects(where)))
    shown.append(_select("model", _("Model"), where.chosen.model_name, models))
    return shown


def _select(name: str, label: str, value: str, options: list[tuple[str, str]]) -> dict[str, Any]:
    return {"name": name, "kind": "select", "label": label, "value": value, "options": options}


def _projects(where: Where) -> list[tuple[str, str]]:
    ids = [where.chosen.tenant_id] if where.chosen.tenant_id else [row.pk for row in where.tenants]
    found = Project.objects.filter(tenant_id__in=ids).select_related("tenant").order_by("tenant__slug", "slug")
    return [(row.public_id, f"{row.tenant.slug} / {row.slug}" if where.several else row.slug) for row in found[:500]]


def _project(tenants: tuple[Tenant, ...], public_id: str) -> Project | None:
    if not public_id:
        return None
    return Project.objects.filter(public_id=public_id, tenant__in=tenants).first()


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 2000 <= day.year <= 9000 else None
