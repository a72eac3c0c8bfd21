"""Queues as a tree: who makes, changes and moves them, and what the pages and the API tell of how they stand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput, NotAllowed
from pool.scheduling.models import Queue, QueueSample
from pool.scheduling.services import QueueLimits, create_queue, edit_queue, move_queue
from pool.scheduling.sharing import published, queries
from tests import factories
from tests.api.conftest import Api, api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.sharing.world import CARD, World
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    cache.clear()


@pytest.fixture
def top(actors: Actors) -> Queue:
    return actors.a.queues.get()


def test_what_an_owner_makes_goes_below_the_queue_that_its_tenant_has(actors: Actors, top: Queue) -> None:
    """Ten queues at the top would be ten shares."""
    assert create_queue(actors.owner_a, actors.a, "small").parent == top
    assert create_queue(actors.operator, actors.a, "large").parent is None


def test_below_its_own_queue_an_owner_divides_as_it_likes(actors: Actors, top: Queue) -> None:
    limits = QueueLimits(quota_share_bp=5 * CARD, over_quota_weight=Decimal(3), priority=2)
    made = create_queue(actors.owner_a, actors.a, "night", limits, top)
    assert (made.parent, made.quota_share_bp) == (top, 5 * CARD)
    assert edit_queue(actors.owner_a, made, {"priority": 7}).priority == 7
    for who in ("member_a", "viewer_a", "owner_b", "finance"):
        with pytest.raises(NotAllowed):
            edit_queue(getattr(actors, who), made, {"priority": 8})
    with pytest.raises(NotAllowed, match="operators"):
        edit_queue(actors.owner_a, top, {"quota_share_bp": CARD})
    with pytest.raises(NotAllowed, match="operators"):
        move_queue(actors.owner_a, made, None)


def test_a_change_tells_the_audit_what_changed_and_the_same_again_is_none(actors: Actors, top: Queue) -> None:
    for _ in range(2):
        edit_queue(actors.operator, top, {"quota_share_bp": CARD, "limit_cpu_milli": 8_000})
    told = json.loads(AuditEntry.objects.get(action="queue.edit").text)
    assert told["before"] == {"quota_share_bp": 0, "limit_cpu_milli": None}
    assert told["after"] == {"quota_share_bp": CARD, "limit_cpu_milli": 8_000}


@pytest.mark.parametrize("field", ["lending_limit_bp", "quota_cpu_milli", "limit_gpu_memory_mib", "limit_memory_mib"])
def test_a_wrong_amount_names_its_field_and_changes_nothing(actors: Actors, top: Queue, field: str) -> None:
    for value in (-1, True, 1.5, 2**60):
        with pytest.raises(InvalidInput) as caught:
            edit_queue(actors.operator, top, {field: value, "priority": 3})
        assert [error.field for error in caught.value.errors] == [field]
    top.refresh_from_db()
    assert (getattr(top, field), top.priority) == (None, 0)


def test_no_circles_no_foreign_parents_and_not_too_deep(actors: Actors, top: Queue) -> None:
    child = create_queue(actors.operator, actors.a, "child", parent=top)
    grand = create_queue(actors.operator, actors.a, "grand", parent=child)
    for parent in (top, child, grand):
        with pytest.raises(InvalidInput, match="parent"):
            move_queue(actors.operator, top, parent)
    with pytest.raises(InvalidInput, match="parent"):
        move_queue(actors.owner_a, grand, actors.b.queues.get())
    assert move_queue(actors.owner_a, grand, top).parent == top
    assert move_queue(actors.operator, child, actors.b.queues.get()).parent == actors.b.queues.get()
    told = json.loads(AuditEntry.objects.filter(action="queue.move").latest("id").text)
    assert (told["before"], told["after"]) == ({"parent": top.public_id}, {"parent": actors.b.queues.get().public_id})
    deep = top
    for number in range(7):
        deep = create_queue(actors.operator, actors.a, f"deep-{number}", parent=deep)
    with pytest.raises(InvalidInput, match="at most 8 levels"):
        create_queue(actors.operator, actors.a, "deepest", parent=deep)


# -- how they stand


def full(actors: Actors) -> World:
    """a holds six of eight cards, b two of the four that it is entitled to."""
    world = World(cards=8)
    world.submit(actors.a, 6)
    world.scheduler.sweep()
    world.submit(actors.b, 5)
    cache.clear()
    world.scheduler = world.new_scheduler()
    world.scheduler.sweep()
    return world


def test_the_scheduler_tells_what_queues_hold_and_are_entitled_to(actors: Actors) -> None:
    full(actors)
    lines = {row.queue.tenant.slug: row.line for row in queries.standings_for(actors.operator)}
    a, b = lines[actors.a.slug], lines[actors.b.slug]
    assert a is not None
    assert b is not None
    assert (a.used["share_bp"], a.entitlement["share_bp"], a.bound) == (6 * CARD, 4 * CARD, "weight")
    assert (b.used["share_bp"], b.wanted["share_bp"], b.entitlement["share_bp"]) == (2 * CARD, 5 * CARD, 4 * CARD)


def test_a_tenant_sees_its_own_queues_and_names_nobody_else(actors: Actors) -> None:
    Queue.objects.filter(tenant=actors.b).update(priority=5, name="secret")
    full(actors)
    mine = queries.standings_for(actors.owner_a)
    assert [row.queue.tenant for row in mine] == [actors.a]
    assert mine[0].line is not None
    assert (mine[0].line.bound, mine[0].of, mine[0].line.of) == ("priority", None, 0)
    page = sign_in(actors, "owner_a").get(reverse("scheduling:shares")).content.decode()
    assert "A queue of higher priority comes first: another queue." in page
    assert "secret" not in page
    assert "secret" in sign_in(actors, "operator").get(reverse("scheduling:shares")).content.decode()


def test_a_queue_below_one_of_another_tenant_stands_at_the_top_of_what_is_seen(actors: Actors, top: Queue) -> None:
    move_queue(actors.operator, actors.b.queues.get(), top)
    assert [(row.depth, row.queue.tenant) for row in queries.standings_for(actors.owner_b)] == [(0, actors.b)]
    assert [row.depth for row in queries.standings_for(actors.operator)] == [0, 1]
    page = sign_in(actors, "owner_b").get(reverse("scheduling:queue_detail", args=[actors.b.queues.get().public_id]))
    assert actors.a.name not in page.content.decode()


def test_samples_are_stored_once_in_five_minutes(actors: Actors) -> None:
    world = full(actors)
    world.new_scheduler().sweep()
    assert QueueSample.objects.count() == 2
    row = queries.samples(actors.owner_a, actors.a.queues.get())[0]
    assert (row.used_bp, row.entitled_bp, row.at) == (6 * CARD, 6 * CARD, published.slot(world.now))
    assert queries.samples(actors.owner_b, actors.a.queues.get()) == []


def test_a_slot_has_one_start_to_the_microsecond() -> None:
    start = datetime(2026, 12, 1, 2, 5, tzinfo=UTC)
    moments = (start + timedelta(microseconds=step * 37_037_037) for step in range(10))
    assert {published.slot(moment) for moment in moments} == {start, start + timedelta(minutes=5)}


@pytest.mark.parametrize(("language", "word"), [("en", "Held of its entitlement"), ("zh-hans", "已占用/应得")])
def test_the_pages_show_it(actors: Actors, top: Queue, language: str, word: str) -> None:
    full(actors)
    client = sign_in(actors, "owner_a", language)
    assert word in client.get(reverse("scheduling:shares")).content.decode()
    assert "6 / 4" in client.get(reverse("scheduling:shares")).content.decode()
    assert client.get(reverse("scheduling:queue_detail", args=[top.public_id])).status_code == 200
    assert Client().get(reverse("scheduling:shares"))["Location"].startswith("/accounts/login/")


def test_the_page_says_when_nobody_has_told(actors: Actors) -> None:
    page = sign_in(actors, "operator").get(reverse("scheduling:shares")).content.decode()
    assert "has not told yet" in page


def test_equal_queries_for_few_and_many_queues(actors: Actors, top: Queue) -> None:
    client = sign_in(actors, "operator")
    url = reverse("scheduling:shares")
    client.get(url)  # the first one of a session writes it down

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code == 200
        return len(queries)

    few = asked()
    for number in range(20):
        factories.make_queue(actors.a, f"q{number}", parent=top if number % 2 else None)
    assert asked() == few


def test_the_form_edits_and_moves(actors: Actors, top: Queue) -> None:
    made = create_queue(actors.operator, actors.a, "night", parent=top)
    url = reverse("scheduling:queue_edit", args=[made.public_id])
    sent = {"parent": top.public_id, "quota_cards": "1.5", "limit_cpus": "8", "over_quota_weight": "2", "priority": "4"}
    assert sign_in(actors, "owner_a").post(url, sent).status_code == 302
    made.refresh_from_db()
    assert (made.quota_share_bp, made.limit_cpu_milli, made.priority) == (15_000, 8_000, 4)
    assert 'value="1.5"' in sign_in(actors, "owner_a").get(url).content.decode()
    assert sign_in(actors, "operator").post(url, {**sent, "parent": ""}).status_code == 302
    made.refresh_from_db()
    assert made.parent is None
    assert sign_in(actors, "owner_b").get(url).status_code == 404
    assert sign_in(actors, "member_a").post(url, sent).status_code == 403
    assert Client().get(url)["Location"].startswith("/accounts/login/")


def test_the_api_edits_moves_and_tells(
    api: Any,  # noqa: F811
    actors: Actors,
    top: Queue,
) -> None:
    full(actors)
    operator: Api = api("operator")
    made = create_queue(actors.operator, actors.a, "night")
    answer = operator.post(f"queues/{made.public_id}/edit", {"parent": top.public_id, "quota_share_bp": CARD})
    assert (answer.status_code, answer.json()["parent"], answer.json()["quota_share_bp"]) == (200, top.name, CARD)
    assert api("owner_b").post(f"queues/{made.public_id}/edit", {"priority": 1}).status_code == 404
    assert operator.post(f"queues/{made.public_id}/edit", {"parent": "que_none"}).status_code == 422
    told = {row["tenant"]: row for row in api("owner_a").get("queues/shares").json()}
    assert list(told) == [actors.a.slug]
    rows = [row for row in operator.get("queues/shares").json() if row["entitlement"]]
    assert [row["entitlement"]["share_bp"] for row in rows] == [4 * CARD, 4 * CARD]
