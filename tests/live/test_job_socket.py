"""The job's websocket: output from an offset on, for its own tenant only, checked before each message."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import transaction
from websockets.exceptions import ConnectionClosed, InvalidStatus

from console.common import clock
from console.tenants.models import Membership, User
from pool.nodes import job_stream
from pool.nodes.models import LogChunk
from pool.scheduling.models import Attempt, Job, JobEvent, Replica
from tests import factories
from tests.live.server import cookie_header, websocket


def _job() -> tuple[Job, Replica, User, User]:
    """A running job of one tenant, and a member of that and of another tenant."""
    mine, other = factories.make_tenant(), factories.make_tenant()
    job = factories.make_job(mine, state="running", attempt_count=1)
    now = clock.now()
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=now)
    node = factories.make_node(devices=1)
    replica = Replica.objects.create(
        attempt=attempt, job=job, role=job.roles.get(), rank=0, node=node, assigned_at=now, state="running"
    )
    return job, replica, factories.make_member(mine), factories.make_member(other)


def _write(replica: Replica, data: bytes, stream: str = "stdout") -> None:
    last = LogChunk.objects.filter(replica=replica, stream=stream).order_by("-offset").first()
    offset = last.offset + len(last.data) if last else 0
    LogChunk.objects.create(replica=replica, stream=stream, offset=offset, data=data, at=clock.now())


@transaction.atomic
def _finish(job: Job, replica: Replica) -> JobEvent:
    """The last line, the end and its event, as one change."""
    _write(replica, b"done\n")
    Job.objects.filter(pk=job.pk).update(state="succeeded")
    return JobEvent.objects.create(job=job, at=clock.now(), kind="finished")


async def _news(job: Job) -> None:
    await get_channel_layer().group_send(job_stream.group(job.public_id), {"type": "job.news"})


async def _next(client: Any) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(client.recv(), 60))  # type: ignore[no-any-return]


async def test_output_comes_from_the_offset_on_and_goes_on(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    await sync_to_async(_write)(replica, b"first line\n")
    await sync_to_async(_write)(replica, b"second line\n")
    path = f"/ws/jobs/{job.public_id}/log/?stdout=6"
    async with websocket(host, path, await sync_to_async(cookie_header)(member)) as client:
        one, two = await _next(client), await _next(client)
        assert (one["offset"], one["next"], one["text"]) == (6, 11, "line\n")
        assert (two["offset"], two["next"], two["text"]) == (11, 23, "second line\n")
        await sync_to_async(_write)(replica, b"oops\n", "stderr")
        await _news(job)
        three = await _next(client)
        assert (three["stream"], three["offset"], three["text"]) == ("stderr", 0, "oops\n")
        assert three["replica"] == replica.public_id


async def test_what_changed_while_the_page_was_on_its_way_is_told_at_once(host: str) -> None:
    job, _replica, member, _ = await sync_to_async(_job)()
    headers = await sync_to_async(cookie_header)(member)
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/?state=starting", headers) as client:
        assert (await _next(client)) | {"event": 0} == {"type": "changed", "state": "running", "event": 0}
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/?state=running", headers) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.recv(), 1)


async def test_a_character_that_is_cut_waits_for_its_rest(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    text = "训练".encode()
    await sync_to_async(_write)(replica, text[:4])
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/", await sync_to_async(cookie_header)(member)) as client:
        first = await _next(client)
        assert (first["text"], first["next"]) == ("训", 3)
        await sync_to_async(_write)(replica, text[4:])
        await _news(job)
        second = await _next(client)
        assert (second["text"], second["offset"], second["next"]) == ("练", 3, 6)


async def test_what_was_lost_on_the_way_is_said(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    await sync_to_async(LogChunk.objects.create)(
        replica=replica, stream="stdout", offset=100, data=b"later\n", at=clock.now()
    )
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/", await sync_to_async(cookie_header)(member)) as client:
        assert await _next(client) == {
            "type": "missing",
            "replica": replica.public_id,
            "stream": "stdout",
            "offset": 0,
            "next": 100,
        }
        assert (await _next(client))["text"] == "later\n"


async def test_a_negative_offset_begins_near_the_end(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    for number in range(50):
        await sync_to_async(_write)(replica, b"line %02d\n" % number)
    path = f"/ws/jobs/{job.public_id}/log/?stdout=-16"
    async with websocket(host, path, await sync_to_async(cookie_header)(member)) as client:
        assert [(await _next(client))["text"] for _ in range(2)] == ["line 48\n", "line 49\n"]


async def test_news_of_the_timeline_comes_after_the_output(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/", await sync_to_async(cookie_header)(member)) as client:
        event = await sync_to_async(_finish)(job, replica)
        await _news(job)
        assert (await _next(client))["text"] == "done\n"
        assert await _next(client) == {"type": "changed", "state": "succeeded", "event": event.pk}


@pytest.mark.parametrize("who", ["anonymous", "another tenant"])
async def test_strangers_are_refused_as_if_there_were_no_such_job(host: str, who: str) -> None:
    job, _, _, stranger = await sync_to_async(_job)()
    headers = {} if who == "anonymous" else await sync_to_async(cookie_header)(stranger)
    answers = []
    for public_id in (job.public_id, "job_that_never_was"):
        with pytest.raises(InvalidStatus) as refused:
            async with websocket(host, f"/ws/jobs/{public_id}/log/", headers):
                pass
        answers.append((refused.value.response.status_code, refused.value.response.body))
    assert answers[0] == answers[1]
    assert answers[0][0] == 403


async def test_a_right_that_ends_while_connected_withholds_the_next_line(host: str) -> None:
    job, replica, member, _ = await sync_to_async(_job)()
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/", await sync_to_async(cookie_header)(member)) as client:
        await sync_to_async(_write)(replica, b"for you\n")
        await _news(job)
        assert (await _next(client))["text"] == "for you\n"
        await sync_to_async(Membership.objects.all().delete)()
        await sync_to_async(_write)(replica, b"secret\n")
        await _news(job)
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(client.recv(), 60)
    assert closed.value.rcvd.code == 4403


async def test_a_replica_of_another_job_is_none_of_this_one(host: str) -> None:
    job, _, member, _ = await sync_to_async(_job)()
    _, foreign, _, _ = await sync_to_async(_job)()
    headers = await sync_to_async(cookie_header)(member)
    with pytest.raises(InvalidStatus):
        async with websocket(host, f"/ws/jobs/{job.public_id}/log/?replica={foreign.public_id}", headers):
            pass


async def test_a_lost_wake_up_costs_a_few_seconds_only(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_stream, "POLL_SECONDS", 0.2)
    job, replica, member, _ = await sync_to_async(_job)()
    async with websocket(host, f"/ws/jobs/{job.public_id}/log/", await sync_to_async(cookie_header)(member)) as client:
        await sync_to_async(_write)(replica, b"nobody told\n")
        assert (await _next(client))["text"] == "nobody told\n"
