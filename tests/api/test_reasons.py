"""What a decision tells its reader: all to operators and auditors, to a tenant nothing about others."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from console.common import clock, lease
from pool.scheduling.models import Job
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.api.conftest import Api
from tests.conftest import Actors

WHOLE: dict[str, Any] = {"name": "wants", "command": ["true"], "gpus": 1}
PART: dict[str, Any] = {"name": "holds", "command": ["true"], "gpus": 1, "gpu_fraction": 0.5, "isolation": "vgpu"}


def sweep() -> None:
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    Scheduler(epoch).sweep()


def waits(api: Callable[..., Api], body: dict[str, Any]) -> str:
    """The id of a job of tenant A that is refused; tenant B holds what there is."""
    answer = api("member_a").post("jobs", body)
    assert answer.status_code == 201, answer.content
    sweep()
    assert Job.objects.get(public_id=answer.json()["id"]).state == "queued"
    return str(answer.json()["id"])


def refusals(who: Api, job: str) -> list[dict[str, Any]]:
    """The same reasons by every way that leads to them."""
    rows = list(csv.DictReader(io.StringIO(_text(who.get(f"jobs/{job}/decisions", format="csv")))))
    listed = who.get(f"jobs/{job}/decisions").json()["results"][0]["reasons"]
    assert rows[0]["reasons"]
    return [listed, who.get(f"jobs/{job}").json()["decision"]["reasons"]]


def _text(answer: Any) -> str:
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode("utf-8-sig")


@pytest.fixture
def taken(api: Callable[..., Api]) -> None:
    """Both cards are half held by tenant B."""
    factories.make_node("n1", devices=2)
    for _ in range(2):
        assert api("member_b").post("jobs", {**PART, "gpu_memory_mib": 50_000}).status_code == 201
    sweep()
    assert Job.objects.filter(state="starting").count() == 2


@pytest.mark.usefixtures("taken")
def test_a_refusal_names_the_checks_and_counts_nothing_for_a_tenant(api: Callable[..., Api]) -> None:
    job = waits(api, WHOLE)
    for reasons in refusals(api("member_a"), job):
        assert reasons["failed"]
        assert all(set(item) == {"filter"} for item in reasons["failed"]), reasons
    for role in ("operator", "auditor"):
        for reasons in refusals(api(role), job):
            assert sum(item["devices"] for item in reasons["failed"]) == 2
    exported = _text(api("member_a").get(f"jobs/{job}/decisions", format="csv"))
    assert "devices" not in exported
    assert "filter" in exported


@pytest.mark.usefixtures("taken")
def test_that_a_stranger_shares_the_card_reads_like_a_lack_of_room(api: Callable[..., Api]) -> None:
    body = {**PART, "gpu_fraction": 0.25}
    job = waits(api, body)
    assert {item["filter"] for item in refusals(api("operator"), job)[0]["failed"]} == {"trust"}
    assert refusals(api("member_a"), job)[0]["failed"] == [{"filter": "share"}]
    plan = api("member_a").post("jobs/dry-run", body).json()
    assert plan["fits"] is False
    assert plan["reasons"]["failed"] == [{"filter": "share"}]


@pytest.mark.usefixtures("taken")
def test_pages_show_no_counts_to_a_tenant(api: Callable[..., Api], actors: Actors) -> None:
    job = waits(api, WHOLE)
    shown = {}
    for who in ("member_a", "operator"):
        client = Client()
        client.force_login(actors.users[who])
        shown[who] = client.get(f"/jobs/{job}/").content.decode()
        form = {"name": "x", "command": "true", "gpu_mode": "whole", "tenant": actors.a.slug}
        tried = client.post("/jobs/submit/check/", form).content.decode()
        assert ('<span class="num">2</span>' in tried) is (who == "operator")
    assert "Devices that stopped at each check" in shown["operator"]
    assert "Cards that it cannot use" in shown["member_a"]
    assert "Devices that stopped" not in shown["member_a"]


def test_a_placement_tells_a_tenant_what_decided_and_no_figures(api: Callable[..., Api], actors: Actors) -> None:
    factories.make_node("n1", devices=2)
    factories.make_node("n2", devices=8)
    job = api("member_a").post("jobs", WHOLE).json()["id"]
    sweep()
    for reasons in refusals(api("member_a"), job):
        assert set(reasons) == {"decided_by"}
        assert reasons["decided_by"] in {"bucket", "tie", "node_index"}
    assert refusals(api("operator"), job)[0]["considered"] == 2
    assert set(api("member_a").post("jobs/dry-run", WHOLE).json()["reasons"]) == {"decided_by"}


def test_where_a_gang_stands_is_told_and_how_others_fill_the_levels_is_not(api: Callable[..., Api]) -> None:
    for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2")):
        factories.make_node(name, devices=1, rack=rack)
    gang = {**WHOLE, "replicas": 2, "preferred_topology_level": "node"}
    placed = api("member_a").post("jobs", gang).json()["id"]
    waiting = waits(api, {**WHOLE, "replicas": 2, "required_topology_level": "rack"})
    own = refusals(api("member_a"), placed)[0]["neighbourhood"]
    every = refusals(api("operator"), placed)[0]["neighbourhood"]
    assert (own["level"], own["domain"], own["met"]) == ("rack", every["domain"], False)
    assert every.keys() - own.keys() == {"rivals", "best_inside"}
    assert "levels" not in refusals(api("member_a"), waiting)[0]
    levels = refusals(api("operator"), waiting)[0]["levels"]
    assert [(level["level"], level["holding"]) for level in levels][-1] == ("rack", 0)
