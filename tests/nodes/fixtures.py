"""Fixtures of a running node control."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pool.inventory.models import Node
from pool.scheduling.models import Replica
from tests.nodes.fleets import FleetProcess
from tests.nodes.running import AgentProcess, GatewayThread, kill_all_of, new_token, running, wait_for
from tests.nodes.work import Bench


@pytest.fixture
def gateway(transactional_db: None, live: Any) -> Iterator[GatewayThread]:
    with running() as thread:
        yield thread


@pytest.fixture
def calm(transactional_db: None, live: Any) -> Iterator[GatewayThread]:
    """Long periods: a node that reports once stays fresh for the length of a test."""
    with running(report_s=60.0, lease_s=300.0, skew_s=5.0) as thread:
        yield thread


@pytest.fixture
def hasty(transactional_db: None, live: Any) -> Iterator[GatewayThread]:
    """Leases are over after 5 s; 2 s more until the server gives up what they held."""
    with running(lease_s=5.0, skew_s=2.0) as thread:
        yield thread


@pytest.fixture
def watchful(transactional_db: None, live: Any) -> Iterator[GatewayThread]:
    """Nodes are stale after 3 missed reports."""
    with running(report_s=0.3, stale_reports=3) as thread:
        yield thread


@pytest.fixture
def bench(transactional_db: None) -> Bench:
    return Bench()


@pytest.fixture
def agents(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., AgentProcess]]:
    """Starts agents; at the end they and all that they ran are gone."""
    started: list[AgentProcess] = []

    def start(server: str, node: str = "gpu-1", *options: str, wait: bool = True) -> AgentProcess:
        agent = AgentProcess(server, new_token(), tmp_path / node, node, options).start()
        started.append(agent)
        if wait:
            ready = Node.objects.filter(name=node, reachable=True)
            wait_for(ready.exists, f"{node} reachable; its log: {agent.log()}")
        return agent

    yield start
    for agent in started:
        if agent.process and agent.process.poll() is None:
            agent.kill()
    kill_all_of(list(Replica.objects.values_list("public_id", flat=True)))


@pytest.fixture
def fleets(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., FleetProcess]]:
    """Starts simulated fleets; at the end they are gone."""
    started: list[FleetProcess] = []

    def start(server: str, spec: str = "nodes=2,devices=8,prefix=sim", nodes: int = 2) -> FleetProcess:
        fleet = FleetProcess(server, tmp_path, spec)
        started.append(fleet)
        ready = Node.objects.filter(reachable=True)
        wait_for(lambda: ready.count() >= nodes, f"{nodes} nodes reachable")
        return fleet

    yield start
    for fleet in started:
        fleet.end()
