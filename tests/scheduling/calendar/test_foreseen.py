"""Before submitting, while cards are kept for others: what is foretold is what the scheduler then does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.common.actor import Actor
from pool.scheduling import admission
from pool.scheduling.dry_run import DryRun, dry_run
from pool.scheduling.models import Window
from pool.scheduling.services import reserve
from tests.conftest import Actors
from tests.scheduling.calendar.test_reservations import wanted
from tests.scheduling.sharing.world import World, states

pytestmark = pytest.mark.django_db
SOON = timedelta(minutes=30)  # within the lead time: its cards are kept at once


def asked(actor: Actor, **spec: Any) -> DryRun:
    return dry_run(actor, {"name": "w", "command": ["x"], "gpus": 1, **spec})


def kept_world(actors: Actors) -> World:
    """All four cards are reserved for `a`."""
    world = World(cards=4)
    reserve(actors.operator, actors.a, wanted(world.now, after=SOON))
    world.scheduler.sweep()
    assert Window.objects.get().cards == 4
    return world


@pytest.mark.parametrize(
    ("spec", "starts"),
    [
        ({"preemptible": False}, False),
        ({"preemptible": False, "max_duration": 3600}, False),
        ({"preemptible": False, "max_duration": 1500}, True),  # it ends before
        ({"preemptible": True}, True),  # lent
        ({"preemptible": True, "preempt_min_runtime": 3600}, False),  # could not be sent away in time
        ({"preemptible": True, "checkpoint": {"signal": "USR1", "grace_s": 300}}, False),  # takes too long to leave
    ],
)
def test_a_guest_is_told_whether_it_may_enter(actors: Actors, spec: dict[str, Any], starts: bool) -> None:
    world = kept_world(actors)
    guest = actors.member_b
    told = asked(guest, **spec)
    assert told.fits is starts
    assert any("kept for reservations" in note for note in told.notes) is not starts
    (job,) = world.submit(actors.b, **spec)
    world.scheduler.sweep()
    assert states(job) == ["starting" if starts else "queued"]


def test_its_own_work_is_foretold_on_the_reserved_cards(actors: Actors) -> None:
    world = kept_world(actors)
    Window.objects.update(starts_at=world.now - timedelta(minutes=1))
    assert asked(actors.member_a, gpus=4, preemptible=False).fits
    assert not asked(actors.member_b, gpus=4, preemptible=False).fits


def test_where_nothing_is_free_anyway_the_windows_are_not_blamed(actors: Actors) -> None:
    world = World(cards=4)
    world.submit(actors.a, gpus=4, preemptible=False)
    world.scheduler.sweep()
    reserve(actors.operator, actors.a, wanted(world.now, after=SOON))
    world.scheduler.sweep()
    told = asked(actors.member_b, preemptible=False)
    assert (told.fits, told.notes) == (False, ())


def test_the_mirror_is_left_as_it_was(actors: Actors) -> None:
    kept_world(actors)
    asked(actors.member_b, preemptible=False)
    assert not admission.shared.mirror.pledged
    Window.objects.update(state=Window.State.ENDED)
    assert asked(actors.member_b, preemptible=False).fits
