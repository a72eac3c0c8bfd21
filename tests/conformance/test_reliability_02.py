"""Reliability 2: 8 devices are held by work that is gone and whose end was never told; within a period all are free."""

import json
import os
import shutil
import signal

from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation
from tests.nodes.running import new_token, processes_of, wait_for
from tests.nodes.wire import RUNNING, Wire
from tests.nodes.work import interval_of, reaches, replica_of, state_of


def used():
    return sum(Device.objects.values_list("used_share_bp", flat=True))


def vanish(agent, replica):
    """The process, its shim and every trace on disk go, as if a person had cleaned up behind the agent's back."""
    folder = agent.state / "replicas" / replica
    os.kill(json.loads((folder / "started.json").read_text())["shim"], signal.SIGKILL)
    wait_for(lambda: not processes_of(replica), "the processes are gone")
    shutil.rmtree(folder)


def test_told_nothing_the_next_hello_frees_all_eight(gateway, bench, agents):
    agent = agents(gateway.address)
    job = bench.shell("sleep 1000", gpus=8, gpu_fraction=1.0)
    reaches(job, "running")
    assert used() == 80_000
    agent.kill()
    vanish(agent, replica_of(job).public_id)
    agent.start()
    wait_for(lambda: state_of(job) != "running", "the loss is known")
    assert replica_of(job).state == "lost"
    assert interval_of(job).ended_at is not None
    assert used() == 0
    assert not Allocation.objects.filter(released_at__isnull=True).exists()


def test_a_live_node_that_stops_listing_a_replica_is_believed_after_two_reports(calm, bench):
    wire = Wire(calm.address)
    wire.hello(devices=8, token=new_token())
    wire.report(devices=8)
    wait_for(Node.objects.filter(reachable=True).exists, "reachable")
    job = bench.run(["work"], gpus=8, gpu_fraction=1.0)
    start = wire.until("start")
    wire.send({"type": "ack", "command": start["command"], "ok": True, "detail": ""})
    wire.send({"type": "started", "replica": start["replica"], "age_us": 0})
    reaches(job, "running")
    wire.report({start["replica"]: RUNNING}, devices=8, seq=2)
    connection = next(iter(calm.gateway.connections.values()))
    wait_for(lambda: start["replica"] in connection.seen, "it was listed")
    wire.report({}, devices=8, seq=3)
    wait_for(lambda: connection.missing, "the first strike")
    assert state_of(job) == "running"
    wire.report({}, devices=8, seq=4)
    wait_for(lambda: replica_of(job).state == "lost", "the second strike")
    assert used() == 0
    assert abs((interval_of(job).ended_at - connection.seen[start["replica"]]).total_seconds()) < 0.001
