"""Entitlement against use over time, as charts of the queues' pages."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from console.common.signed_in import actor_of
from console.web import figures
from pool.scheduling import queries
from pool.scheduling.models import Queue, QueueSample
from pool.scheduling.sharing import queries as sharing

MOST = 6  # queues of one chart: more cannot be told apart
_CARD = 10_000
_GAP_S = 900  # five minutes lie between two samples


@require_GET
@never_cache
def queue_trend(request: HttpRequest, public_id: str) -> JsonResponse:
    """A week of one queue: cards held, entitled to and wanted."""
    actor = actor_of(request)
    queue = queries.queue_for(actor, public_id)
    return JsonResponse(_cards(sharing.samples(actor, queue)))


@require_GET
@never_cache
def shares_trend(request: HttpRequest) -> JsonResponse:
    """A day of the largest queues in sight: what each held of its entitlement, in percent."""
    actor = actor_of(request)
    return JsonResponse(_parts(sharing.day_of_largest(actor, MOST)))


def _cards(samples: Sequence[QueueSample]) -> figures.Figure:
    times = [sample.at for sample in samples]
    lines = [
        figures.line(
            _("Held"),
            times,
            [sample.used_bp / _CARD for sample in samples],
            "accent",
            fill=True,
            shape="hv",
            gap_s=_GAP_S,
        ),
        figures.line(
            _("Entitled to"),
            times,
            [s.entitled_bp / _CARD for s in samples],
            "ok",
            dash="dash",
            shape="hv",
            gap_s=_GAP_S,
        ),
        figures.line(
            _("Wanted"), times, [s.wanted_bp / _CARD for s in samples], "warn", dash="dot", shape="hv", gap_s=_GAP_S
        ),
    ]
    return figures.figure(_shown(lines, "%{y:,.2f}"), y={"rangemode": "tozero", "nticks": 5})


def _parts(found: Sequence[tuple[Queue, list[QueueSample]]]) -> figures.Figure:
    looks = [("accent", "solid"), ("warn", "solid"), ("ok", "dash"), ("bad", "dash"), ("ink", "dot"), ("muted", "dot")]
    lines = []
    for (queue, samples), (colour, dash) in zip(found, looks, strict=False):
        values = [
            100 * s.used_bp / s.entitled_bp if s.entitled_bp else (0.0 if not s.used_bp else None) for s in samples
        ]
        name = f"{queue.tenant.slug} / {queue.name}"
        lines.append(figures.line(name, [s.at for s in samples], values, colour, dash=dash, shape="hv", gap_s=_GAP_S))
    return figures.figure(_shown(lines, "%{y:,.0f} %"), y={"rangemode": "tozero", "ticksuffix": " %", "nticks": 5})


def _shown(lines: list[dict[str, Any]], shown: str) -> list[dict[str, Any]]:
    return [{**line, "hovertemplate": shown} for line in lines]


urlpatterns: list[URLPattern] = [
    path("queues/shares/trend.json", shares_trend, name="shares_trend"),
    path("queues/<str:public_id>/trend.json", queue_trend, name="queue_trend"),
]
