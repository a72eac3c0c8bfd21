"""Chains go whole when they are older than the setting says; what is in use stays, and so do the decisions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pool.scheduling.ledger.rebuild import Lost
from pool.scheduling.ledger.replay import replay
from pool.scheduling.models import Decision, LedgerBase, LedgerSegment
from pool.scheduling.services.ledger import prune_ledger, write_down
from tests.scheduling.sharing.world import World

pytestmark = pytest.mark.django_db


def test_old_chains_go_whole() -> None:
    world = World(cards=8)
    a = world.tenant("a")
    for _ in range(4):
        world.submit(a)
        world.settle()
        world.now += timedelta(days=1)
        world.scheduler.resync()
    world.submit(a)
    world.settle()
    before = world.now - timedelta(days=1, hours=12)
    while prune_ledger(before, most=1):
        pass
    first, second, third, fourth, fifth = Decision.objects.order_by("pk")
    for gone in (first, second):
        with pytest.raises(Lost) as lost:
            replay(gone.public_id)
        assert lost.value.code == "pruned"
    assert [replay(kept.public_id).same for kept in (third, fourth, fifth)] == [True] * 3


def test_the_newest_chain_stays_however_old() -> None:
    world = World(cards=1)
    world.submit(world.tenant("a"))
    world.settle()
    assert prune_ledger(world.now + timedelta(days=9)) == 0
    assert replay(Decision.objects.get().public_id).same


def test_a_chain_in_which_nothing_was_decided_is_replaced() -> None:
    world = World(cards=1)
    world.scheduler.resync()
    world.scheduler.resync()
    assert LedgerBase.objects.count() == 1


def test_what_happens_without_decisions_is_written_down_before_it_is_too_much() -> None:
    world = World(cards=2)
    journal = world.scheduler.journal
    for _ in range(5_000):
        journal.is_gone(0)
    world.scheduler.sweep()
    assert LedgerSegment.objects.get().count == 5_000
    assert not journal.is_full
    write_down(journal)
    assert LedgerSegment.objects.count() == 1
