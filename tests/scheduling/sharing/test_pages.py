"""Budgets, rules and trends by page and API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pool.scheduling.models import Budget, QueueSample
from pool.scheduling.services import set_budget
from pool.scheduling.sharing import queries
from tests import factories
from tests.api.conftest import api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


def test_a_budget_by_api(api: Any, actors: Actors) -> None:  # noqa: F811
    queue = actors.a.queues.get()
    owner = api("owner_a")
    made = owner.post(f"queues/{queue.public_id}/budget", {"hours": "12.5", "period": "week"})
    assert (made.status_code, made.json()["hours"], made.json()["state"]) == (200, 12.5, "within")
    project = actors.a.projects.get()
    assert owner.post(f"projects/{project.public_id}/budget", {"hours": 3}).json()["project"] == project.public_id
    assert [row["queue"] for row in owner.get("budgets").json()] == [queue.public_id, None]
    assert api("owner_b").get("budgets").json() == []
    assert api("owner_b").post(f"queues/{queue.public_id}/budget", {"hours": 1}).status_code == 404
    assert owner.post(f"queues/{queue.public_id}/budget", {"hours": "x"}).status_code == 422
    assert owner.post(f"queues/{queue.public_id}/budget/lift").status_code == 204
    assert owner.post(f"queues/{queue.public_id}/budget/lift").status_code == 409


def test_a_budget_by_form(actors: Actors) -> None:
    client, queue = sign_in(actors, "owner_a"), actors.a.queues.get()
    sent = {"of": queue.public_id, "hours": "40", "period": "month", "when_spent": "all", "warn_percent": "75"}
    assert client.post("/queues/budgets/set/", sent)["Location"] == "/queues/budgets/"
    assert Budget.objects.get().warn_percent == 75
    page = client.get("/queues/budgets/").content.decode()
    assert "0 / 40 h" in page
    assert "0 / 40 h" in client.get(f"/queues/{queue.public_id}/").content.decode()
    assert 'value="40"' in client.get(f"/queues/budgets/set/?of={queue.public_id}").content.decode()
    assert client.post("/queues/budgets/set/", sent | {"warn_percent": "0"}).status_code == 422
    assert client.post("/queues/budgets/set/", {"of": queue.public_id, "lift": "1"}).status_code == 302
    assert not Budget.objects.exists()
    other = actors.b.queues.get()
    assert client.post("/queues/budgets/set/", sent | {"of": other.public_id}).status_code == 404


def test_one_budget_or_twenty_the_same_number_of_questions(actors: Actors, django_assert_max_num_queries: Any) -> None:
    client = sign_in(actors, "owner_a")
    for at in range(20):
        set_budget(actors.operator, factories.make_queue(actors.a, f"q{at}"), {"hours": Decimal(at)})
    with django_assert_max_num_queries(22):
        assert client.get("/queues/budgets/").status_code == 200


def test_rules_by_form(actors: Actors) -> None:
    factories.make_model("T4")
    client = sign_in(actors, "operator")
    sent = {
        "reclaim_to": "quota",
        "within_quota": "on",
        "cooldown_min": "2.5",
        "history_strength": "2",
        "history_window_days": "14",
        "history_half_life_days": "",
        "starve_after_min": "",
        "starve_cards": "8",
        "starve_most": "1",
        "assumed_runtime_h": "12",
        "weight_0": "0.25",
    }
    assert client.post("/queues/rules/", sent)["Location"] == "/queues/shares/"
    rules = queries.rules()
    assert (rules.reclaim_to, rules.cooldown_s, rules.within_quota) == ("quota", 150, True)
    assert (rules.history_strength, rules.history_window_s, rules.history_half_life_s) == (2, 14 * 86_400, None)
    assert (rules.starve_after_s, rules.starve_cards, rules.starve_most) == (None, 8, 1)
    assert rules.assumed_runtime_s == 12 * 3600
    assert queries.weights() == {"T4": 25}
    refused = client.post("/queues/rules/", sent | {"history_half_life_days": "0", "weight_0": "5"})
    assert refused.status_code == 422
    assert "leave it empty for no decay" in refused.content.decode()
    assert queries.weights() == {"T4": 25}  # all of it or nothing
    assert sign_in(actors, "owner_a").get("/queues/rules/").status_code == 403
    assert "Who used much in the last 14 days" in client.get("/queues/shares/").content.decode()


def test_trends_tell_ones_own(actors: Actors) -> None:
    mine, other = actors.a.queues.get(), actors.b.queues.get()
    for queue in (mine, other):
        for at in range(3):
            when = NOON + timedelta(minutes=5 * at)
            QueueSample.objects.create(queue=queue, at=when, used_bp=20_000, wanted_bp=50_000, entitled_bp=40_000)
    client = sign_in(actors, "member_a")
    figure = client.get(f"/queues/{mine.public_id}/trend.json").json()
    assert [line["y"] for line in figure["data"]] == [[2, 2, 2], [4, 4, 4], [5, 5, 5]]
    assert client.get(f"/queues/{other.public_id}/trend.json").status_code == 404
    shares = client.get("/queues/shares/trend.json").json()["data"]
    assert [(line["name"], line["y"]) for line in shares] == [(f"{actors.a.slug} / {mine.name}", [50, 50, 50])]
    assert len(sign_in(actors, "operator").get("/queues/shares/trend.json").json()["data"]) == 2
