"""The price list: all may read it, finance sets and cancels."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from billing import config
from billing.catalog import queries, services
from billing.catalog.backdating import ask_to_backdate
from billing.catalog.forms import PriceForm
from billing.catalog.models import PRODUCTS, Price
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from pool.inventory.models import DeviceModel

PAGE = 100
COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Model"), "model_name"),
    Column(gettext_lazy("Isolation"), "isolation"),
    Column(gettext_lazy("Price per card-hour"), "per_card_hour", "number"),
    Column(gettext_lazy("Currency"), "book.currency"),
    Column(gettext_lazy("Valid from (UTC)"), "valid_from", "time"),
    Column(gettext_lazy("Valid to (UTC)"), "valid_to", "time"),
    Column(gettext_lazy("Assumed"), "assumed", "bool"),
    Column(gettext_lazy("Note"), "note"),
]
TABS = {
    "now": gettext_lazy("Valid now"),
    "scheduled": gettext_lazy("Scheduled"),
    "past": gettext_lazy("Past"),
    "all": gettext_lazy("All"),
}


@require_http_methods(["GET", "POST"])
def prices(request: HttpRequest) -> HttpResponse:
    """Filters: when (a tab), q, isolation, fleet. POST sets a price."""
    actor = actor_of(request)
    if request.method == "POST":
        services.check_may_set(actor)
    form = PriceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _is_asked(form) and _ask(actor, form):
        messages.success(request, _("It is asked for: the price changes once a second finance officer approves."))
        return redirect("billing:price_list")
    if request.method == "POST" and form.is_valid() and not _is_asked(form) and _set(actor, form):
        messages.success(request, _("The price is set. What was used before keeps its own."))
        return redirect("billing:price_list")
    now = clock.now()
    page = page_of(_filtered(actor, request, now), request.GET, PAGE)
    context = {
        "page": page,
        "now": now,
        "when": _when(request),
        "tabs": _tabs(request),
        "filters": _filters(request),
        "filtered": any(request.GET.get(name) for name in ("q", "isolation", "fleet")),
        "form": form if actor.is_finance else None,
        "models": queries.model_names() if actor.is_finance else [],
        "currency": config.currency(),
        "some_assumed": any(row.assumed for row in page.rows),
        "entry_differs": _entry_differs(now),
    }
    return render(request, "billing/price_list.html", context, status=422 if form.errors else 200)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    actor = actor_of(request)
    rows = _filtered(actor, request, clock.now()).iterator(chunk_size=1000)
    return export_response(request.GET.get("format", "csv"), rows, COLUMNS, "prices")


@require_POST
def cancel(request: HttpRequest, public_id: str) -> HttpResponse:
    """Takes back a price that has not begun."""
    actor = actor_of(request)
    try:
        services.cancel_price(actor, queries.price_for(actor, public_id))
        messages.success(request, _("The scheduled price is cancelled."))
    except Conflict as refusal:
        messages.warning(request, refusal.message)
    return redirect("billing:price_list")


def _is_asked(form: PriceForm) -> bool:
    """Whether a second person is to allow a price for time that is past."""
    begin = form.cleaned_data.get("valid_from")
    return bool(form.cleaned_data.get("reason")) and begin is not None and begin < clock.now()


def _ask(actor: Actor, form: PriceForm) -> bool:
    return _tried(form, lambda: ask_to_backdate(actor, form.facts(), form.cleaned_data["reason"]))


def _set(actor: Actor, form: PriceForm) -> bool:
    return _tried(form, lambda: services.set_price(actor, **form.facts()))


def _tried(form: PriceForm, act: Callable[[], object]) -> bool:
    try:
        act()
    except InvalidInput as refusal:
        for error in refusal.errors:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        return False
    except Conflict as refusal:
        form.add_error("valid_from", refusal.message)
        return False
    return True


def _filtered(actor: Actor, request: HttpRequest, now: datetime) -> QuerySet[Price]:
    rows = queries.prices_for(actor)
    when = _when(request)
    if when == "now":
        rows = queries.valid_at(rows, now)
    elif when == "scheduled":
        rows = rows.filter(valid_from__gt=now)
    elif when == "past":
        rows = queries.ended_by(rows, now)
    text = request.GET.get("q", "").replace("\0", "").strip()[:64]
    if text:
        rows = rows.filter(model_name__icontains=text)
    if request.GET.get("isolation") in dict(PRODUCTS):
        rows = rows.filter(isolation=request.GET["isolation"])
    if request.GET.get("fleet") == "yes":
        rows = rows.filter(model_name__in=DeviceModel.objects.values("name"))
    return rows


def _when(request: HttpRequest) -> str:
    when = request.GET.get("when", "now")
    return when if when in TABS else "now"


def _tabs(request: HttpRequest) -> list[dict[str, Any]]:
    shown = []
    for key, label in TABS.items():
        query = request.GET.copy()
        for name in ("after", "before"):
            query.pop(name, None)
        query["when"] = key
        shown.append({"label": label, "url": f"?{query.urlencode()}", "current": key == _when(request), "count": None})
    return shown


def _filters(request: HttpRequest) -> list[dict[str, Any]]:
    given = request.GET
    fleet = [("yes", _("Models of this fleet"))]
    return [
        {"name": "when", "kind": "hidden", "value": _when(request)},
        {"name": "q", "kind": "text", "label": _("Model"), "value": given.get("q", "")},
        {
            "name": "isolation",
            "kind": "select",
            "label": _("Isolation"),
            "value": given.get("isolation", ""),
            "options": PRODUCTS,
        },
        {"name": "fleet", "kind": "select", "label": _("Fleet"), "value": given.get("fleet", ""), "options": fleet},
    ]


def _entry_differs(now: datetime) -> bool:
    """Whether the book sells the entry model at another price than the entry slice names."""
    entry = config.entry()
    prices_now = queries.load_currency(entry.currency)
    if prices_now is None:
        return False
    versions = [prices_now.of(entry.model, isolation).at(now) for isolation, _label in PRODUCTS]
    return any(version is not None and version.price != entry.per_card_hour for version in versions)
