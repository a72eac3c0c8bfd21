"""What node control stores: output once and capped, rollups once, and what is pruned."""

import os
from datetime import timedelta

import pytest

from console.common import clock
from pool.agent.protocol import LogPiece
from pool.inventory.models import Site
from pool.nodes import tasks
from pool.nodes.models import Agent, JoinToken, LogChunk, NodeRollup
from pool.nodes.services import (
    LogBook,
    WrongNode,
    flush_reports,
    nodes_with_faults,
    set_faults,
    store_rollups,
    take_writes,
)
from pool.nodes.services import logs as logs_room
from pool.scheduling.models import Attempt, Job, JobRole, Replica
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def replica(db):
    node = factories.make_node(devices=1)
    job = factories.make_job()
    now = clock.now()
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=now)
    role = JobRole.objects.get(job=job)
    return Replica.objects.create(attempt=attempt, job=job, role=role, rank=0, node=node, assigned_at=now)


def piece(replica, offset, data, stream="stdout"):
    return LogPiece(replica.public_id, stream, offset, data)


def text(replica, stream="stdout"):
    chunks = LogChunk.objects.filter(replica=replica, stream=stream).order_by("offset")
    return b"".join(bytes(chunk.data) for chunk in chunks)


def test_output_that_comes_again_is_stored_once(replica):
    book = LogBook(1 << 20)
    book.store(replica.node_id, [piece(replica, 0, b"hello "), piece(replica, 6, b"world")])
    for offset, data in ((0, b"hello "), (0, b"hello world"), (6, b"wor"), (3, b"lo world, again")):
        book.store(replica.node_id, [piece(replica, offset, data)])
    assert text(replica) == b"hello world, again"


def test_another_gateway_goes_on_where_the_first_stopped(replica):
    LogBook(1 << 20).store(replica.node_id, [piece(replica, 0, b"first"), piece(replica, 0, b"e", "stderr")])
    LogBook(1 << 20).store(replica.node_id, [piece(replica, 0, b"first and second")])
    assert (text(replica), text(replica, "stderr")) == (b"first and second", b"e")


def test_answers_tell_up_to_where_even_for_what_nobody_knows(replica):
    unknown = LogPiece("rep_unknown", "stdout", 10, b"abc")
    answers = LogBook(1 << 20).store(replica.node_id, [piece(replica, 0, b"abcd"), unknown])
    assert [(answer.offset, answer.job) for answer in answers] == [(4, replica.job.public_id), (13, "")]


def test_a_gap_stays_a_gap(replica):
    LogBook(1 << 20).store(replica.node_id, [piece(replica, 0, b"ab"), piece(replica, 100, b"yz")])
    assert list(LogChunk.objects.order_by("offset").values_list("offset", flat=True)) == [0, 100]


def test_another_node_cannot_write_into_it(replica):
    with pytest.raises(WrongNode):
        LogBook(1 << 20).store(replica.node_id + 1, [piece(replica, 0, b"lies")])
    assert not LogChunk.objects.exists()


def test_the_cap_keeps_the_head_and_the_newest(replica):
    most, size = 64 << 10, 4096
    book = LogBook(most)
    for number in range(100):
        book.store(replica.node_id, [piece(replica, number * size, bytes([number]) * size)])
    kept = list(LogChunk.objects.order_by("offset").values_list("offset", flat=True))
    assert len(kept) * size <= most
    assert kept[: most // 4 // size] == [number * size for number in range(most // 4 // size)]
    assert kept[-1] == 99 * size
    assert LogBook(most)._tail(replica.public_id).size == len(kept) * size


def test_small_pieces_count_for_their_rows(replica):
    book = LogBook(32 * logs_room.SMALLEST)
    for number in range(200):
        book.store(replica.node_id, [piece(replica, number, b"x")])
    assert LogChunk.objects.count() <= 32
    assert LogChunk.objects.order_by("-offset").first().offset == 199


def test_a_rollup_is_stored_once(replica):
    starts = clock.now().replace(second=0, microsecond=0)
    rows = [NodeRollup(node_id=replica.node_id, period_s=60, starts_at=starts, payload=b"one")]
    store_rollups(rows)
    store_rollups([NodeRollup(node_id=replica.node_id, period_s=60, starts_at=starts, payload=b"two")])
    assert [bytes(row.payload) for row in NodeRollup.objects.all()] == [b"one"]


def test_pruning_takes_what_is_old_and_nothing_else_however_often_it_runs(replica):
    now = clock.now()
    for days in (0, 13, 15, 100):
        starts = now - timedelta(days=days)
        NodeRollup.objects.create(node_id=replica.node_id, period_s=60, starts_at=starts, payload=b"")
    LogBook(1 << 20).store(replica.node_id, [piece(replica, 0, b"old")])
    site = Site.objects.first()
    JoinToken.objects.create(digest="a", site=site, expires_at=now - timedelta(days=60))
    JoinToken.objects.create(digest="b", site=site, expires_at=now)
    tasks.prune()
    tasks.prune()
    assert NodeRollup.objects.count() == 2
    assert JoinToken.objects.get().digest == "b"
    assert LogChunk.objects.count() == 1  # its job has not ended
    Job.objects.update(state="succeeded", finished_at=now - timedelta(days=31))
    tasks.prune()
    assert not LogChunk.objects.exists()


def test_reports_are_noted_for_the_session_that_sent_them_only(replica):
    other = factories.make_node(devices=1)
    before, at = clock.now() - timedelta(hours=1), clock.now()
    for node in (replica.node, other):
        Agent.objects.create(node=node, credential_digest="", session=3, last_report_at=before)
    flush_reports([(at, replica.node_id, 3), (at, other.pk, 2)])
    found = dict(Agent.objects.values_list("node_id", "last_report_at"))
    assert found == {replica.node_id: at, other.pk: before}
    assert {"flush_reports"} <= take_writes().keys()
    flush_reports([(at - timedelta(seconds=1), replica.node_id, 3)])  # a late round: the time never goes back
    assert Agent.objects.get(node=replica.node).last_report_at == at


def test_only_nodes_with_a_fault_that_an_agent_reported_are_looked_at_again(replica):
    other = factories.make_node(devices=2)
    assert set_faults(other.pk, {1}) == 1
    assert set_faults(other.pk, {1}) == 0
    assert nodes_with_faults([replica.node_id, other.pk]) == {other.pk}
    assert set_faults(other.pk, set()) == 1
    assert nodes_with_faults([replica.node_id, other.pk]) == set()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_short_write_leaves_its_thread_as_it_was(monkeypatch, allowed):
    """It runs at real-time priority where the system lets it, and at the usual one where not."""
    asked = []

    def ask(pid, policy, param):
        asked.append(policy)
        if not allowed:
            raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", ask)
    before = os.sched_getscheduler(0)
    node = factories.make_node()
    row = NodeRollup(node=node, period_s=60, starts_at=clock.now(), payload=b"x")
    store_rollups([row])
    assert NodeRollup.objects.filter(node=node).count() == 1
    assert asked == ([os.SCHED_FIFO, before] if allowed else [os.SCHED_FIFO])
