"""When a reservation recurs: by the clock on the wall of its zone, whatever the changes between summer and winter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Literal

Every = Literal["once", "day", "weekday", "week"]
EVERY: Final = ("once", "day", "weekday", "week")
MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Recurrence:
    """``start`` (aware) is the first; ``until``: none begins after it; None: without end."""

    start: datetime
    duration: timedelta
    every: Every = "once"
    until: datetime | None = None

    def __post_init__(self) -> None:
        if self.start.tzinfo is None:
            raise ValueError("start: has no time zone")
        if self.duration <= timedelta(0):
            raise ValueError(f"duration: {self.duration} is not above 0")
        if self.every not in EVERY:
            raise ValueError(f"every: {self.every!r} is not one of {', '.join(EVERY)}")
        if self.every != "once" and self.duration > timedelta(days=7 if self.every == "week" else 1):
            raise ValueError(f"duration: {self.duration} reaches into the next one")


def occurrences(
    rule: Recurrence, zone: tzinfo, since: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Start and end, in UTC, of all that overlap ``since`` to ``until``, in order; :data:`MOST` at most."""
    step = timedelta(days=7 if rule.every == "week" else 1)
    first = rule.start.astimezone(zone)
    skipped = (
        max(0, (since.astimezone(zone).date() - first.date()).days // step.days - 8) if rule.every != "once" else 0
    )
    for number in range(skipped, skipped + MOST):
        local = first.replace(tzinfo=None) + number * step
        start = local.replace(tzinfo=zone, fold=first.fold).astimezone(UTC) if number else rule.start.astimezone(UTC)
        end = start + rule.duration
        if start >= until or (rule.until is not None and start > rule.until):
            return
        if end > since and not (rule.every == "weekday" and local.weekday() >= 5):
            yield start, end
        if rule.every == "once":
            return
