"""Budgets of GPU-hours: from what was really held, against the time that a job asks for, told and warned of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput, NotAllowed
from pool.engine.sharing import Weights
from pool.scheduling.models import Budget, JobState, UseHour
from pool.scheduling.services import lift_budget, set_budget, set_weight
from pool.scheduling.services.budgets import warn_of_budgets
from pool.scheduling.services.use import fold_use
from pool.scheduling.sharing import use
from pool.scheduling.sharing.budgets import HOUR_UNITS, accounts, all_budgets
from pool.scheduling.sharing.periods import period_of
from tests import factories
from tests.conftest import Actors
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)  # a Wednesday
PLAIN = Weights()


def world_at(cards: int = 8) -> World:
    world = World(cards=cards)
    world.now = NOON
    world.new_scheduler()
    return world


def heard(world: World) -> None:
    """The scheduler is told that somebody changed a budget."""
    world.scheduler.react([], [], queues=True)
    world.scheduler.sweep()


def ran(world: World, tenant: Any, hours: float, **spec: Any) -> None:
    """A job that held its cards for so long."""
    (job,) = world.submit(tenant, **spec)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(hours=hours)
    world.finish(job)


def hours_of(owner: Any, now: datetime) -> tuple[float, float]:
    from pool.scheduling.models import Queue

    (account,) = accounts(all_budgets(), Queue.objects.all(), now, PLAIN)
    return account.used / HOUR_UNITS, account.reserved / HOUR_UNITS


def test_what_was_held_is_used_and_what_may_still_be_used_is_reserved(actors: Actors) -> None:
    world = world_at()
    queue = actors.a.queues.get()
    set_budget(actors.operator, queue, {"hours": Decimal(100)})
    heard(world)
    ran(world, actors.a, 1.5, gpus=2)
    assert hours_of(queue, world.now) == (3.0, 0.0)
    world.submit(actors.a, gpus=4, max_duration=7200)
    world.scheduler.sweep()
    world.run()
    world.now += timedelta(minutes=30)
    assert hours_of(queue, world.now) == (5.0, 6.0)


def test_the_copy_by_hours_says_the_same_and_is_made_once(actors: Actors) -> None:
    world = world_at()
    ran(world, actors.a, 2.25, gpus=2)
    ran(world, actors.a, 0.5, gpu_fraction=0.5)
    before = sum(line.unit_s for line in use.used(NOON - timedelta(days=1), world.now, PLAIN))
    assert fold_use(world.now) > 0
    rows = sorted(UseHour.objects.values_list("at", "share_s"))
    assert [share for _, share in rows] == [2 * 36_000_000, 2 * 36_000_000, 2 * 9_000_000 + 9_000_000]
    fold_use(world.now)
    assert sorted(UseHour.objects.values_list("at", "share_s")) == rows
    later = world.now + timedelta(hours=3)
    for start in (NOON - timedelta(days=1), NOON):
        assert sum(line.unit_s for line in use.used(start, later, PLAIN)) == before
        assert sum(line.unit_s for line in use.total(start, later, PLAIN)) == before
    half = NOON + timedelta(minutes=30)
    assert sum(line.unit_s for line in use.total(half, later, PLAIN)) == before - 36_000_000 * 100


def test_an_end_that_was_heard_of_late_is_put_right(actors: Actors) -> None:
    """A node that was lost: the copy counted hours that were never held."""
    from pool.scheduling.models import Replica

    world = world_at()
    world.submit(actors.a)
    world.scheduler.sweep()
    world.run()
    for _ in range(3):
        world.now += timedelta(hours=1)
        fold_use(world.now)
    assert sum(UseHour.objects.values_list("share_s", flat=True)) == 3 * 36_000_000
    world.end(Replica.objects.get(), "lost", NOON + timedelta(minutes=30))
    fold_use(world.now)
    assert sum(UseHour.objects.values_list("share_s", flat=True)) == 18_000_000


def test_a_job_that_may_run_longer_than_what_is_left_waits_and_is_told_why(actors: Actors) -> None:
    world = world_at()
    queue = actors.a.queues.get()
    set_budget(actors.operator, queue, {"hours": Decimal(10)})
    heard(world)
    fits, too_long = world.submit(actors.a, max_duration=8 * 3600)[0], world.submit(actors.a, max_duration=3 * 3600)[0]
    world.scheduler.sweep()
    assert states(fits, too_long) == [JobState.STARTING, JobState.QUEUED]
    limit = too_long.decisions.get().reasons["limit"]
    assert limit == {
        "scope": "budget",
        "name": queue.name,
        "kind": "card_s",
        "limit": 10 * 36_000_000,
        "used": 8 * 36_000_000,
        "foreign": False,
    }
    world.run()
    world.now += timedelta(hours=1)
    world.finish(fits)  # seven of its eight hours come back
    world.scheduler.sweep()
    assert states(too_long) == [JobState.STARTING]


def test_within_one_pass_what_was_placed_counts(actors: Actors) -> None:
    world = world_at()
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(5)})
    heard(world)
    jobs = world.submit(actors.a, 4, max_duration=7200)
    world.scheduler.react([job.pk for job in jobs], [])
    world.scheduler.sweep()
    assert states(*jobs).count(JobState.STARTING) == 2


def test_without_a_time_limit_it_starts_while_anything_is_left(actors: Actors) -> None:
    world = world_at()
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(2)})
    heard(world)
    ran(world, actors.a, 1.5)
    (second,) = world.submit(actors.a)
    world.scheduler.sweep()
    assert states(second) == [JobState.STARTING]
    world.run()
    world.now += timedelta(hours=1)
    (third,) = world.submit(actors.a)
    world.scheduler.sweep()
    assert states(second, third) == [JobState.RUNNING, JobState.QUEUED]  # what runs goes on
    world.now = datetime(2026, 4, 1, 0, 0, tzinfo=UTC)  # in Shanghai the month is new since 16:00 UTC of the day before
    world.scheduler.sweep()
    assert states(third) == [JobState.QUEUED]  # the second used 8 hours of April already
    world.finish(second)
    Budget.objects.update(hours=20)
    world.now += timedelta(minutes=1)  # nobody said so: it is read again every ten seconds
    world.scheduler.sweep()
    assert states(third) == [JobState.STARTING]


@pytest.mark.parametrize(("when_spent", "started"), [("all", 0), ("over_quota", 1), ("nothing", 3)])
def test_what_is_held_back_is_a_choice(actors: Actors, when_spent: str, started: int) -> None:
    world = world_at()
    actors.a.queues.update(quota_share_bp=10_000)
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(0), "when_spent": when_spent})
    heard(world)
    jobs = world.submit(actors.a, 3, max_duration=3600)
    world.scheduler.sweep()
    assert states(*jobs).count(JobState.STARTING) == started


def test_a_budget_holds_for_all_below_and_for_projects(actors: Actors) -> None:
    world = world_at()
    top = actors.a.queues.get()
    factories.make_queue(actors.a, "below", parent=top)
    other = factories.make_project(actors.a, "other")
    set_budget(actors.operator, top, {"hours": Decimal(4)})
    set_budget(actors.owner_a, other, {"hours": Decimal(1)})
    heard(world)
    below, over = (
        world.submit(actors.a, queue="below", max_duration=3 * 3600)[0],
        world.submit(actors.a, max_duration=7200)[0],
    )
    project = world.submit(actors.a, project="other", max_duration=3660)[0]
    world.scheduler.sweep()
    assert states(below, over, project) == [JobState.STARTING, JobState.QUEUED, JobState.QUEUED]
    assert over.decisions.get().reasons["limit"]["scope"] == "budget"
    assert project.decisions.get().reasons["limit"]["scope"] in ("budget", "project_budget")
    lift_budget(actors.operator, top)
    heard(world)
    assert states(over, project) == [JobState.STARTING, JobState.QUEUED]
    world.scheduler.waiting.jobs[project.pk].refused_at = -1
    world.scheduler.explain()
    assert project.decisions.latest("id").reasons["limit"]["scope"] == "project_budget"


def test_hours_of_a_heavier_card_count_for_more(actors: Actors) -> None:
    world = world_at()
    set_weight(actors.operator, "H100-80GB", 400)
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(8)})
    heard(world)
    jobs = world.submit(actors.a, 3, max_duration=3600)
    world.scheduler.sweep()
    assert states(*jobs).count(JobState.STARTING) == 2


def test_it_is_warned_of_once_a_period_and_told_when_all_is_used(actors: Actors) -> None:
    world = world_at()
    set_budget(actors.operator, actors.a.queues.get(), {"hours": Decimal(10), "warn_percent": 50})
    heard(world)
    ran(world, actors.a, 4)
    assert warn_of_budgets(world.now) == 0
    ran(world, actors.a, 2)
    assert (warn_of_budgets(world.now), warn_of_budgets(world.now)) == (1, 0)
    ran(world, actors.a, 4)
    assert (warn_of_budgets(world.now), warn_of_budgets(world.now)) == (1, 0)
    actions = AuditEntry.objects.filter(action__in=["budget.warn", "budget.spent"]).order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["budget.warn", "budget.spent"]


def test_no_budget_costs_no_question(actors: Actors, django_assert_num_queries: Any) -> None:
    world = world_at()
    world.scheduler.sweep()
    item = world.submit(actors.a)[0]
    world.scheduler.waiting.load([item.pk])
    with django_assert_num_queries(0):
        world.scheduler.budgets.refresh(world.now)
        assert world.scheduler.budgets.bars(world.scheduler.waiting.jobs[item.pk], world.now) is None


def test_periods_begin_by_the_tenants_own_clock() -> None:
    start, end = period_of("month", "Asia/Shanghai", datetime(2026, 3, 31, 17, 0, tzinfo=UTC))
    assert (start, end) == (datetime(2026, 3, 31, 16, tzinfo=UTC), datetime(2026, 4, 30, 16, tzinfo=UTC))
    start, end = period_of("week", "UTC", NOON)
    assert (start.day, end.day) == (16, 23)
    start, end = period_of("day", "America/New_York", datetime(2026, 3, 8, 12, tzinfo=UTC))
    assert end - start == timedelta(hours=23)  # the clocks go forward


# -- who may


def test_an_owner_may_not_lift_what_an_operator_set(actors: Actors) -> None:
    queue = actors.a.queues.get()
    set_budget(actors.owner_a, queue, {"hours": Decimal(5)})
    set_budget(actors.operator, queue, {"hours": Decimal(3)})
    for act in (
        lambda: set_budget(actors.owner_a, queue, {"hours": Decimal(9)}),
        lambda: lift_budget(actors.owner_a, queue),
    ):
        with pytest.raises(NotAllowed):
            act()
    assert lift_budget(actors.operator, queue)
    assert not lift_budget(actors.operator, queue)
    assert AuditEntry.objects.filter(action__startswith="budget.").count() == 3


@pytest.mark.parametrize("who", ["member_a", "finance", "auditor", "owner_b"])
def test_nobody_else(actors: Actors, who: str) -> None:
    with pytest.raises(NotAllowed):
        set_budget(getattr(actors, who), actors.a.queues.get(), {"hours": Decimal(1)})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "hours"),
        ({"hours": Decimal(-1)}, "hours"),
        ({"hours": Decimal("NaN")}, "hours"),
        ({"hours": Decimal(1), "period": "year"}, "period"),
        ({"hours": Decimal(1), "when_spent": "some"}, "when_spent"),
        ({"hours": Decimal(1), "warn_percent": 0}, "warn_percent"),
    ],
)
def test_wrong_budgets_name_the_field(actors: Actors, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_budget(actors.operator, actors.a.queues.get(), changes)
    assert [error.field for error in caught.value.errors] == [field]
