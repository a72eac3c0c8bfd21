"""Fragmentation and its plans as people and programs see them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.audit.models import AuditEntry
from console.common import clock
from pool.inventory.models import Device
from pool.scheduling.defrag import planner, queries
from pool.scheduling.models import DefragPlan, DefragRules, Job
from tests import factories
from tests.api.conftest import Api, api, fields  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.defrag.world import Scattered
from tests.scheduling.sharing.world import World
from tests.web.conftest import As, as_  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture
def plan(actors: Actors) -> DefragPlan:
    """Made now, of a pool where two moves let a job in."""
    world = Scattered()
    world.wait_for_four()
    found = world.plan()
    DefragPlan.objects.filter(pk=found.pk).update(created_at=clock.now())
    found.refresh_from_db()
    return found


def test_the_page_of_a_plan_says_who_is_hit_what_it_costs_and_what_it_frees(as_: As, plan: DefragPlan) -> None:  # noqa: F811
    page = as_("operator").get(f"/defrag/{plan.public_id}/").content.decode()
    for told in (f"{plan.public_id}/approve", "owner / default", "never saved", "10,800 GPU-s", "What fits", "4 cards"):
        assert told in page, told
    assert page.count("5,400 GPU-s") == 2
    assert f"{plan.public_id}/approve" not in as_("auditor").get(f"/defrag/{plan.public_id}/").content.decode()


def test_approving_and_rejecting_by_page(as_: As, plan: DefragPlan) -> None:  # noqa: F811
    operator = as_("operator")
    answer = operator.post(f"/defrag/{plan.public_id}/approve", follow=True)
    assert "The plan is being carried out." in answer.content.decode()
    plan.refresh_from_db()
    assert plan.state == "running"
    again = operator.post(f"/defrag/{plan.public_id}/approve", follow=True).content.decode()
    assert "no longer proposed" in again
    operator.post(f"/defrag/{plan.public_id}/reject")
    plan.refresh_from_db()
    assert (plan.state, plan.dropped) == ("dropped", "rejected")
    said = AuditEntry.objects.filter(object_id=plan.public_id).values_list("action", flat=True)
    assert {"defrag.approve", "defrag.reject"} <= set(said)


def test_a_plan_of_the_preview_or_of_long_ago_is_not_carried_out(api: Any, plan: DefragPlan) -> None:  # noqa: F811
    operator = api("operator")
    DefragPlan.objects.update(mode="preview")
    assert operator.post(f"defrag/plans/{plan.public_id}/approve", {}).json()["code"] == "preview"
    DefragPlan.objects.update(mode="approve", created_at=clock.now() - timedelta(minutes=31))
    assert operator.post(f"defrag/plans/{plan.public_id}/approve", {}).json()["code"] == "not_proposed"
    planner.expire_plans(clock.now())
    assert DefragPlan.objects.get().dropped == "expired"


def test_the_map_the_classes_and_the_trend(as_: As, plan: DefragPlan) -> None:  # noqa: F811
    operator = as_("operator")
    page = operator.get("/fragmentation/").content.decode()
    assert 'class="fragmap-h"' in page
    assert "Cannot use" in page
    figure = operator.get("/overview/trends/fragmentation.json").json()
    assert [len(line["x"]) for line in figure["data"]] == [1, 1, 1]


def test_before_anything_was_measured_the_page_says_so(as_: As, db: None) -> None:  # noqa: F811
    assert "Not measured yet" in as_("operator").get("/fragmentation/").content.decode()


def test_lists_ask_the_database_as_often_for_twenty_plans_as_for_two(api: Any, as_: As, db: None) -> None:  # noqa: F811
    def counts() -> list[int]:
        found = []
        for get in (lambda: as_("operator").get("/defrag/"), lambda: operator.get("defrag/plans")):
            with CaptureQueriesContext(
                connection,
            ) as asked:
                assert get().status_code == 200
            found.append(len(asked))
        return found

    operator = api("operator")
    operator.get("defrag/plans")  # its token is marked as used
    for _ in range(2):
        DefragPlan.objects.create(state="done", mode="approve", asked_by="t", created_at=clock.now())
    few = counts()
    for _ in range(18):
        DefragPlan.objects.create(state="done", mode="approve", asked_by="t", created_at=clock.now())
    assert counts() == few
    assert as_("operator").get("/defrag/export/?format=csv").getvalue().count(b"dfr_") == 20


def test_a_plan_on_demand_is_made_once_however_often_it_is_asked_for(api: Any, db: None) -> None:  # noqa: F811
    world = Scattered(rules={"period_s": 0})
    world.wait_for_four()
    operator = api("operator")
    first, second = (operator.post("defrag/plans", {}).json() for _ in range(2))
    assert (first["id"], first["state"]) == (second["id"], "wanted")
    planner.work(clock.now())
    planner.work(clock.now())
    told = operator.get(f"defrag/plans/{first['id']}").json()
    assert (told["state"], told["moves"], told["on_demand"]) == ("proposed", 2, True)
    assert [len(step["moves"]) for step in told["steps"]] == [2]
    assert told["steps"][0]["job"] == Job.objects.latest("pk").public_id
    assert DefragPlan.objects.count() == 1


def test_rules_are_set_by_form_and_by_api_and_wrong_ones_change_nothing(api: Any, as_: As, db: None) -> None:  # noqa: F811
    operator = api("operator")
    answer = operator.post("defrag/rules", {"parallel": 0, "windows": [{"days": [7], "from": "1", "to": "2"}]})
    assert fields(answer) == ["parallel", "windows[0]"]
    assert fields(operator.post("defrag/rules", {"period_s": 60})) == ["period_s"]
    window = {"days": [5, 6], "from": "22:00", "to": "04:00"}
    assert operator.post("defrag/rules", {"windows": [window], "mode": "automatic"}).json()["windows"] == [window]
    page = as_("operator").get("/defrag/rules/").content.decode()
    assert "sat,sun 22:00-04:00" in page
    form = {"mode": "approve", "period_min": 60, "windows": "mon,tue 01:00-05:00", "time_zone": "Asia/Shanghai"}
    form |= {"busiest_percent": 40, "moves": 5, "lost_h": 2, "per_queue": 3, "parallel": 1, "rest_min": 10}
    form |= {"job_rest_min": 30}
    bad = as_("operator").post("/defrag/rules/", {**form, "windows": "someday"})
    assert "must be days and times" in bad.content.decode()
    assert as_("operator").post("/defrag/rules/", form).status_code == 302
    rules = queries.rules()
    assert (rules.period_s, rules.lost_s, rules.rest_s, rules.windows[0]["days"]) == (3600, 7200, 600, [0, 1])
    assert DefragRules.objects.count() == 1


def test_what_a_cut_card_can_be_next_with_costs_and_who_must_go(api: Any, as_: As, db: None) -> None:  # noqa: F811
    world = World(cards=1, model="A100-40GB", mig=True)
    owner = world.tenant("owner")
    (job,) = world.submit(owner, mig_profile="3g.20gb")
    (fixed,) = world.submit(owner, mig_profile="1g.5gb", preemptible=False)
    world.scheduler.sweep()
    world.run()
    card = Device.objects.get()
    told = api("operator").get(f"devices/{card.public_id}/mig").json()
    best = {each["profile"]: each for each in told["options"] if each["best"]}
    assert told["mix"] == {"1g.5gb": 5_000, "3g.20gb": 5_000}
    assert (best["7g.40gb"]["blocked"], sorted(best["7g.40gb"]["evicts"])) == (
        True,
        sorted([job.public_id, fixed.public_id]),
    )
    assert (best["4g.20gb"]["blocked"], best["2g.10gb"]["evicts"]) == (fixed.allocations.get().mig_start < 4, [])
    page = as_("operator").get(f"/devices/{card.public_id}/next-profiles").content.decode()
    assert "Legal next profiles" in page
    assert "may not be moved" in page
    plain = factories.make_node(devices=1).devices.get()
    assert api("operator").get(f"devices/{plain.public_id}/mig").json()["options"] == []


def test_a_job_shows_its_moves_in_its_timeline(as_: As, db: None) -> None:  # noqa: F811
    world = Scattered()
    world.wait_for_four()
    world.approve()
    world.through()
    moved = Job.objects.filter(attempts__outcome="move").first()
    assert moved is not None
    page = as_("operator").get(f"/jobs/{moved.public_id}/").content.decode()
    assert "where its place is held" in page
    assert "moved" in page
