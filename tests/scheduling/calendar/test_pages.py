"""The calendar by page and API, each one's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.common import clock
from pool.scheduling.models import Reservation
from pool.scheduling.services import Wanted, reserve
from tests import factories
from tests.api.conftest import api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db
START = datetime(2040, 3, 14, 1, 0, tzinfo=UTC)  # a Wednesday; 9:00 in Shanghai


def booked(actors: Actors, **more: Any) -> Reservation:
    factories.make_node(devices=8)
    values = {"name": "launch-day", "starts_at": START, "ends_at": START + timedelta(hours=3), "cards": 4} | more
    return reserve(actors.operator, actors.a, Wanted(**values))


def test_by_api(api: Any, actors: Actors) -> None:  # noqa: F811
    factories.make_node(devices=8)
    sent = {
        "tenant": actors.a.slug,
        "queue": actors.a.queues.get().public_id,
        "name": "course",
        "cards": 2,
        "models": ["H100-80GB"],
        "starts_at": START.isoformat(),
        "ends_at": (START + timedelta(hours=2)).isoformat(),
        "every": "weekday",
    }
    operator = api("operator")
    made = operator.post("reservations", sent)
    assert made.status_code == 201
    assert made.json()["models"] == ["H100-80GB"]
    assert api("owner_a").post("reservations", sent).status_code == 403
    assert operator.post("reservations", sent | {"cards": 8, "name": "more"}).json()["code"] == "no_room"
    assert operator.post("reservations", sent | {"models": ["none"]}).json()["errors"][0]["field"] == "models"
    path = f"reservations/{made.json()['id']}"
    assert [api(who).get(path).status_code for who in ("member_a", "owner_b")] == [200, 404]
    week = "calendar?since=2040-03-12T00:00:00Z&until=2040-03-19T00:00:00Z"
    assert [entry["start"][8:10] for entry in api("member_a").get(week).json()] == ["14", "15", "16"]
    assert api("owner_b").get(week).json() == []
    assert operator.get("calendar?since=2040-03-12T00:00:00Z&until=2041-03-19T00:00:00Z").status_code == 422
    assert api("owner_b").post(f"{path}/cancel").status_code == 404
    assert api("owner_a").post(f"{path}/cancel").json()["state"] == "cancelled"
    assert operator.get(week).json() == []


def test_the_week_is_a_picture_and_a_table(actors: Actors) -> None:
    booked(actors)
    page = sign_in(actors, "member_a").get("/queues/calendar/?week=2040-03-15").content.decode()
    assert page.count("launch-day") >= 2
    assert '<rect x="326"' in page  # the third day
    assert 'y="224"' in page  # nine o'clock in Shanghai
    assert "lent, given back within 2 min" in page
    assert "launch-day" not in sign_in(actors, "member_a").get("/queues/calendar/?week=2040-03-25").content.decode()
    assert "launch-day" not in sign_in(actors, "member_b").get("/queues/calendar/?week=2040-03-15").content.decode()
    for week in ("nonsense", "0001-01-01", "9999-12-31"):
        assert sign_in(actors, "operator").get(f"/queues/calendar/?week={week}").status_code == 200


def test_by_form(actors: Actors) -> None:
    factories.make_node(devices=8)
    client = sign_in(actors, "operator")
    assert client.get("/queues/calendar/new/").status_code == 200
    sent = {
        "of": f"tenant:{actors.a.slug}",
        "name": "launch",
        "replicas": "1",
        "cards": "8",
        "level": "",
        "starts_at": "2040-03-14T09:00",
        "ends_at": "2040-03-14T11:30",
        "every": "week",
        "until": "2040-06-30",
        "lead_min": "30",
        "lends": "on",
        "give_back_min": "1.5",
    }
    assert client.post("/queues/calendar/new/", sent)["Location"] == "/queues/calendar/?week=2040-03-14"
    made = Reservation.objects.get()
    assert (made.starts_at, made.lead_s, made.give_back_s, made.lends) == (START, 1800, 90, True)
    assert made.until is not None
    again = client.post("/queues/calendar/new/", sent)
    assert again.status_code == 422
    assert "reserved already" in again.content.decode()
    assert client.post("/queues/calendar/new/", sent | {"ends_at": "2040-03-14T08:00"}).status_code == 422
    assert sign_in(actors, "owner_a").get("/queues/calendar/new/").status_code == 403
    url = f"/queues/calendar/{made.public_id}/cancel"
    assert sign_in(actors, "owner_b").post(url).status_code == 404
    assert sign_in(actors, "member_a").post(url).status_code == 403
    assert sign_in(actors, "owner_a").post(url).status_code == 302
    made.refresh_from_db()
    assert made.state == "cancelled"


def test_many_reservations_ask_no_more(actors: Actors, django_assert_max_num_queries: Any) -> None:
    factories.make_node(devices=8)
    for at in range(20):
        Reservation.objects.create(
            tenant=actors.a,
            name=f"r{at}",
            starts_at=START + timedelta(hours=at),
            ends_at=START + timedelta(hours=at + 1),
            created_at=clock.now(),
        )
    client = sign_in(actors, "member_a")
    with django_assert_max_num_queries(18):
        assert client.get("/queues/calendar/?week=2040-03-15").status_code == 200
