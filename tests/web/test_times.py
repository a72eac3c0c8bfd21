"""Times, zones and counts as a person reads them, on the server and where the browser keeps them current."""

import json
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from django.utils.translation import override

from console.common import formats
from console.web.templatetags.weir import ago, offset, relative_words


@pytest.mark.parametrize(
    ("zone", "text"),
    [("UTC", "UTC"), ("Asia/Shanghai", "UTC+8"), ("America/St_Johns", "UTC-3:30"), ("Asia/Kathmandu", "UTC+5:45")],
)
def test_a_zone_is_named_by_its_distance_from_utc(zone: str, text: str) -> None:
    """CST is China's time and Chicago's."""
    assert offset(datetime(2026, 12, 1, tzinfo=ZoneInfo(zone))) == text


@pytest.mark.parametrize(("language", "text"), [("en", "3 min ago"), ("zh-hans", "3 分钟前")])
def test_times_are_kept_current_in_the_words_they_were_written_in(language: str, text: str) -> None:
    moment = timezone.now() - timedelta(seconds=200)
    with override(language):
        words = json.loads(re.sub(r"<[^>]+>", "", relative_words()))
        assert ago(moment) == text == words["ago"].replace("%(time)s", words["min"].replace("%(n)s", "3"))


def test_cores_are_one_only_where_they_are_one() -> None:
    assert [formats.cpu(milli) for milli in (1000, 1880, 500, 2000)] == [
        "1 core",
        "1.88 cores",
        "0.50 cores",
        "2 cores",
    ]
