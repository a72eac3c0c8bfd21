"""Who may enter a window, when reservations recur, and whether they fit together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pool.engine import Fleet, ReplicaRequest
from pool.engine.calendar import Recurrence, Visitor, Window, all_fit, may_enter, occurrences
from tests.engine import make

PLAIN, LENDS = Window(1, 1_000), Window(1, 1_000, lends=True, give_back_s=60)


@pytest.mark.parametrize(
    ("window", "visitor", "now", "own", "entry"),
    [
        (PLAIN, Visitor(100, False), 900, False, "before"),  # to end in the same second is to end before
        (PLAIN, Visitor(101, False), 900, False, None),
        (PLAIN, Visitor(None, True), 0, False, None),
        (PLAIN, Visitor(None, False), 0, True, "own"),
        (LENDS, Visitor(None, True), 900, False, "lent"),
        (LENDS, Visitor(None, True), 2_000, False, "lent"),  # also while it goes on, as long as nobody asks
        (LENDS, Visitor(None, False), 0, False, None),
        (LENDS, Visitor(None, True, 61), 0, False, None),  # it would be given back too late
        (LENDS, Visitor(None, True, 60), 0, False, "lent"),
        (LENDS, Visitor(50, False), 2_000, False, None),
    ],
)
def test_who_may_enter(window: Window, visitor: Visitor, now: int, own: bool, entry: str | None) -> None:
    assert may_enter(window, visitor, now, own) == entry


SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=NEW_YORK)
HOURS = timedelta(hours=2)


def starts(rule: Recurrence, since: datetime, days: int, zone: ZoneInfo = NEW_YORK) -> list[datetime]:
    return [start.astimezone(zone) for start, _ in occurrences(rule, zone, since, since + timedelta(days=days))]


def test_each_day_at_the_same_time_of_the_wall_clock() -> None:
    """On 8 March 2026 the clocks of New York go forward."""
    found = starts(Recurrence(MONDAY, HOURS, "day"), MONDAY, 10)
    assert [(at.day, at.hour) for at in found] == [(day, 9) for day in range(2, 12)]
    assert found[6].utcoffset() != found[5].utcoffset()


def test_weekdays_weeks_and_the_end() -> None:
    days = [at.day for at in starts(Recurrence(MONDAY, HOURS, "weekday"), MONDAY, 14)]
    assert days == [2, 3, 4, 5, 6, 9, 10, 11, 12, 13]
    until = MONDAY + timedelta(days=15)
    weeks = starts(Recurrence(MONDAY, HOURS, "week", until), MONDAY - timedelta(days=30), 365)
    assert [at.day for at in weeks] == [2, 9, 16]
    assert starts(Recurrence(MONDAY, HOURS), MONDAY - timedelta(days=3), 365) == [MONDAY]


def test_far_in_the_future_and_one_that_goes_on() -> None:
    later = datetime(2036, 3, 3, 10, 0, tzinfo=NEW_YORK)
    (span,) = occurrences(Recurrence(MONDAY, HOURS, "day"), NEW_YORK, later, later + timedelta(hours=1))
    assert span == (later.replace(hour=9).astimezone(UTC), later.replace(hour=11).astimezone(UTC))


@pytest.mark.parametrize(
    ("duration", "every", "text"),
    [(timedelta(0), "once", "above 0"), (timedelta(days=2), "day", "into the next"), (HOURS, "year", "not one of")],
)
def test_no_recurrence(duration: timedelta, every: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Recurrence(MONDAY, duration, every)  # type: ignore[arg-type]


def test_reservations_fit_together_or_not_whatever_runs() -> None:
    fleet = Fleet.build(make.nodes(2, 8))
    half, whole = make.job(ReplicaRequest(4), 1, key=1), make.job(ReplicaRequest(8), 1, key=2)
    assert all_fit(fleet, [half, whole, make.job(ReplicaRequest(4), 1, key=3)])
    assert not all_fit(fleet, [half, whole, make.job(ReplicaRequest(5), 1, key=3)])
    assert all_fit(fleet, [])
