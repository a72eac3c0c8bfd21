"""The overview of people who see their own tenants only: their work, what they hold, what it costs, their limits."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from billing import config
from billing.metering import queries as money
from billing.rating.calendar import first_of, local_day, month_bounds
from console.common import clock, formats
from console.common.actor import Actor
from console.tenants.queries import tenants_for
from console.web import events
from console.web.newest import jobs_part
from console.web.strip import Figure, revenue
from pool.inventory import queries as inventory
from pool.scheduling import queries

_HOUR = timedelta(hours=1)
_NODES = 12


@dataclass(frozen=True, slots=True)
class Limit:
    """What a tenant or a queue holds of what it may hold at once, in basis points; `limit` None: no limit."""

    name: str
    held: int
    limit: int | None
    waiting: int
    active: int
    url: str


def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    context = {
        "strip": strip(actor, clock.now()),
        "events": events.latest(actor),
        "limits": limits(actor),
        "nodes": list(inventory.nodes_for(actor)[:_NODES]),
        "works": bool(actor.tenants),
        "money_only": actor.sees_all_money and not actor.tenants,
        **jobs_part(actor, request.GET.get("jobs", "active")),
    }
    return render(request, "web/own.html", context)


def strip(actor: Actor, now: datetime) -> list[Figure]:
    if not actor.tenants:  # finance sees money, not work
        return [revenue(actor, now)] if actor.sees_all_money else []
    counts = queries.open_counts(actor)
    running = sum(counts[state] for state in queries.active_states())
    held, _capacity = inventory.share_held(actor)
    waits = queries.waits(actor, now - _HOUR)
    jobs = reverse("scheduling:job_list")
    shown = [
        Figure("running", _("Running jobs"), formats.count(running), "", "", f"{jobs}?state=active"),
        Figure("queued", _("Queued jobs"), formats.count(counts["queued"]), "", "", f"{jobs}?state=queued"),
        Figure(
            "held",
            _("Cards held"),
            formats.cards(held),
            "",
            _("Compute share that your jobs hold now, in cards."),
        ),
        Figure(
            "wait",
            _("Median queue wait"),
            formats.duration(waits.wait_p50_s),
            _("p95 %(time)s") % {"time": formats.duration(waits.wait_p95_s)},
            _("From being queued to being placed, of your jobs placed within the last hour."),
        ),
    ]
    spent = _spent(actor, now)
    return [*shown, spent] if spent else shown


def _spent(actor: Actor, now: datetime) -> Figure | None:
    """This month's, for those who may read the money of their tenant."""
    start, _end = month_bounds(first_of(local_day(now, config.zone())), config.zone())
    found = money.revenue(actor, start, now)
    if found is None:
        return None
    return Figure(
        "spend",
        _("Spend this month"),
        formats.money(found.amount, found.currency),
        _("%(amount)s an hour now") % {"amount": formats.money(found.per_hour, found.currency)},
        _("Time held since the first of the month at the prices of the price book, running work included."),
        reverse("billing:usage"),
    )


def limits(actor: Actor) -> list[Limit]:
    """Tenants that have a limit, then their queues. Three queries."""
    tenants = list(tenants_for(actor).filter(pk__in=actor.tenants))
    held = dict(
        queries.allocations_for(actor, live=True).order_by().values_list("tenant_id").annotate(total=Sum("share_bp"))
    )
    shown = [
        Limit(tenant.name, held.get(tenant.pk, 0), tenant.limit_share_bp, 0, 0, "")
        for tenant in tenants
        if tenant.limit_share_bp is not None
    ]
    for queue in queries.queues_for(actor):
        url = reverse("scheduling:queue_detail", args=[queue.public_id])
        name = f"{queue.tenant.slug} / {queue.name}" if len(tenants) > 1 else queue.name
        shown.append(
            Limit(name, queue.held_bp or 0, queue.limit_share_bp, queue.waiting, queue.active, url)  # type: ignore[attr-defined]
        )
    return shown
