"""Web 14: names that a spreadsheet would run, in every export of the product; real negative numbers stay numbers."""

import csv
import io
from typing import Any

import openpyxl
import pytest
import redis
from django.test import Client

from console.audit.services import record
from tests import factories
from tests.conftest import Actors
from tests.security.matrix import ROUTES
from tests.security.world import make_world

NAMES = ['=HYPERLINK("http://x")', "+1", "-2+3", "@SUM(1)", "\tx", "\rx", "＝1"]
RISKY = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
EXPORTS = [route for route, methods in ROUTES.items() if "export" in route and "GET" in methods and "<" not in route]
API = [f"api/v1/{name}" for name in ("jobs", "allocations", "queues", "nodes", "devices", "usage", "invoices")]
LISTS = [*EXPORTS, *API, "api/v1/prices", "api/v1/tokens", "api/v1/projects", "audit/", "nodes/"]


@pytest.fixture
def browser(actors: Actors, live: redis.Redis) -> Client:
    make_world(actors)
    for name in NAMES:
        factories.make_job(actors.a, name=name, priority=-7)
        record(actors.owner_a, "job.submit", ("job", name), tenant_id=actors.a.pk, after={"name": name})
    client = Client()
    client.force_login(actors.users["operator"])
    return client


def body(answer: Any) -> bytes:
    assert answer.status_code == 200, answer
    return b"".join(answer.streaming_content)


@pytest.mark.parametrize("route", LISTS)
def test_no_text_cell_runs(browser: Client, route: str) -> None:
    more = "&state=all" if route == "jobs/export/" else ""  # its first tab shows active jobs only
    text = body(browser.get(f"/{route}?format=csv{more}")).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) >= 1
    for cell in (cell for row in rows for cell in row):
        # a number is the only thing that may begin with a sign
        assert not cell.startswith(RISKY) or is_number(cell), cell
    book = openpyxl.load_workbook(io.BytesIO(body(browser.get(f"/{route}?format=xlsx{more}"))))
    for cell in (cell for row in book.active.rows for cell in row):
        assert cell.data_type != "f", cell.value
        if cell.data_type == "s":
            assert not str(cell.value).startswith(RISKY), cell.value


def test_negative_numbers_stay_numbers(browser: Client) -> None:
    text = body(browser.get("/api/v1/jobs?format=csv&text=HYPERLINK")).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["name"], row["priority"]) == ("'" + NAMES[0], "-7")
    book = openpyxl.load_workbook(io.BytesIO(body(browser.get("/api/v1/jobs?format=xlsx&text=HYPERLINK"))))
    head, line = book.active.rows
    cells = dict(zip([cell.value for cell in head], line, strict=True))
    assert (cells["priority"].value, cells["priority"].data_type) == (-7, "n")
    assert (cells["name"].value, cells["name"].data_type) == ("'" + NAMES[0], "s")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
