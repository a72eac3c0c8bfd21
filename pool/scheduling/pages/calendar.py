"""The calendar of a week: a picture, and the same as a table."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.common import clock
from console.common.actor import Actor
from console.common.signed_in import actor_of
from pool.scheduling.calendar import queries as calendar
from pool.scheduling.calendar.queries import Entry
from pool.scheduling.services.reservations import may_cancel, may_reserve

STATES: dict[str, tuple[str | Promise, str]] = {
    "planned": (gettext_lazy("planned"), ""),
    "kept": (gettext_lazy("cards kept"), "accent"),
    "current": (gettext_lazy("now"), "ok"),
    "short": (gettext_lazy("fewer cards than reserved"), "warn"),
    "estimated": (gettext_lazy("an estimate"), "warn"),
    "started": (gettext_lazy("started"), "ok"),
    "ended": (gettext_lazy("ended"), ""),
    "dropped": (gettext_lazy("dropped"), "bad"),
}
DAYS = 7
# the picture, in its own units
LEFT, TOP, WIDE, HOUR = 44, 26, 140, 22
HEIGHT = TOP + 24 * HOUR


@dataclass(frozen=True, slots=True)
class Row:
    """An entry in words. `tone`: as of badges."""

    entry: Entry
    state: str
    tone: str
    may_cancel: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an entry within one day, where it stands in the picture."""

    row: Row
    x: int
    y: int
    width: int
    height: int

    @property
    def room(self) -> int:
        """Letters that it has room for."""
        return max(0, self.width // 7 - 1)

    @property
    def label(self) -> str:
        name = self.row.entry.name
        return name if len(name) <= self.room else name[: max(0, self.room - 1)] + "…"


@require_GET
def week(request: HttpRequest) -> HttpResponse:
    """`?week=2026-03-16` (any day of it); by the person's own clock."""
    actor = actor_of(request)
    now = clock.now()
    first = _monday(request.GET.get("week", ""), timezone.localtime(now).date())
    since, until = _midnight(first), _midnight(first + timedelta(days=DAYS))
    rows = [_row(actor, entry) for entry in calendar.entries(actor, since, until, now)]
    shown = [row for row in rows if row.entry.state != "dropped"]
    days = [first + timedelta(days=at) for at in range(DAYS)]
    context = {
        "rows": rows,
        "days": [(day, LEFT + at * WIDE + 6) for at, day in enumerate(days)],
        "lines": [LEFT + at * WIDE for at in range(DAYS + 1)],
        "hours": [(hour, TOP + hour * HOUR) for hour in range(0, 25, 4)],
        "blocks": [block for at, day in enumerate(days) for block in _blocks(shown, day, at)],
        "now": _now(now, first),
        "size": (LEFT + DAYS * WIDE, HEIGHT + 4),
        "left": LEFT,
        "first": first,
        "last": days[-1],
        "before": first - timedelta(days=DAYS),
        "after": first + timedelta(days=DAYS),
        "may_reserve": may_reserve(actor),
        "several_tenants": actor.sees_all_work or len(actor.tenants) > 1,
    }
    return render(request, "scheduling/calendar.html", context)


def _monday(text: str, today: date) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = today
    if not 2000 <= day.year <= 2200:
        day = today
    return day - timedelta(days=day.weekday())


def _midnight(day: date) -> datetime:
    local = datetime(day.year, day.month, day.day, tzinfo=timezone.get_current_timezone())
    return local.astimezone(UTC)


def _row(actor: Actor, entry: Entry) -> Row:
    word, tone = STATES.get(entry.state, (entry.state, ""))
    of = entry.reservation
    live = of is not None and of.state == of.State.ACTIVE
    return Row(entry, str(word), tone, live and of is not None and may_cancel(actor, of))


def _blocks(rows: list[Row], day: date, at: int) -> list[Block]:
    """Entries of a day side by side where they overlap."""
    start, end = _midnight(day), _midnight(day + timedelta(days=1))
    parts = []
    for row in rows:
        begins, ends = row.entry.start, row.entry.end or row.entry.start + timedelta(hours=1)
        if begins < end and ends > start:
            parts.append((max(begins, start), min(ends, end), row))
    lanes: list[datetime] = []
    placed = []
    for begins, ends, row in sorted(parts, key=lambda part: (part[0], part[1])):
        lane = next((n for n, free in enumerate(lanes) if free <= begins), len(lanes))
        lanes[lane : lane + 1] = [ends]
        placed.append((lane, begins, ends, row))
    width = (WIDE - 4) // max(1, len(lanes))
    return [
        Block(
            row,
            LEFT + at * WIDE + 2 + lane * width,
            TOP + _y(begins - start),
            max(4, width - 2),
            max(6, _y(ends - begins) - 1),
        )
        for lane, begins, ends, row in placed
    ]


def _y(span: timedelta) -> int:
    return round(span.total_seconds() / 3600 * HOUR)


def _now(now: datetime, first: date) -> tuple[int, int] | None:
    """Where the present moment is, if it is in this week."""
    at = (timezone.localtime(now).date() - first).days
    if not 0 <= at < DAYS:
        return None
    return LEFT + at * WIDE, TOP + _y(now - _midnight(first + timedelta(days=at)))
