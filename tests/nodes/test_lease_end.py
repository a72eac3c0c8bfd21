"""Work that ended because its node had no answer of the server for too long is lost, not failed: it is placed again.

The agent may tell it before the server has noticed: the outcome is the same either way.
"""

import signal
from datetime import timedelta

from pool.inventory.models import Node
from pool.scheduling.models import Attempt, Job
from tests.nodes.running import new_token, wait_for
from tests.nodes.wire import RUNNING, Wire
from tests.nodes.work import interval_of, reaches, replica_of


def test_told_by_the_agent_the_job_waits_for_another_place_and_keeps_its_retries(calm, bench):
    wire = Wire(calm.address)
    wire.hello(devices=1, token=new_token())
    wire.report(devices=1)
    wait_for(Node.objects.filter(reachable=True).exists, "reachable")
    job = bench.run(["work"], gpus=1, gpu_fraction=1.0)
    start = wire.until("start")
    wire.send({"type": "ack", "command": start["command"], "ok": True, "detail": ""})
    wire.send({"type": "started", "replica": start["replica"], "age_us": 0})
    reaches(job, "running")
    wire.report({start["replica"]: RUNNING}, devices=1, seq=2)
    wire.exited(start["replica"], code=-15, age_us=1_000, cause="lease")
    reaches(job, "queued")
    replica, interval = replica_of(job), interval_of(job)
    assert replica.state == "lost"
    assert Attempt.objects.get(job=job).outcome == "lost"
    assert Job.objects.get(pk=job.pk).max_retries == 0
    # billed to when the process really ended, which the agent knows
    assert interval.ended_at == replica.ended_at
    assert interval.closed_at - interval.ended_at >= timedelta(milliseconds=1)


def test_the_shim_of_a_frozen_agent_ends_the_work_and_it_is_placed_again(hasty, bench, agents):
    agent = agents(hasty.address)
    job = bench.shell("sleep 1000")
    reaches(job, "running")
    first = replica_of(job).public_id
    assert agent.process
    agent.process.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: (agent.state / "replicas" / first / "exit.json").exists(), "the shim ends the work")
    finally:
        agent.process.send_signal(signal.SIGCONT)
    reaches(job, "queued")
    wait_for(Node.objects.filter(reachable=True).exists, "it is back")
    bench.scheduler.sweep()
    reaches(job, "running")
    assert replica_of(job).public_id != first
