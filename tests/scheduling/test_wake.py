"""Hints through Valkey: what was sent is heard, many at once, and what is not understood harms nothing."""

import pytest
from django.db import transaction

from pool.scheduling import wake

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
