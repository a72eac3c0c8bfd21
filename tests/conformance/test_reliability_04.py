"""Reliability 4: the agent is killed and comes back: running work is adopted, finished work keeps its own end."""

import signal

from pool.nodes.models import LogChunk
from tests.nodes.running import GatewayThread, processes_of, wait_for
from tests.nodes.work import interval_of, reaches, replica_of, state_of


def lines_of(job):
    chunks = LogChunk.objects.filter(replica__job=job, stream="stdout").order_by("offset")
    return b"".join(bytes(chunk.data) for chunk in chunks).decode().split()


def test_running_work_is_adopted_and_finished_work_is_not_a_failure(gateway, bench, agents, tmp_path):
    agent = agents(gateway.address)
    go, stop = tmp_path / "go", tmp_path / "stop"
    long = bench.shell(f"n=0; while [ ! -e {stop} ]; do echo $((n++)); sleep 0.05; done")
    short = bench.shell(f"while [ ! -e {go} ]; do sleep 0.02; done; echo done; exit 0")
    bad = bench.shell(f"while [ ! -e {go} ]; do sleep 0.02; done; exit 5")
    for job in (long, short, bad):
        reaches(job, "running")
    before = processes_of(replica_of(long).public_id)
    agent.kill(signal.SIGKILL)
    go.touch()
    for job in (short, bad):
        wait_for(lambda job=job: not processes_of(replica_of(job).public_id), "it ends while nobody watches")
    assert state_of(short) == "running"  # nobody can know yet
    agent.start()
    reaches(short, "succeeded")
    reaches(bad, "failed")
    assert replica_of(bad).exit_code == 5
    assert set(before) & set(processes_of(replica_of(long).public_id))
    assert state_of(long) == "running"
    restarted = interval_of(short).closed_at
    assert interval_of(short).ended_at < restarted
    stop.touch()
    reaches(long, "succeeded")
    wait_for(lambda: lines_of(short) == ["done"], "output that was written in between")
    count = len(lines_of(long))
    wait_for(lambda: lines_of(long) == [str(n) for n in range(max(count, len(lines_of(long))))], "no line twice")


def test_the_gateway_is_killed_and_comes_back(gateway, bench, agents, tmp_path):
    agents(gateway.address)
    stop = tmp_path / "stop"
    job = bench.shell(f"while [ ! -e {stop} ]; do sleep 0.02; done; exit 0")
    reaches(job, "running")
    pids = processes_of(replica_of(job).public_id)
    port = gateway.gateway.port
    gateway.stop()
    stop.touch()
    wait_for(lambda: not set(pids) & set(processes_of(replica_of(job).public_id)), "it ends in between")
    again = GatewayThread(port=port)
    try:
        reaches(job, "succeeded")
        assert interval_of(job).ended_at < interval_of(job).closed_at
    finally:
        again.stop()


def test_a_killed_shim_is_a_lost_replica_and_leaves_nothing(gateway, bench, agents):
    import json
    import os

    agent = agents(gateway.address)
    job = bench.shell("setsid sleep 1000 & sleep 1000")
    reaches(job, "running")
    replica = replica_of(job).public_id
    facts = json.loads((agent.state / "replicas" / replica / "started.json").read_text())
    os.kill(facts["shim"], signal.SIGKILL)
    wait_for(lambda: replica_of(job).state == "lost", "it is known to be lost")
    assert processes_of(replica) == []
