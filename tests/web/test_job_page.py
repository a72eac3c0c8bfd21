"""The job page: what it asked, where it runs and why, output, actions; each only for those who may."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console.common import clock
from pool.nodes.models import LogChunk
from pool.scheduling import services
from pool.scheduling.models import Job, JobState, Replica
from tests import factories
from tests.conftest import Actors
from tests.web.conftest import As

Submit = Callable[..., Job]
Sweep = Callable[[], None]


def _page(client: Client, job: Job, **params: object) -> str:
    response = client.get(reverse("scheduling:job_detail", args=[job.public_id]), params)
    assert response.status_code == 200
    return str(response.content.decode())


@pytest.fixture
def running(submit: Submit, schedule: Sweep) -> Job:
    """Two replicas of four linked cards each, running; output on rank 0."""
    factories.make_node("n-01", devices=8)
    factories.make_node("n-02", devices=8)
    job = submit("pair", gpus=4, replicas=2, environment={"TOKEN": "s3cret"}, labels={"team": "nlp"})
    schedule()
    for replica in Replica.objects.filter(job=job):
        services.replica_started(replica.public_id, received_at=clock.now())
    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    return job


def _write(job: Job, text: str, stream: str = "stdout", offset: int = 0, rank: int = 0) -> Replica:
    replica = Replica.objects.get(job=job, rank=rank)
    data = text.encode()
    LogChunk.objects.create(replica=replica, stream=stream, offset=offset, data=data, at=clock.now())
    return replica


def test_a_running_job_says_where_and_why(as_: As, running: Job) -> None:
    html = _page(as_("operator"), running)
    assert "n-01" in html
    assert "all linked by NVLink" in html
    assert "Why it runs there" in html
    assert "Change of fragmentation, compared in steps" in html
    assert "(step " in html
    assert "Placed: 2 replicas on 1 node" in html
    assert "All processes run" in html


def test_a_tenant_does_not_learn_the_runner_up(as_: As, running: Job) -> None:
    assert "n-02" in _page(as_("operator"), running)
    html = _page(as_("member_a"), running)
    assert "n-02" not in html
    assert "this one was chosen by:" in html
    assert "Criterion, first to last" not in html  # its figures tell how full nodes are


def test_a_waiting_job_says_why_and_what_would_admit_it(as_: As, submit: Submit, schedule: Sweep) -> None:
    factories.make_node("n-01", devices=8)
    first = submit("first", gpus=6)
    schedule()
    job = submit("second", gpus=4)
    schedule()
    html = _page(as_("member_a"), job)
    assert "Why it waits" in html
    assert "too little compute share free" in html
    assert "devices per replica: 2 instead of 4" in html
    assert "place 1 of 1 in its queue" in html
    assert first.public_id not in html


def test_environment_is_hidden_from_viewers(as_: As, running: Job) -> None:
    assert "s3cret" in _page(as_("member_a"), running)
    viewer = _page(as_("viewer_a"), running)
    assert "s3cret" not in viewer
    assert "TOKEN=•••" in viewer


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (JobState.QUEUED, {"cancel", "priority"}),
        (JobState.RUNNING, {"cancel", "requeue", "priority"}),
        (JobState.STOPPING, {"cancel", "priority"}),
        (JobState.FAILED, {"retry"}),
        (JobState.SUCCEEDED, set()),
    ],
)
def test_actions_fit_the_state(as_: As, actors: Actors, state: str, offered: set[str]) -> None:
    job = factories.make_job(actors.a, state=state)
    html = _page(as_("member_a"), job)
    shown = {name for name in ("cancel", "requeue", "retry", "priority") if f'/jobs/{job.public_id}/{name}"' in html}
    assert shown == offered
    assert f"?clone={job.public_id}" in html
    viewer = _page(as_("viewer_a"), job)
    assert f"/jobs/{job.public_id}/cancel" not in viewer
    assert "?clone=" not in viewer


def test_cancel_retry_and_priority_from_the_page(as_: As, actors: Actors) -> None:
    job = factories.make_job(actors.a)
    client = as_("member_a")
    for action, data, state in (
        ("priority", {"priority": "7"}, "queued"),
        ("cancel", {}, "cancelled"),
        ("retry", {}, "queued"),
    ):
        response = client.post(reverse("scheduling:job_act", args=[job.public_id, action]), data, follow=True)
        assert response.status_code == 200
        job.refresh_from_db()
        assert job.state == state
    assert job.priority == 7


@pytest.mark.parametrize("text", ["", "1e3", "99999", "-1001", "x"])
def test_a_bad_priority_changes_nothing_and_says_so(as_: As, actors: Actors, text: str) -> None:
    job = factories.make_job(actors.a, priority=3)
    url = reverse("scheduling:job_act", args=[job.public_id, "priority"])
    html = as_("member_a").post(url, {"priority": text}, follow=True).content.decode()
    job.refresh_from_db()
    assert job.priority == 3
    assert "must be a whole number from -1000 to 1000" in html


def test_an_action_that_comes_too_late_is_said(as_: As, actors: Actors) -> None:
    job = factories.make_job(actors.a, state=JobState.SUCCEEDED)
    url = reverse("scheduling:job_act", args=[job.public_id, "cancel"])
    html = as_("member_a").post(url, follow=True).content.decode()
    assert "the job has already ended" in html


def test_actions_by_get_by_viewers_and_by_others_do_nothing(as_: As, actors: Actors) -> None:
    job = factories.make_job(actors.a)
    url = reverse("scheduling:job_act", args=[job.public_id, "cancel"])
    assert as_("member_a").get(url).status_code == 405
    assert as_("viewer_a").post(url).status_code == 403
    assert as_("auditor").post(url).status_code == 403
    assert as_("member_b").post(url).status_code == 404
    assert Client().post(url).status_code == 302
    assert as_("member_a").post(url.replace("cancel", "explode")).status_code == 404
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_every_address_of_a_foreign_job_is_not_found(as_: As, running: Job) -> None:
    client = as_("member_b")
    for path in ("", "log/", "log/stdout/"):
        assert client.get(f"/jobs/{running.public_id}/{path}").status_code == 404


def test_output_is_in_the_page_and_goes_on_where_it_stopped(as_: As, running: Job) -> None:
    replica = _write(running, "epoch 1\n")
    html = _page(as_("member_a"), running)
    assert "epoch 1" in html
    assert 'data-stdout="8"' in html
    _write(running, "epoch 2 ✓\n", offset=8)
    url = reverse("scheduling:job_log", args=[running.public_id])
    answer = as_("member_a").get(url, {"replica": replica.public_id, "stdout": 8, "stderr": 0}).json()
    assert [(m["stream"], m["offset"], m["next"], m["text"]) for m in answer["messages"]] == [
        ("stdout", 8, 20, "epoch 2 ✓\n")
    ]
    assert (answer["state"], answer["final"]) == ("running", False)


def test_a_character_cut_in_two_waits_for_its_rest(as_: As, running: Job) -> None:
    replica = Replica.objects.get(job=running, rank=0)
    half = "é".encode()
    LogChunk.objects.create(replica=replica, stream="stdout", offset=0, data=b"a" + half[:1], at=clock.now())
    url = reverse("scheduling:job_log", args=[running.public_id])
    first = as_("member_a").get(url, {"stdout": 0, "stderr": 0}).json()["messages"]
    assert [(m["next"], m["text"]) for m in first] == [(1, "a")]
    LogChunk.objects.create(replica=replica, stream="stdout", offset=2, data=half[1:] + b"b", at=clock.now())
    second = as_("member_a").get(url, {"stdout": 1, "stderr": 0}).json()["messages"]
    assert "".join(m["text"] for m in second) == "éb"


@pytest.mark.parametrize("offset", ["-1", "x", "1e3", "9" * 30])
def test_a_bad_offset_is_named(as_: As, running: Job, offset: str) -> None:
    url = reverse("scheduling:job_log", args=[running.public_id])
    assert as_("member_a").get(url, {"stdout": offset}).status_code == 422


def test_download_is_byte_for_byte(as_: As, running: Job) -> None:
    _write(running, "<b>bold</b>\n")
    _write(running, "more\n", offset=12)
    url = reverse("scheduling:job_log_file", args=[running.public_id, "stdout"])
    response = as_("member_a").get(url)
    assert b"".join(response.streaming_content) == b"<b>bold</b>\nmore\n"  # type: ignore[attr-defined]
    assert response["Content-Disposition"].startswith("attachment")
    assert as_("member_a").get(url.replace("stdout", "core")).status_code == 404


def test_output_cannot_inject_markup(as_: As, running: Job) -> None:
    _write(running, "<script>alert(1)</script>\n")
    assert "<script>alert" not in _page(as_("member_a"), running)


def test_as_many_queries_for_2_replicas_as_for_20(as_: As, submit: Submit, schedule: Sweep) -> None:
    for number in range(4):
        factories.make_node(f"n-{number}", devices=8)
    client = as_("member_a")

    def queries(name: str, replicas: int) -> int:
        job = submit(name, gpus=1, replicas=replicas)
        schedule()
        _page(client, job)
        with CaptureQueriesContext(connection) as captured:
            _page(client, job)
        return len(captured)

    assert queries("small", 2) == queries("large", 20)


def test_many_replicas_are_paged(as_: As, submit: Submit, schedule: Sweep) -> None:
    for number in range(5):
        factories.make_node(f"n-{number}", devices=8)
    job = submit("wide", gpus=1, replicas=40)
    schedule()
    first = _page(as_("member_a"), job)
    assert "rank=32" in first
    assert "Lower ranks" not in first
    assert "Lower ranks" in _page(as_("member_a"), job, rank=32)


def test_the_polled_fragment_carries_no_output(as_: As, running: Job) -> None:
    _write(running, "a long line\n")
    url = reverse("scheduling:job_detail", args=[running.public_id])
    html = as_("member_a").get(url, headers={"HX-Request": "true"}).content.decode()
    assert 'id="job-live"' in html
    assert "a long line" not in html


def test_a_stopping_job_says_so(as_: As, actors: Actors, running: Job) -> None:
    services.cancel_job(actors.member_a, running)
    html = _page(as_("member_a"), running)
    assert "Stopping" in html
    assert "Cancelled by request" in html
