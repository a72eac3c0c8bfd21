"""Hints through Valkey: what was sent is heard, many at once, and what is not understood harms nothing."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F

from console.common import clock, lease
from pool.inventory.models import Node
from pool.scheduling import wake
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("live")]


def test_hints_of_a_commit_are_heard_together_and_once():
    with transaction.atomic():
        wake.scheduler([2, 1], [7])
        wake.scheduler([3], queues=True)
    hints = wake.receive(1)
    assert (hints.jobs, hints.nodes, hints.queues) == ({1, 2, 3}, {7}, True)
    assert not wake.receive(0.01)


def test_a_rollback_sends_nothing():
    with transaction.atomic():
        wake.scheduler([1])
        transaction.set_rollback(True)
    assert not wake.receive(0.01)


def test_what_is_not_understood_is_left_out(live):
    live.rpush(wake.hints_key(), b"nonsense", b"[1]", b"[[5],[],false]")
    assert wake.receive(1).jobs == {5}


def test_hints_that_nobody_takes_do_not_pile_up(live, monkeypatch):
    monkeypatch.setattr(wake, "MOST", 3)
    for number in range(6):
        with transaction.atomic():
            wake.scheduler([number])
    assert live.llen(wake.hints_key()) == 3
    assert wake.receive(1).jobs == {3, 4, 5}


def test_what_has_come_is_taken_without_waiting():
    assert not wake.pending()
    with transaction.atomic():
        wake.scheduler([4])
    assert wake.pending().jobs == {4}
    assert not wake.pending()


def test_a_job_is_placed_in_the_middle_of_a_sweep(actors):
    """A sweep that reads many nodes looks up between its parts."""
    for number in range(20):
        factories.make_node(f"n{number}", devices=1)
    epoch = lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now())
    scheduler = Scheduler(epoch)
    Node.objects.update(cpu_milli=F("cpu_milli") + 1000)  # each has to be read again
    placed = []

    def look_up():
        if not placed:
            job = factories.make_job(actors.a)
            scheduler.react([job.pk], [])
            job.refresh_from_db()
            placed.append((job.state, len(scheduler.mirror.changed())))

    scheduler.sweep(look_up)
    ((state, unread),) = placed
    assert state == "starting"
    assert unread > 0
