"""The palette finds what the actor may see, and nothing else."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from console.web import palette
from pool.scheduling.models import Job
from tests import factories
from tests.conftest import Actors
from tests.web.conftest import As

Submit = Callable[..., Job]


def _labels(actor: object, text: str) -> list[str]:
    return [str(hit.label) for group in palette.search(actor, text) for hit in group.hits]  # type: ignore[arg-type]


def test_finds_jobs_nodes_devices_tenants_and_pages(actors: Actors) -> None:
    factories.make_node("probe-n01", devices=2)
    factories.make_job(actors.a, name="probe-train")
    labels = _labels(actors.operator, "probe")
    assert labels == ["probe-train", "probe-n01", "probe-n01 · 0", "probe-n01 · 1"]
    assert "Aurora" in _labels(actors.operator, "auror")
    assert "Queues" in _labels(actors.operator, "queu")


def test_another_tenants_things_are_not_there(actors: Actors) -> None:
    factories.make_node("probe-n01", devices=1)
    job = factories.make_job(actors.a, name="probe-train")
    assert _labels(actors.member_b, "probe") == []
    assert _labels(actors.member_b, job.public_id) == []
    assert _labels(actors.member_b, "aurora") == []


def test_each_kind_is_capped_and_queries_do_not_grow(
    actors: Actors, django_assert_num_queries: Callable[[int], object]
) -> None:
    for number in range(9):
        factories.make_job(actors.a, name=f"probe-{number}")
    with django_assert_num_queries(5):  # type: ignore[attr-defined]
        assert len(_labels(actors.operator, "probe")) == palette.EACH


@pytest.mark.parametrize("text", ["%", "_", "\0", "'; DROP TABLE", "x" * 5000, "<script>"])
def test_odd_text_is_harmless(as_: As, text: str) -> None:
    response = as_("member_a").get(reverse("web:palette"), {"q": text}, headers={"HX-Request": "true"})
    assert response.status_code == 200
    assert "<script>" not in response.content.decode()


def test_works_as_a_page_without_javascript(as_: As) -> None:
    html = as_("member_a").get(reverse("web:palette"), {"q": "job"}).content.decode()
    assert "<html" in html
    assert reverse("scheduling:job_list") in html


def test_anonymous_is_sent_to_sign_in(db: None) -> None:
    assert Client().get(reverse("web:palette")).status_code == 302
