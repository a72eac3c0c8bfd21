"""A simulated fleet over the real wire."""

import json
import subprocess
import sys
import time

import pytest

from pool.inventory.models import Node
from tests.nodes.fleets import FleetProcess
from tests.nodes.running import ROOT, new_token, wait_for
from tests.nodes.work import reaches, replica_of


def test_jobs_last_and_end_as_their_environment_says(gateway, bench, fleets):
    fleets(gateway.address)
    began = time.monotonic()
    good = bench.run(["w"], environment={"WEIR_SIM_SECONDS": "1.5"})
    bad = bench.run(["w"], environment={"WEIR_SIM_SECONDS": "0.2", "WEIR_SIM_EXIT": "3"})
    reaches(good, "succeeded")
    reaches(bad, "failed")
    ran = (replica_of(good).ended_at - replica_of(good).started_at).total_seconds()
    assert 1.4 < ran < time.monotonic() - began
    assert replica_of(bad).exit_code == 3


def test_one_refused_node_does_not_end_the_rest_and_credentials_outlive_the_process(watchful, fleets, tmp_path):
    path = tmp_path / "nodes.json"
    device = {"model": "T4"}
    rows = [{"name": name, "devices": [device]} for name in ("one", "bad name", "two")]
    path.write_text(json.dumps(rows))
    control, state = tmp_path / "c", tmp_path / "s.json"
    words = ["--server", watchful.address, "--nodes", str(path), "--state", str(state), "--control", str(control)]
    for token in ([new_token(uses=2)], []):  # the second time without one
        given = ["--token", token[0]] if token else []
        with open(tmp_path / "log", "ab") as log:
            fleet = subprocess.Popen(
                [sys.executable, "-m", "pool.agent.fleet", *words, *given], cwd=ROOT, stdout=log, stderr=log
            )
        try:
            ready = Node.objects.filter(reachable=True)
            wait_for(lambda ready=ready: ready.count() == 2, "two are in")
            wait_for(lambda: len(json.loads(state.read_text() if state.exists() else "{}")) == 2, "both are kept")
            assert fleet.poll() is None
        finally:
            fleet.kill()
            fleet.wait(60)
        wait_for(lambda: not Node.objects.filter(reachable=True).exists(), "they are gone")


def test_a_fleet_that_is_refused_altogether_says_why_and_ends(gateway):
    words = ["--server", gateway.address, "--generate", "nodes=2", "--token", "weirj_wrong"]
    done = subprocess.run(
        [sys.executable, "-m", "pool.agent.fleet", *words], cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert b"unknown or revoked" in done.stderr


def test_orders_that_make_no_sense_are_refused(gateway, fleets):
    fleet: FleetProcess = fleets(gateway.address)
    for do, node, more in (("dance", "sim-0000", {}), ("fault", "nobody", {}), ("fault", "sim-0000", {"device": 99})):
        with pytest.raises(AssertionError, match="refused"):
            fleet.order(do, node, **more)
