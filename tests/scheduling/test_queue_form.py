"""The form of a new queue: who has it, what it takes, and how it refuses."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from console.audit.models import AuditEntry
from pool.scheduling.models import Queue
from tests.conftest import Actors
from tests.scheduling.test_queues import sign_in

pytestmark = pytest.mark.django_db
URL = "/queues/new/"


def test_an_operator_sets_limits_in_cards_and_what_weighs(actors: Actors) -> None:
    sent = {
        "tenant": actors.a.slug,
        "name": "night",
        "limit_cards": "2.5",
        "limit_running_jobs": "8",
        "quota_cards": "1.25",
        "over_quota_weight": "3.5",
        "priority": "-5",
    }
    answer = sign_in(actors, "operator").post(URL, sent)
    made = Queue.objects.get(tenant=actors.a, name="night")
    assert answer["Location"] == reverse("scheduling:queue_detail", args=[made.public_id])
    assert (made.limit_share_bp, made.limit_running_jobs, made.quota_share_bp) == (25_000, 8, 12_500)
    assert (made.over_quota_weight, made.priority) == (Decimal("3.5"), -5)
    assert AuditEntry.objects.get(action="queue.create").object_id == made.public_id


def test_round_numbers_of_cards_are_written_out(actors: Actors) -> None:
    client = sign_in(actors, "operator")
    client.post(URL, {"tenant": actors.a.slug, "name": "round", "limit_cards": "40", "quota_cards": "0"})
    made = Queue.objects.get(tenant=actors.a, name="round")
    page = client.get(reverse("scheduling:queue_edit", args=[made.public_id])).content.decode()
    assert 'value="40"' in page
    assert "E+" not in page


def test_an_owner_makes_one_without_what_weighs_and_only_for_the_own_tenant(actors: Actors) -> None:
    client = sign_in(actors, "owner_a")
    page = client.get(URL).content.decode()
    assert actors.a.name in page
    assert actors.b.name not in page
    assert "quota_cards" not in page
    sent = {"tenant": actors.a.slug, "name": "mine", "quota_cards": "100", "priority": "1000"}
    assert client.post(URL, sent).status_code == 302
    made = Queue.objects.get(name="mine")
    assert (made.limit_share_bp, made.quota_share_bp, made.over_quota_weight, made.priority) == (None, 0, 1, 0)
    assert client.post(URL, {"tenant": actors.b.slug, "name": "theirs"}).status_code == 422
    assert not Queue.objects.filter(name="theirs").exists()


@pytest.mark.parametrize(
    ("sent", "field", "says"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "two words"}, "name", "letters, digits, hyphens and underscores"),
        ({"name": "x" * 65}, "name", "at most 64 characters"),
        ({"name": "default"}, "name", "has a queue of this name already"),
        ({"limit_cards": "0"}, "limit_cards", "greater than or equal to 0.01"),
        ({"limit_cards": "NaN"}, "limit_cards", "Enter a number"),
        ({"limit_cards": "0.001"}, "limit_cards", "2 decimal places"),
        ({"limit_running_jobs": "-1"}, "limit_running_jobs", "greater than or equal to 1"),
        ({"limit_running_jobs": "9" * 30}, "limit_running_jobs", "must be a whole number from"),
        ({"quota_cards": "-1"}, "quota_cards", "greater than or equal to 0"),
        ({"over_quota_weight": "1e9"}, "over_quota_weight", "must be from 0 to 99999.999"),
        ({"priority": "1001"}, "priority", "less than or equal to 1000"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_made(
    actors: Actors, sent: dict[str, str], field: str, says: str
) -> None:
    before = Queue.objects.count()
    answer = sign_in(actors, "operator").post(URL, {"tenant": actors.a.slug, "name": "night"} | sent)
    assert answer.status_code == 422
    assert says in " ".join(answer.context["form"].errors[field])
    assert says in answer.content.decode()
    assert Queue.objects.count() == before


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_list_leads_there_whoever_may(actors: Actors, language: str) -> None:
    for who, may in (("operator", True), ("owner_a", True), ("member_a", False), ("auditor", False)):
        client = sign_in(actors, who, language)
        assert (f'href="{URL}"' in client.get("/queues/").content.decode()) == may, who
        assert client.get(URL).status_code == (200 if may else 403), who
    assert Client().get(URL)["Location"].startswith("/accounts/login/")
