"""`{% load weir %}`: icons, states, times, bars and units. Usage is in templates/components/README.md."""

import shlex
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import lucide
from django import template
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from console.common import formats
from console.web import tones

register = template.Library()

register.filter("share", formats.share)
register.filter("cards", formats.cards)
register.filter("memory", formats.memory)
register.filter("cpu", formats.cpu)
register.filter("count", formats.count)
register.filter("duration", formats.duration)


@register.simple_tag
@lru_cache(maxsize=512)
def icon(name: str, size: int = 16, label: str = "") -> SafeString:
    """A lucide icon; hidden from screen readers unless it has a label."""
    extra = {"role": "img", "aria-label": str(label)} if label else {"aria-hidden": "true"}
    # the wheel carries the pictures: nothing here comes from a user
    return mark_safe(lucide._render_icon(str(name), size, focusable="false", **{"class": "icon"}, **extra))  # noqa: S308


@register.simple_tag
def state(value: str, label: Any = "", *, tone: str = "", detail: Any = "") -> SafeString:
    """`{% state job.state job.get_state_display %}`: icon and word; `detail` becomes the title."""
    found = tones.tone_of(str(value))
    return format_html(
        '<span class="state tone-{}" data-state="{}"{}>{}<span>{}</span></span>',
        tone or found.tone,
        value,
        format_html(' title="{}"', detail) if detail else "",
        icon(found.icon, 14),
        label or value,
    )


@register.simple_tag
def money(amount: Decimal | None, currency: str = "CNY", places: int = 2) -> SafeString:
    return format_html('<span class="num">{}</span>', formats.money(amount, currency, places))


@register.simple_tag
def rate(amount: Decimal | None, currency: str = "CNY") -> SafeString:
    """A price: at least two decimals, and as many more as it has, up to six."""
    return format_html('<span class="num">{}</span>', formats.rate(amount, currency))


@register.simple_tag
def when(moment: datetime | None, style: str = "relative") -> SafeString:
    """A <time>: `relative` ("3 min ago", kept current by shell.js), `date`, `time` or `full`."""
    if moment is None:
        return mark_safe('<span class="muted">–</span>')
    local = timezone.localtime(moment)
    full = f"{date_format(local, 'Y-m-d H:i:s')} {offset(local)}"
    text = {
        "relative": lambda: ago(moment),
        "date": lambda: date_format(local, "DATE_FORMAT"),
        "time": lambda: date_format(local, "H:i:s"),
        "full": lambda: full,
    }[style]()
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        moment.isoformat(),
        full,
        mark_safe(" data-relative") if style == "relative" else "",
        text,
    )


@register.simple_tag
def ticking(span: timedelta, start: datetime) -> SafeString:
    """How long something has lasted since `start`: `span` by the server's clock, counted on by static/js/elapsed.js.

    A timer's text is not read out each second (its aria-live is off).
    """
    return format_html(
        '<span role="timer" data-elapsed="{}" data-since="{}">{}</span>',
        max(0, int(span.total_seconds() * 1000)),
        start.isoformat(),
        formats.duration(span),
    )


def offset(local: datetime) -> str:
    """UTC, UTC+8, UTC-3:30: an abbreviation such as CST means one thing in Shanghai and another in Chicago."""
    minutes = int((local.utcoffset() or timedelta()).total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return "UTC" if not minutes else f"UTC{sign}{hours}" + (f":{rest:02}" if rest else "")


@register.simple_tag
def relative_words() -> SafeString:
    """The words of `ago`, for static/js/times.js, which keeps them current."""
    words = {"ago": _("%(time)s ago"), "in": _("in %(time)s")}
    units = {"s": _("%(n)s s"), "min": _("%(n)s min"), "h": _("%(n)s h"), "d": _("%(n)s d")}
    return json_script(words | units, "relative-words")


def ago(moment: datetime) -> str:
    passed = timezone.now() - moment
    if passed < timedelta(0):
        return _("in %(time)s") % {"time": _coarse(-passed)}
    return _("%(time)s ago") % {"time": _coarse(passed)}


def _coarse(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < 60:
        return _("%(n)s s") % {"n": seconds}
    if seconds < 3600:
        return _("%(n)s min") % {"n": seconds // 60}
    if seconds < 2 * 86400:
        return _("%(n)s h") % {"n": seconds // 3600}
    return _("%(n)s d") % {"n": seconds // 86400}


@register.simple_tag
def bar(value: float, maximum: float, label: str = "", tone: str = "") -> SafeString:
    """A thin bar. SVG attributes, because the CSP allows no style attribute."""
    part = 0.0 if not maximum else max(0.0, min(1.0, float(value) / float(maximum)))
    return format_html(
        '<svg class="bar {}" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="bar-back" width="100" height="6" /><rect class="bar-fill" width="{}" height="6" /></svg>',
        f"tone-{tone}" if tone else "",
        label or f"{round(100 * part)} %",
        f"{100 * part:.2f}",
    )


@register.filter
def milliseconds(microseconds: int) -> str:
    """Microseconds as milliseconds with one decimal."""
    return number_format(microseconds / 1000, decimal_pos=1)


@register.filter
def shell_words(command: list[str]) -> str:
    """An argv as one would type it."""
    return shlex.join(str(word) for word in command)


@register.filter
def minus(a: Any, b: Any) -> Any:
    return a - b


@register.filter
def item(mapping: Any, key: Any) -> Any:
    """`{{ mapping|item:key }}`; empty when absent."""
    return mapping.get(key, "") if hasattr(mapping, "get") else ""
