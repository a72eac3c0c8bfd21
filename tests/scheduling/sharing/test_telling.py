"""Who took from whom is told on both jobs' pages, in the list and by API; of another tenant neither name nor number."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pool.scheduling.models import Job, Preemption, Queue
from pool.scheduling.preemption import queries
from tests.api.conftest import api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.sharing.world import CARD, World
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db
LIST = "/queues/preemptions/"


@pytest.fixture
def took(actors: Actors) -> tuple[Job, Job]:
    """b's job took the place of one of a's two."""
    world = World(cards=2)
    Queue.objects.filter(tenant=actors.a).update(name="aurora-queue")
    Queue.objects.filter(tenant=actors.b).update(name="boreal-queue")
    world.submit(actors.a, 2, name="aurora-work")
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(minutes=10)
    (asked,) = world.submit(actors.b, name="boreal-work")
    world.settle()
    victim = Preemption.objects.get().victims.get().job
    return asked, victim


def page(actors: Actors, who: str, url: str, language: str = "en") -> str:
    return sign_in(actors, who, language).get(url).content.decode()


def of(job: Job) -> str:
    return reverse("scheduling:job_detail", args=[job.public_id])


def test_the_operator_reads_both_sides_with_shares_before_and_after(actors: Actors, took: tuple[Job, Job]) -> None:
    for url in (LIST, of(took[0]), of(took[1])):
        told = page(actors, "operator", url)
        assert "aurora-work" in told
        assert "boreal-work" in told
        assert "2 → 1" in told
        assert "0 → 1" in told
    (row,) = queries.preemptions_of(actors.operator, took[0])
    changes = {change.queue.name: (change.entitled, change.before, change.after) for change in row.changes}
    assert changes == {"aurora-queue": (CARD, 2 * CARD, CARD), "boreal-queue": (CARD, 0, CARD)}


@pytest.mark.parametrize("who", ["owner_a", "member_a", "viewer_a", "owner_b", "member_b"])
def test_a_tenant_reads_its_own_side_and_no_name_of_the_other(actors: Actors, took: tuple[Job, Job], who: str) -> None:
    mine, theirs = ("aurora", "boreal") if who.endswith("_a") else ("boreal", "aurora")
    job = took[1] if who.endswith("_a") else took[0]
    for url in (LIST, of(job)):
        told = page(actors, who, url)
        assert f"{mine}-work" in told
        for secret in (f"{theirs}-work", f"{theirs}-queue"):
            assert secret not in told, (url, secret)
    assert "2 → 1" not in page(actors, "owner_b", LIST)


def test_nobody_and_strangers_read_nothing(actors: Actors, took: tuple[Job, Job]) -> None:
    assert Client().get(LIST)["Location"].startswith("/accounts/login/")
    Job.objects.filter(pk=took[0].pk).update(tenant=actors.a)
    assert "boreal" not in page(actors, "owner_b", LIST).split("<main", 1)[1].split("</main", 1)[0]


@pytest.mark.parametrize(
    ("language", "asker", "victim"),
    [
        ("en", "Room is made for it: its queue is entitled to more than it holds", "Preempted: its queue held more"),
        ("zh-hans", "正在为它腾出资源：其队列应得的多于所占用的", "被抢占：其队列占用超出应得"),
    ],
)
def test_both_timelines_say_why(actors: Actors, took: tuple[Job, Job], language: str, asker: str, victim: str) -> None:
    assert asker in page(actors, "owner_b", of(took[0]), language)
    assert victim in page(actors, "owner_a", of(took[1]), language)


def test_the_list_filters_and_exports(actors: Actors, took: tuple[Job, Job]) -> None:
    client = sign_in(actors, "operator")
    assert "boreal-work" in client.get(LIST, {"state": "started", "why": "reclaim"}).content.decode()
    assert "boreal-work" not in client.get(LIST, {"state": "open"}).content.decode()
    sheet = b"".join(client.get(f"{LIST}export/").streaming_content).decode()  # type: ignore[attr-defined]
    assert took[1].public_id in sheet
    theirs = b"".join(sign_in(actors, "owner_b").get(f"{LIST}export/").streaming_content)  # type: ignore[attr-defined]
    assert took[1].public_id.encode() not in theirs


def test_the_api_tells_each_side_its_own(api: Any, actors: Actors, took: tuple[Job, Job]) -> None:  # noqa: F811
    (row,) = api("operator").get("preemptions").json()["results"]
    assert (row["job"], [v["job"] for v in row["victims"]], row["others"]) == (
        took[0].public_id,
        [took[1].public_id],
        False,
    )
    (mine,) = api("owner_a").get("preemptions").json()["results"]
    assert (mine["job"], [v["job"] for v in mine["victims"]], len(mine["shares"])) == (None, [took[1].public_id], 1)
    (theirs,) = api("owner_b").get("preemptions").json()["results"]
    assert (theirs["job"], theirs["victims"], theirs["others"], theirs["cost_s"]) == (took[0].public_id, [], True, 0)
    assert api("owner_b").get("preemptions?why=priority").json()["results"] == []


def test_equal_queries_for_one_and_for_many(actors: Actors, took: tuple[Job, Job]) -> None:
    client = sign_in(actors, "operator")
    client.get(LIST)
    with CaptureQueriesContext(connection) as one:
        client.get(LIST)
    row = Preemption.objects.get()
    for number in range(20):
        row.pk, row.public_id = None, f"pre_{number}"
        row.save()
    with CaptureQueriesContext(connection) as many:
        client.get(LIST)
    assert len(many) <= len(one)
