"""T05: 2 GPUs x 20 % x 2 048 MiB hold 40 % and 4 096 MiB in sum: in the engine, and in what queue and tenant use."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.common import clock, lease
from console.common.actor import system
from pool.engine import Fleet, Placed, ReplicaRequest, decide
from pool.inventory.models import Device
from pool.scheduling.models import Allocation, Job
from pool.scheduling.queries import queues_for
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services import submit_job
from tests import factories
from tests.engine import make


def test_t05() -> None:
    fleet = Fleet.build(make.nodes(1, 4))
    before = fleet.counts()
    decision = decide(fleet, make.job(ReplicaRequest(2, share_bp=2_000, memory_mib=(2_048,))))
    assert isinstance(decision, Placed)
    holds = fleet.apply(decision, "t1", "g1")
    assert len({hold.device_key for hold in holds}) == 2
    assert sum(hold.share_bp for hold in holds) == 4_000
    assert sum(hold.memory_mib for hold in holds) == 4_096
    after = fleet.counts()
    assert before.free_share_bp - after.free_share_bp == 4_000
    assert before.free_memory_mib - after.free_memory_mib == 4_096


@pytest.mark.django_db
def test_what_the_tenant_and_its_queue_use_is_the_sum_over_devices_and_replicas() -> None:
    """In the books, where the report had 20 and 2 048: two replicas of two cards at 20 % each are 80 % in use, a limit
    of exactly that lets them run, and one percent less does not."""
    factories.make_node(devices=4)
    tenant = factories.make_tenant("aurora")
    spec = {
        "tenant": tenant.slug,
        "name": "x",
        "command": ["x"],
        "gpus": 2,
        "gpu_fraction": 0.2,
        "gpu_memory_mib": 2_048,
    }
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    tenant.queues.update(limit_share_bp=8_000)
    job = submit_job(system("test"), {**spec, "replicas": 2})
    more = submit_job(system("test"), {**spec, "gpus": 1, "gpu_fraction": 0.01})
    Scheduler(epoch).sweep()
    assert sum(Allocation.objects.values_list("share_bp", flat=True)) == 8_000
    assert sum(Allocation.objects.values_list("memory_mib", flat=True)) == 8_192
    assert queues_for(system("test")).get().held_bp == 8_000
    assert sum(Device.objects.values_list("used_share_bp", flat=True)) == 8_000
    assert sum(Device.objects.values_list("used_memory_mib", flat=True)) == 8_192
    assert [Job.objects.get(pk=each.pk).state for each in (job, more)] == ["starting", "queued"]
    limit = more.decisions.get().reasons["limit"]
    assert (limit["used"], limit["scope"]) == (8_000, "queue")
