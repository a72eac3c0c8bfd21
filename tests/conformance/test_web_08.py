"""Web 8: two beat processes and an outage of the workers: one leader, no doubled ticks, no backlog."""

from datetime import timedelta

import pytest

from console.beat import LeasedScheduler
from console.celery import PERIODIC, app
from console.common import clock, lease
from console.common.models import PeriodicRun


class Recorder(LeasedScheduler):
    """Sends into a list instead of a broker."""

    sent: list[str]

    def __init__(self, **kwargs):
        self.sent = []
        super().__init__(app=app, **kwargs)

    def apply_async(self, entry, *args, **kwargs):
        PeriodicRun.objects.update_or_create(name=entry.name, defaults={"last_run_at": clock.now()})
        self.sent.append(entry.name)


def drain(beat):
    """Ticks until nothing is due any more: one tick sends one entry."""
    for _ in range(50):
        if beat.tick() > 0.01:
            return


@pytest.mark.django_db(transaction=True)
def test_one_of_two_leads_and_a_new_leader_goes_on():
    now = clock.now()
    for name, *_ in PERIODIC:
        PeriodicRun.objects.create(name=name, last_run_at=now - timedelta(days=3))
    first, second = Recorder(), Recorder()
    drain(first)
    drain(second)
    # three days without beat: each task is sent once, not once a missed period
    assert sorted(first.sent) == sorted(name for name, *_ in PERIODIC)
    assert second.sent == []
    lease.release("beat", first.holder)
    drain(second)
    assert second.sent == []  # what the first one sent is remembered
    drain(first)
    assert sorted(first.sent) == sorted(name for name, *_ in PERIODIC)


def test_every_periodic_task_exists():
    app.loader.import_default_modules()
    assert {task for _, task, *_ in PERIODIC} <= set(app.tasks)


def test_a_message_expires_before_the_next_is_due():
    for entry in app.conf.beat_schedule.values():
        assert 0 < entry["options"]["expires"] < entry["schedule"]
