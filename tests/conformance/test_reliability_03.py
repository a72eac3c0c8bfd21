"""Reliability 3: a failed replica ends unheard while one with the same count waits; its devices come back once."""

import os
import signal

from pool.inventory.models import Device
from pool.scheduling.models import Allocation, Replica
from pool.scheduling.services import submit_job
from tests.nodes.running import GatewayThread, processes_of, wait_for
from tests.nodes.work import interval_of, reaches, replica_of, state_of


def test_devices_of_a_failed_replica_go_to_the_one_that_waits(gateway, bench, agents):
    agents(gateway.address, "gpu-1", "--devices", "2")
    first = bench.shell("sleep 1000", gpus=2, gpu_fraction=1.0)
    reaches(first, "running")
    port = gateway.gateway.port
    gateway.stop()
    replica = replica_of(first).public_id
    for pid in processes_of(replica):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not processes_of(replica), "the process is dead")
    waiting = submit_job(bench.actor, {"name": "next", "command": ["sleep", "1000"], "gpus": 2, "gpu_fraction": 1.0})
    bench.scheduler.sweep()
    assert state_of(waiting) == "queued"
    again = GatewayThread(port=port)
    try:
        reaches(first, "failed")
        bench.scheduler.sweep()
        reaches(waiting, "running")
        live = Allocation.objects.filter(released_at__isnull=True, device__isnull=False)
        assert set(live.values_list("job_id", flat=True)) == {waiting.pk}
        assert list(Device.objects.values_list("used_share_bp", flat=True)) == [10_000, 10_000]
        assert interval_of(first).ended_at <= interval_of(waiting).started_at
        assert Replica.objects.filter(job=first).count() == 1
    finally:
        again.stop()
