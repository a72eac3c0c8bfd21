"""A replica's whole life through the real gateway and a real agent, as a real process."""

from pool.nodes.models import LogChunk
from pool.scheduling.models import Replica
from pool.scheduling.services import cancel_job
from tests.nodes.running import processes_of, wait_for
from tests.nodes.work import command_of, interval_of, reaches, replica_of


def output_of(job, stream="stdout"):
    chunks = LogChunk.objects.filter(replica__job=job, stream=stream).order_by("offset")
    return b"".join(bytes(chunk.data) for chunk in chunks)


def test_runs_inside_its_slice_and_its_output_arrives(gateway, bench, agents):
    agents(gateway.address)
    job = bench.shell("env | sort; echo problem >&2; exit 0", environment={"COLOUR": "blue", "RANK": "9"})
    reaches(job, "succeeded")
    wait_for(lambda: output_of(job, "stderr") == b"problem\n", "stderr")
    env = dict(line.split("=", 1) for line in output_of(job).decode().splitlines())
    device = command_of(job, "start").payload["devices"][0]
    assert env["CUDA_VISIBLE_DEVICES"] == device["uuid"]
    assert env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "25"
    assert env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == f"0={device['memory_mib']}M"
    assert (env["WEIR_JOB"], env["COLOUR"], env["RANK"]) == (job.public_id, "blue", "0")
    assert "WEIR_JOIN_TOKEN" not in env
    assert replica_of(job).exit_code == 0
    assert command_of(job, "start").state == "done"


def test_exit_code_and_signal_are_told(gateway, bench, agents):
    agents(gateway.address)
    failed, killed = bench.shell("exit 7"), bench.shell("kill -9 $$")
    reaches(failed, "failed")
    reaches(killed, "failed")
    assert (replica_of(failed).exit_code, replica_of(failed).exit_detail) == (7, "exit code 7")
    assert (replica_of(killed).exit_code, replica_of(killed).exit_detail) == (-9, "killed by SIGKILL")


def test_command_that_does_not_exist_is_named(gateway, bench, agents):
    agents(gateway.address)
    job = bench.run(["no-such-program"])
    reaches(job, "failed")
    assert "command not found: no-such-program" in replica_of(job).exit_detail


def test_stop_ends_the_whole_tree_even_what_ignores_it(gateway, bench, agents):
    agents(gateway.address)
    stubborn = "trap '' TERM; (setsid bash -c \"trap '' TERM; sleep 300 & wait\" &) ; while :; do sleep 1; done"
    job = bench.shell(stubborn)
    reaches(job, "running")
    replica = replica_of(job).public_id
    wait_for(lambda: len(processes_of(replica)) >= 3, "the tree is up")
    command = command_of(job, "start")
    cancel_job(bench.actor, job)
    stop = command_of(job, "stop")
    assert (stop.payload["replica"], command.replica_id) == (replica, stop.replica_id)
    reaches(job, "cancelled")
    assert processes_of(replica) == []
    assert interval_of(job).ended_at is not None


def test_gang_starts_with_ranks_and_peers(gateway, bench, agents):
    agents(gateway.address, "gpu-1", "--devices", "1")
    agents(gateway.address, "gpu-2", "--devices", "1")
    job = bench.shell(
        "echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $WEIR_PEERS", gpu_fraction=1.0, replicas=2, min_member=2
    )
    reaches(job, "succeeded")
    assert Replica.objects.filter(job=job).values("node").distinct().count() == 2
    wait_for(lambda: output_of(job).count(b"\n") == 2, "both lines")
    words = sorted(line.split() for line in output_of(job).decode().splitlines())
    assert [line[0] for line in words] == ["0/2", "1/2"]
    assert words[0][1:] == words[1][1:]
    assert words[0][2].count(",") == 1
