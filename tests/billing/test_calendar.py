"""Days and months of a zone around changes of clocks."""

from datetime import UTC, date, datetime, timedelta

import pytest

from billing.rating.calendar import (
    MICROSECOND,
    day_edges,
    day_start,
    local_day,
    month_bounds,
    next_day_start,
    next_month,
    zone_of,
)

SHANGHAI = zone_of("Asia/Shanghai")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def test_a_month_of_shanghai_begins_eight_hours_before_that_of_utc() -> None:
    assert month_bounds(date(2026, 12, 15), SHANGHAI) == (utc(2026, 11, 30, 16), utc(2026, 12, 31, 16))


@pytest.mark.parametrize(
    ("name", "day", "hours"),
    [
        ("America/New_York", date(2026, 3, 8), 23),
        ("America/New_York", date(2026, 11, 1), 25),
        ("Asia/Shanghai", date(2026, 3, 8), 24),
        ("America/Sao_Paulo", date(2018, 11, 4), 23),  # local midnight does not exist
        ("America/Havana", date(2026, 11, 1), 25),  # local midnight happens twice
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5),  # half an hour
    ],
)
def test_a_civil_day_is_as_long_as_its_clocks_make_it(name: str, day: date, hours: float) -> None:
    zone = zone_of(name)
    start = day_start(day, zone)
    assert next_day_start(start, zone) - start == timedelta(hours=hours)
    assert local_day(start, zone) == day
    assert local_day(start - MICROSECOND, zone) < day


def test_a_day_that_a_zone_skips_is_nobodys() -> None:
    zone = zone_of("Pacific/Apia")
    assert next_day_start(utc(2011, 12, 30, 9), zone) == utc(2011, 12, 30, 10)
    assert local_day(utc(2011, 12, 30, 10), zone) == date(2011, 12, 31)


def test_edges_are_strictly_inside() -> None:
    start, end = utc(2026, 11, 29, 16), utc(2026, 12, 1, 16)
    assert list(day_edges(start, end, SHANGHAI)) == [utc(2026, 11, 30, 16)]
    assert list(day_edges(start, start + MICROSECOND, SHANGHAI)) == []


def test_december_is_followed_by_january() -> None:
    assert next_month(date(2026, 12, 31)) == date(2027, 1, 1)
    assert next_month(date(2027, 1, 31)) == date(2027, 2, 1)


@pytest.mark.parametrize("name", ["Asia/Atlantis", "", "../etc/passwd", "/etc/localtime"])
def test_what_is_not_a_zone_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone; use an IANA name"):
        zone_of(name)
