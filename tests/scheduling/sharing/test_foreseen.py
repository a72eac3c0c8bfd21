"""Before submitting: which budget of GPU-hours would hold a job back, and that the scheduler then does the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from console.common.actor import Actor
from pool.scheduling.dry_run import DryRun, dry_run
from pool.scheduling.models import Job, Queue
from pool.scheduling.pages import panel
from pool.scheduling.services import set_budget
from tests import factories
from tests.conftest import Actors
from tests.scheduling.sharing.world import World

pytestmark = pytest.mark.django_db
HOUR = 3600


def asked(actor: Actor, **spec: Any) -> DryRun:
    return dry_run(actor, {"name": "w", "command": ["x"], **spec})


@pytest.fixture
def world(actors: Actors) -> World:
    return World(cards=8)


@pytest.mark.parametrize(
    ("spec", "barred"),
    [
        ({"gpus": 4, "max_duration": 2 * HOUR}, False),
        ({"gpus": 4, "max_duration": 3 * HOUR}, True),
        ({"gpu_fraction": 0.5, "max_duration": 20 * HOUR}, False),
        ({"gpu_fraction": 0.5, "max_duration": 21 * HOUR}, True),
        ({"gpus": 8}, False),  # without a time limit it starts while anything is left
        ({"cpu_milli": 1000, "gpus": 0, "max_duration": 900 * HOUR}, False),  # takes no card
    ],
)
@pytest.mark.parametrize("owner", ["queue", "project"])
def test_what_is_foretold_is_what_happens(
    actors: Actors, world: World, owner: str, spec: dict[str, Any], barred: bool
) -> None:
    queue = actors.a.queues.get()
    set_budget(actors.operator, queue if owner == "queue" else actors.a.projects.get(), {"hours": Decimal(10)})
    world.scheduler.react([], [], queues=True)
    told = asked(actors.member_a, **spec)
    assert (told.blocked_by_limit, told.fits) == (barred, not barred)
    scope = {"queue": "budget", "project": "project_budget"}[owner]
    if barred:
        assert told.bites_first is not None
        assert (told.bites_first.scope, told.bites_first.limit) == (scope, 10 * HOUR * 10_000)
    job = world.submit(actors.a, **{"gpus": None, **spec})[0]
    world.scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == ("queued" if barred else "starting")


def test_what_was_used_and_reserved_counts(actors: Actors, world: World) -> None:
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(10)})
    assert not asked(actors.member_a, gpus=2, max_duration=5 * HOUR).blocked_by_limit
    (job,) = world.submit(actors.a, gpus=2, max_duration=HOUR)
    world.scheduler.sweep()
    world.run()
    assert asked(actors.member_a, gpus=2, max_duration=5 * HOUR).blocked_by_limit
    assert not asked(actors.member_a, gpus=2, max_duration=4 * HOUR).blocked_by_limit
    world.finish(job)  # what it did not use is free again
    assert not asked(actors.member_a, gpus=2, max_duration=5 * HOUR - 60).blocked_by_limit


def test_a_budget_beyond_the_quota_spares_what_is_within_it(actors: Actors, world: World) -> None:
    queue = actors.a.queues.get()
    Queue.objects.filter(pk=queue.pk).update(quota_share_bp=20_000)
    set_budget(actors.operator, queue, {"hours": Decimal(1), "when_spent": "over_quota"})
    assert not asked(actors.member_a, gpus=2, max_duration=5 * HOUR).blocked_by_limit
    assert asked(actors.member_a, gpus=3, max_duration=5 * HOUR).blocked_by_limit


def test_another_tenants_budget_above_is_told_without_name_or_numbers(actors: Actors, world: World) -> None:
    above = factories.make_queue(actors.b, "secret-queue")
    Queue.objects.filter(tenant=actors.a).update(parent=above)
    set_budget(actors.operator, above, {"hours": Decimal(10)})
    told = asked(actors.member_a, gpus=4, max_duration=3 * HOUR)
    assert told.blocked_by_limit
    assert "secret" not in repr(told)
    assert told.bites_first is not None
    assert (told.bites_first.name, told.bites_first.limit, told.bites_first.used) == ("", 0, 0)
    shown = panel.of(actors.member_a, told)
    assert shown is not None
    assert shown.limit is not None
    assert shown.limit.name == "GPU-hour budget of a queue above"
    free = asked(actors.member_a, gpus=4, max_duration=HOUR)
    assert not any(limit.kind == "card_s" for limit in free.limits)
    seen = asked(actors.operator, tenant=actors.a.slug, gpus=4, max_duration=3 * HOUR)
    assert seen.bites_first is not None
    assert seen.bites_first.name == "secret-queue"
