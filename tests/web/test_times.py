"""Times, zones and counts as a person reads them, on the server and where the browser keeps them current."""

import json
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from console.common import formats
from console.tenants.models import User
from console.web.templatetags.weir import ago, offset, relative_words
from tests.conftest import Actors


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


@pytest.mark.parametrize(
    ("account", "cookie", "shown"),
    [
        ("", "", "Asia/Shanghai"),
        ("", "Mars/Base", "Asia/Shanghai"),
        ("", "America%2FPhoenix", "America/Phoenix"),
        ("", "Etc%2FGMT%2B8", "Etc/GMT+8"),
        ("Europe/Berlin", "America%2FPhoenix", ""),
    ],
)
def test_a_page_says_which_zone_it_is_in_unless_the_person_chose_it(
    actors: Actors, account: str, cookie: str, shown: str
) -> None:
    user = actors.users["auditor"]
    User.objects.filter(pk=user.pk).update(time_zone=account)
    client = Client()
    client.force_login(user)
    if cookie:
        client.cookies["weir_zone"] = cookie
    answer = client.get("/audit/")
    assert answer.context["shell"].preferences.zone == (account or shown)
    assert (f'data-zone="{shown}"' in answer.text) is bool(shown)
    assert ("data-zone" in answer.text) is bool(shown)


def test_what_is_answered_once_is_not_asked_for_again(actors: Actors) -> None:
    """A new token's secret stands in the answer to its POST, a message on the one page that shows it."""
    client = Client()
    client.force_login(actors.users["owner_a"])
    made = client.post("/settings/tokens/", {"name": "x", "scopes": ["jobs:read"], "days": "30", "tenant": ""})
    assert made.status_code == 200
    assert "data-zone" not in made.text
    client.post("/preferences/", {"theme": "dark", "confirm": "1", "next": "/settings/tokens/"})
    pages = [client.get("/settings/tokens/").text for _ in range(2)]
    assert ["data-zone" in page for page in pages] == [False, True]
