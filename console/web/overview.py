"""The overview at "/": the whole pool for operators and auditors, their own work and money for everyone else."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.common import clock
from console.common.errors import NotAllowed, NotFound
from console.common.signed_in import actor_of
from console.web import events, figures, heat_texts, own, strip
from console.web.newest import jobs_part
from pool.nodes import readings
from pool.scheduling.defrag import queries as defrag

_TREND = timedelta(hours=6)
WEEK = 2_016  # samples of five minutes


@require_GET
@never_cache
def overview(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    if not actor.sees_all_work:
        return own.page(request, actor)
    context = {
        "strip": strip.for_platform(actor),
        "events": events.latest(actor),
        "heat_texts": heat_texts.texts(),
        **jobs_part(actor, request.GET.get("jobs", "active")),
    }
    return render(request, "web/overview.html", context)


@require_GET
@never_cache
def strip_part(request: HttpRequest) -> HttpResponse:
    """The figures alone, for the page that renews them."""
    actor = actor_of(request)
    shown = strip.for_platform(actor) if actor.sees_all_work else own.strip(actor, clock.now())
    return render(request, "web/strip_news.html", {"strip": shown})


@require_GET
@never_cache
def events_part(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    return render(request, "web/events.html", {"events": events.latest(actor)})


@require_GET
@never_cache
def jobs(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    return render(request, "web/jobs.html", jobs_part(actor, request.GET.get("jobs", "active")))


@require_GET
@never_cache
def trend(request: HttpRequest, chart: str) -> JsonResponse:
    """`chart`: "use" or "queue", the last hours of the whole pool, or "fragmentation", its last week."""
    actor = actor_of(request)
    if not actor.sees_all_work:
        raise NotAllowed(_("The trends of the whole pool are for operators and auditors."))
    if chart == "fragmentation":
        return JsonResponse(figures.fragmentation(list(reversed(defrag.samples_for(actor)[:WEEK]))))
    samples = readings.pool_samples(clock.now() - _TREND)
    if chart == "use":
        return JsonResponse(figures.pool_use(samples))
    if chart == "queue":
        return JsonResponse(figures.queue_depth(samples))
    raise NotFound(_("there is no such chart"))


urlpatterns: list[URLPattern] = [
    path("", overview, name="overview"),
    path("overview/strip", strip_part, name="overview_strip"),
    path("overview/events", events_part, name="overview_events"),
    path("overview/jobs", jobs, name="overview_jobs"),
    path("overview/trends/<str:chart>.json", trend, name="overview_trend"),
]
