"""When plans may be carried out by themselves."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_open(windows: Sequence[Mapping[str, Any]], zone: str, now: datetime) -> bool:
    """Whether the moment is inside one; without any, it always is. A window past midnight belongs to the day on which
    it begins."""
    if not windows:
        return True
    local = now.astimezone(ZoneInfo(zone))
    return any(_inside(window, local) for window in windows)


def _inside(window: Mapping[str, Any], local: datetime) -> bool:
    begin, end = read_time(window["from"]), read_time(window["to"])
    today, yesterday = local.weekday(), (local.weekday() - 1) % 7
    at = local.time()
    if begin < end:
        return today in window["days"] and begin <= at < end
    return (today in window["days"] and at >= begin) or (yesterday in window["days"] and at < end)


def read_time(text: str) -> time:
    """Of "HH:MM". Raises ValueError."""
    if len(text) != 5:
        raise ValueError(text)
    return time.fromisoformat(text)
