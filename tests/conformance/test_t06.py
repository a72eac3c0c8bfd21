"""T06: a deleted or failed pod frees its slices at once; drift between memory and database is repaired."""

from datetime import timedelta

import pytest

from console.common import clock, lease
from console.common.actor import system
from pool.scheduling import services
from pool.scheduling.models import Job, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def scheduler():
    return Scheduler(lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now()))


def submit(tenant):
    return services.submit_job(system("test"), {"tenant": tenant.slug, "name": "x", "command": ["x"], "gpus": 8})


@pytest.mark.parametrize("result", ["failed", "stopped", "lost", "succeeded"])
def test_eight_cards_are_free_again_at_once(scheduler, result):
    factories.make_node(devices=8)
    tenant = factories.make_tenant()
    first, second = submit(tenant), submit(tenant)
    scheduler.sweep()
    assert Job.objects.get(pk=second.pk).state == "queued"
    replica = Replica.objects.get(job=first)
    services.replica_ended(
        replica.public_id, received_at=clock.now(), age_us=0, exit_code=None, detail="", result=result
    )
    scheduler.react([], [replica.node_id])
    assert Job.objects.get(pk=second.pk).state == "starting"


def test_a_missed_message_costs_one_sweep(scheduler):
    factories.make_node(devices=8)
    tenant = factories.make_tenant()
    first, second = submit(tenant), submit(tenant)
    scheduler.sweep()
    replica = Replica.objects.get(job=first)
    services.replica_ended(
        replica.public_id, received_at=clock.now(), age_us=0, exit_code=1, detail="", result="failed"
    )
    scheduler.sweep()  # nobody told it
    assert Job.objects.get(pk=second.pk).state == "starting"


def test_memory_that_drifted_from_the_database_is_repaired(scheduler):
    node = factories.make_node(devices=8)
    scheduler.sweep()
    tenant = factories.make_tenant()
    stray = next(iter(scheduler.mirror.specs.values())).devices[0]
    job = submit(tenant)
    from pool.engine.types import Hold

    scheduler.mirror.fleet.take(
        Hold(stray.key, node.pk, 10_000, stray.memory_mib, "exclusive", "", -1, 0, "ghost", "ghost", 0, 0)
    )
    scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == "queued"
    scheduler.resync()
    scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == "starting"
