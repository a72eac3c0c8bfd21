"""The strip of figures on top of the overview. Read by every open browser every few seconds, so it is shared."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from django.core.cache import cache
from django.urls import reverse
from django.utils import formats as numbers
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from billing import config
from billing.metering import queries as money
from billing.rating.calendar import day_start, local_day
from console.common import clock, formats
from console.common.actor import Actor
from pool.inventory import queries as inventory
from pool.nodes import readings
from pool.scheduling import figures, queries

log = structlog.get_logger(__name__)
T = TypeVar("T")
_PERIOD = timedelta(hours=1)
_DAY = timedelta(days=1)
_MINUTE, _FRESH = timedelta(minutes=1), timedelta(minutes=5)
_QUICK_S, _SLOW_S = 4, 20


@dataclass(frozen=True, slots=True)
class Figure:
    """`help` defines the figure; `note` is the small line below."""

    key: str
    label: str
    value: str
    note: str = ""
    help: str = ""
    url: str = ""


def for_platform(actor: Actor) -> list[Figure]:
    """What an operator or auditor sees. Money only where the actor may read all of it."""
    now = clock.now()
    strip = [_allocated(actor, now), _utilisation(now), _fragmentation(), *_times(actor, now)]
    if actor.sees_all_money:
        strip.append(revenue(actor, now))
    return strip


def _allocated(actor: Actor, now: datetime) -> Figure:
    held, capacity = _shared("allocated", _QUICK_S, lambda: inventory.share_held(actor))
    before = readings.sample_before(now - _DAY)
    note = _("%(held)s of %(all)s cards") % {"held": formats.cards(held), "all": formats.cards(capacity)}
    if before is not None and before.devices and capacity and before.at > now - 2 * _DAY:
        change = 100 * held / capacity - before.share_bp / (before.devices * 100)
        sign = "+" if change >= 0 else "−"
        note = _("%(sign)s%(points)s pt vs 24 h") % {"sign": sign, "points": _number(abs(change), 1)}
    return Figure(
        "allocated",
        _("Allocated"),
        formats.percent(held, capacity),
        note,
        _("Compute share held by jobs, of all cards of the fleet, faulty and cordoned ones included."),
    )


def _utilisation(now: datetime) -> Figure:
    summary = readings.pool_summary()
    bp = summary["utilisation_bp"] if summary else None
    note = _("no node reports") if bp is None else ""
    if bp == 0 and not _sampled(now):
        bp, note = None, _("no figure yet: the first minute")
    elif summary and bp is not None:
        note = _("%(some)s of %(all)s report") % {
            "some": formats.count(summary["reporting"]),
            "all": formats.count(summary["devices"]),
        }
    value = "–" if bp is None else f"{_number(bp / 100, 1)} %"
    return Figure(
        "utilisation",
        _("GPU utilisation"),
        value,
        note,
        _("Mean over all cards that report, idle ones included. The heatmap shows it card by card."),
    )


def _sampled(now: datetime) -> bool:
    """Whether the pool was measured a minute ago. The first reports of nodes that have just come up carry zeros."""
    newest = readings.sample_before(now - _MINUTE)
    return newest is not None and newest.at > now - _FRESH


def _fragmentation() -> Figure:
    bp = figures.fragmentation_bp()
    return Figure(
        "fragmentation",
        _("Fragmentation"),
        "–" if bp is None else f"{_number(bp / 100, 1)} %",
        _("free but unusable") if bp is not None else _("no scheduler runs"),
        _(
            "Share of the open capacity that is free but that a typical request could not use: too small a rest on a"
            " card, too few whole cards on a node, too little CPU, another model, no room for its MIG slice. The mean"
            " over the requests of late, weighted by how often they come. At 0 all that is free serves everyone."
        ),
    )


def _times(actor: Actor, now: datetime) -> list[Figure]:
    waits = _shared("waits", _QUICK_S, lambda: queries.waits(actor, now - _PERIOD))
    release_us = _shared("release", _QUICK_S, lambda: queries.release_p99_us(actor, now - _PERIOD))
    return [
        Figure(
            "wait",
            _("Median queue wait"),
            formats.duration(waits.wait_p50_s),
            _("p95 %(time)s") % {"time": formats.duration(waits.wait_p95_s)},
            _("From being queued to being placed, of the jobs placed within the last hour."),
            reverse("scheduling:job_list") + "?state=queued",
        ),
        Figure(
            "decision",
            _("Decision p99"),
            _micro(waits.decision_p99_us),
            _("median %(time)s") % {"time": _micro(waits.decision_p50_us)},
            _("Time the engine took to choose a place, of the decisions within the last hour."),
        ),
        Figure(
            "reclaim",
            _("Reclaim p99"),
            _micro(release_us),
            _("goal 50 ms"),
            _("From the true end of a process to its capacity being free again, within the last hour."),
        ),
    ]


def revenue(actor: Actor, now: datetime) -> Figure:
    start = day_start(local_day(now, config.zone()), config.zone())
    found = _shared("revenue", _SLOW_S, lambda: money.revenue(actor, start, now))
    if found is None:
        return Figure("revenue", _("Revenue today"), "–")
    return Figure(
        "revenue",
        _("Revenue today"),
        formats.money(found.amount, found.currency),
        _("forecast %(amount)s") % {"amount": formats.money(found.forecast, found.currency, 0)},
        _(
            "Time held since midnight (%(zone)s) at the prices of the price book, running work included. The forecast"
            " lets what runs now run on until midnight."
        )
        % {"zone": config.zone().key},
        reverse("billing:usage"),
    )


def _micro(microseconds: int | None) -> str:
    if microseconds is None:
        return "–"
    if microseconds < 1000:
        return _("%(n)s µs") % {"n": _number(microseconds, 0)}
    if microseconds < 100_000:
        return _("%(n)s ms") % {"n": _number(microseconds / 1000, 1)}
    return formats.duration(microseconds / 1_000_000)


def _number(value: float, places: int) -> str:
    return numbers.number_format(round(value, places), decimal_pos=places, force_grouping=True)


def _shared(name: str, seconds: int, read: Callable[[], T]) -> T:
    """One read for all browsers of all who see the whole platform; without Valkey everyone reads for himself."""
    key = f"web:strip:{name}"
    missing = object()
    try:
        found: Any = cache.get(key, missing)
        if found is missing:
            found = read()
            cache.set(key, found, seconds)
        return found  # type: ignore[no-any-return]
    except (RedisError, OSError) as error:
        log.warning("strip_not_shared", figure=name, error=str(error))
        return read()
