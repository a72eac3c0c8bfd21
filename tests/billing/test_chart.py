"""The chart of usage by day: each day is marked at most once, however few there are."""

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from billing.metering.showing import DAY_MS, Shown, figure

TODAY = date(2026, 11, 30)


def axis(days: list[date]) -> dict[str, Any]:
    rows = [Shown(day.isoformat(), 0, Fraction(1), 0, ()) for day in days]
    found: dict[str, Any] = figure(rows, "CNY")["layout"]["xaxis"]
    return found


@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_days_are_shown_as_a_week_with_one_mark_a_day(count: int) -> None:
    shown = axis([TODAY - timedelta(days=back) for back in reversed(range(count))])
    first, last = (datetime.fromisoformat(text) for text in shown["range"])
    assert last - first == timedelta(days=7)
    assert first.date() < TODAY - timedelta(days=count - 1)
    assert last.date() == TODAY
    assert (shown["dtick"], shown["tick0"]) == (DAY_MS, TODAY.isoformat())


@pytest.mark.parametrize("count", [8, 31, 366])
def test_more_days_have_fewer_marks_than_days(count: int) -> None:
    shown = axis([TODAY - timedelta(days=back) for back in reversed(range(count))])
    assert shown["nticks"] <= count
    assert "range" not in shown


def test_no_days_no_marks() -> None:
    assert "dtick" not in axis([])
