"""A decision's page and answer: to its tenant what is its own, to who sees all work everything, and the same again."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pool.scheduling.models import Decision, Job
from tests.api.conftest import api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.sharing.world import World
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def jobs(actors: Actors) -> tuple[Job, Job]:
    """b's job runs, a's waits for the card that b's has."""
    world = World(cards=1)
    (runs,) = world.submit(actors.b, name="boreal-work")
    world.settle()
    (waits,) = world.submit(actors.a, name="aurora-work")
    world.settle()
    return runs, waits


def page(decision: Decision) -> str:
    return reverse("scheduling:decision_detail", args=[decision.public_id])


@pytest.mark.parametrize(
    ("language", "again", "order"),
    [("en", "the same, bit for bit", "There was room for all"), ("zh-hans", "结果逐位相同", "资源足够所有作业使用")],
)
def test_the_operator_makes_it_again(
    actors: Actors, jobs: tuple[Job, Job], language: str, again: str, order: str
) -> None:
    decision = jobs[0].decisions.get()
    told = sign_in(actors, "operator", language).get(page(decision) + "?replay=1").content.decode()
    assert again in told
    assert order in told
    assert f"<code>{decision.snapshot}</code>" in told
    assert f"manage.py replay_decision {decision.public_id}" in told


def test_the_tenant_reads_its_own_part(actors: Actors, jobs: tuple[Job, Job]) -> None:
    refused = jobs[1].decisions.get()
    told = sign_in(actors, "member_a").get(page(refused) + "?replay=1").content.decode()
    assert "Nothing free holds it now" in told
    assert f"<code>{refused.snapshot}</code>" not in told  # it counts everybody's changes
    assert "bit for bit" not in told
    assert "boreal" not in told
    assert sign_in(actors, "member_a").get(page(jobs[0].decisions.get())).status_code == 404
    assert Client().get(page(refused)).status_code == 302


def test_the_timeline_leads_to_it(actors: Actors, jobs: tuple[Job, Job]) -> None:
    for who, job in (("operator", jobs[0]), ("member_a", jobs[1])):
        told = sign_in(actors, who).get(reverse("scheduling:job_detail", args=[job.public_id])).content.decode()
        timeline = told.split('class="timeline"', 1)[1]
        assert page(job.decisions.get()) in timeline


def test_the_answer_of_the_api(api: Any, actors: Actors, jobs: tuple[Job, Job]) -> None:  # noqa: F811
    decision = jobs[0].decisions.get()
    url = f"decisions/{decision.public_id}"
    told = api("operator").get(url).json()
    assert told["job"] == jobs[0].public_id
    assert (told["inputs"]["before"], told["inputs"]["after"], told["inputs"]["order"]) == (0, 10_000, "plain")
    again = api("operator").get(f"{url}/replay").json()
    assert (again["verdict"], again["recorded"]) == ("same", decision.digest)
    assert api("owner_b").get(url).json()["snapshot"] == ""
    assert api("owner_b").get(f"{url}/replay").status_code == 403
    assert api("owner_a").get(url).status_code == 404
    assert [row["job"] for row in api("owner_a").get("decisions").json()["results"]] == [jobs[1].public_id]
    Decision.objects.filter(pk=decision.pk).update(snapshot="99.1")
    assert api("operator").get(f"{url}/replay").json()["verdict"] == "lost"
