"""Whose turn it is: the queue that is furthest below what it is entitled to, not who came first."""

from __future__ import annotations

import pytest

from pool.scheduling.models import JobState, Queue
from pool.scheduling.sharing.state import Sharing
from tests import factories
from tests.scheduling.sharing.world import CARD, World, states

pytestmark = pytest.mark.django_db


def test_a_queue_with_nothing_comes_before_one_that_asked_first_and_louder() -> None:
    world = World(cards=4)
    first, second = world.tenant("first"), world.tenant("second")
    world.submit(first, 6, priority=9, preemptible=False)
    world.submit(second, 2, preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(first), world.cards(second)) == (2, 2)


def test_below_its_quota_comes_before_all_others() -> None:
    world = World(cards=4)
    plain, entitled = world.tenant("plain"), world.tenant("entitled", quota_share_bp=3 * CARD)
    world.submit(plain, 4, preemptible=False)
    world.submit(entitled, 4, preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(plain), world.cards(entitled)) == (1, 3)


def test_by_weight_beyond_the_quotas() -> None:
    world = World(cards=8)
    light, heavy = world.tenant("light"), world.tenant("heavy", over_quota_weight=3)
    world.submit(light, 8, preemptible=False)
    world.submit(heavy, 8, preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(light), world.cards(heavy)) == (2, 6)


def test_in_one_queue_priority_then_age() -> None:
    world = World(cards=2)
    tenant = world.tenant("one")
    old, low, high = (world.submit(tenant, priority=priority)[0] for priority in (1, 0, 5))
    world.scheduler.sweep()
    assert states(old, low, high) == [JobState.STARTING, JobState.QUEUED, JobState.STARTING]


def test_a_department_counts_once_however_many_queues_it_has() -> None:
    world = World(cards=8)
    many, single = world.tenant("many"), world.tenant("single")
    top = many.queues.get()
    for name in ("a", "b", "c"):
        factories.make_queue(many, name, parent=top)
        world.submit(many, 4, queue=name, preemptible=False)
    world.submit(single, 8, preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(many), world.cards(single)) == (4, 4)


def test_room_for_all_computes_no_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass without contention costs nothing: neither entitlements nor books are asked for."""
    world = World(cards=8)
    tenants = [world.tenant("first"), world.tenant("second")]
    asked: list[str] = []
    for name in ("entitlements", "books"):
        monkeypatch.setattr(Sharing, name, lambda *_, _name=name: asked.append(_name))
    jobs = [job for tenant in tenants for job in world.submit(tenant, 4)]
    world.scheduler.react([job.pk for job in jobs], [])
    assert states(*jobs) == [JobState.STARTING] * 8
    assert asked == []


def test_the_limit_of_a_department_binds_all_below_it() -> None:
    world = World(cards=8)
    tenant = world.tenant("many", limit_share_bp=3 * CARD)
    for name in ("a", "b"):
        factories.make_queue(tenant, name, parent=tenant.queues.get(name="default"))
    jobs = [job for name in ("a", "b") for job in world.submit(tenant, 3, queue=name, preemptible=False)]
    world.scheduler.sweep()
    assert world.cards(tenant) == 3
    waits = next(job for job in jobs if states(job) == [JobState.QUEUED])
    reasons = waits.decisions.get().reasons
    assert reasons["limit"] | {"name": ""} == {
        "scope": "above",
        "name": "",
        "kind": "share_bp",
        "limit": 3 * CARD,
        "used": 3 * CARD,
        "foreign": False,
    }


def test_what_a_queue_never_lends_is_kept_for_it() -> None:
    world = World(cards=4)
    world.tenant("keeper", quota_share_bp=2 * CARD, lending_limit_bp=0)
    other = world.tenant("other")
    jobs = world.submit(other, 4)
    world.scheduler.sweep()
    assert world.cards(other) == 2
    waits = next(job for job in jobs if states(job) == [JobState.QUEUED])
    limit = waits.decisions.get().reasons["limit"]
    assert (limit["scope"], limit["foreign"]) == ("lending", True)


def test_a_limit_of_memory_or_cpu_binds() -> None:
    world = World(cards=8)
    tenant = world.tenant("small", limit_cpu_milli=5_000)
    jobs = world.submit(tenant, 3, cpu_milli=2_000)
    world.scheduler.sweep()
    assert states(*jobs).count(JobState.STARTING) == 2


def test_a_queue_that_has_just_been_made_is_known_to_its_first_job() -> None:
    world = World(cards=1)
    tenant, other = world.tenant("one"), world.tenant("two")
    world.scheduler.sweep()
    Queue.objects.create(tenant=tenant, name="fresh")
    jobs = [*world.submit(tenant, queue="fresh"), *world.submit(other)]
    world.scheduler.react([job.pk for job in jobs], [])
    assert sorted(states(*jobs)) == [JobState.QUEUED, JobState.STARTING]


def test_who_gets_what_does_not_depend_on_how_fast_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent before it is known whether there is room for all."""
    monkeypatch.setattr("pool.scheduling.scheduler.FIRST_S", -1.0)
    monkeypatch.setattr("pool.scheduling.scheduler.LATER_S", -1.0)
    world = World(cards=4)
    plain, entitled = world.tenant("plain"), world.tenant("entitled", quota_share_bp=3 * CARD)
    world.submit(plain, 4, preemptible=False)
    world.submit(entitled, 4, preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(plain), world.cards(entitled)) == (1, 3)
