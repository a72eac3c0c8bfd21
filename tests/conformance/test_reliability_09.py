"""Reliability 9: a node goes dark while the last inventory says healthy: after 3 missed reports it takes no work."""

from pool.inventory.models import Device, Node
from pool.scheduling.services import submit_job
from tests.nodes.running import wait_for
from tests.nodes.work import reaches, state_of


def swept(bench, job):
    """The job's state after a sweep. A machine that is slow for a second may make the node stale once more."""
    bench.scheduler.sweep()
    return state_of(job)


def test_a_silent_node_takes_no_work_whatever_was_last_said(watchful, bench, fleets):
    fleet = fleets(watchful.address, "nodes=1,devices=8,prefix=sim", 1)
    assert not Device.objects.exclude(state="ready").exists()
    fleet.order("silent", "sim-0000")
    wait_for(lambda: not Node.objects.get().reachable, "three reports are missed")
    assert not Device.objects.exclude(state="ready").exists()  # the last health bit still says healthy
    job = submit_job(bench.actor, {"name": "w", "command": ["w"], "gpus": 1})
    bench.scheduler.sweep()
    assert state_of(job) == "queued"
    fleet.order("silent", "sim-0000", on=False)
    wait_for(lambda: swept(bench, job) != "queued", "it reports again and is given the job")
    reaches(job, "running")


def test_power_cut(watchful, bench, agents):
    agent = agents(watchful.address)
    agent.kill()
    wait_for(lambda: not Node.objects.get().reachable, "three reports are missed")
    job = submit_job(bench.actor, {"name": "w", "command": ["true"], "gpus": 1})
    bench.scheduler.sweep()
    assert state_of(job) == "queued"
