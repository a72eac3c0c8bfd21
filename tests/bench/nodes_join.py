"""Letting in 1,280 new nodes of 8 devices, and the same again: how long the lock is held, and how long it takes in all.

python -m tests.bench.nodes_join [--nodes 1280]

The gateway's own function on an empty SQLite (or DATABASE_URL), in batches as the gateway makes them; without the
network and the agents. A transaction counts from its begin, when it has the lock, to the end of its commit.
Reference: p99 of a transaction at most 20 ms.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from tests.bench.heatmap_stack import ground, line

REFERENCE_MS = 20
Knocks = list[Any]


def knock(number: int, token: str, credential: str) -> Any:
    from pool.nodes.services import Knock

    name = f"node-{number:04d}"
    devices = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": "H100-80GB", "memory_mib": 81_559, "nvlink_island": 0}
        for index in range(8)
    ]
    place = {"rack": f"r{number // 8}", "switch": f"s{number // 32}", "pod": f"p{number // 256}"}
    node = {"name": name, "cpu_milli": 128_000, "memory_mib": 2**20, "labels": {}, "devices": devices, **place}
    said = {"token": "" if credential else token, "credential": credential, "site": ""}
    return Knock({"node": node, "agent": "1.0", "driver": "simulated", **said}, "10.0.0.1")


def watch(held: list[float]) -> None:
    """Notes how long each transaction of this process had the lock, in milliseconds."""
    from django.db import connection, connections

    connection.ensure_connection()
    wrapper: Any = connections["default"]
    name = "_start_transaction_under_autocommit" if connection.vendor == "sqlite" else "_set_autocommit"
    begin, commit = getattr(wrapper, name), wrapper._commit
    at = [0.0]

    def noted_begin(*words: Any) -> None:
        begin(*words)
        at[0] = time.perf_counter()

    def noted_commit() -> None:
        commit()
        held.append((time.perf_counter() - at[0]) * 1000)

    setattr(wrapper, name, noted_begin)
    wrapper._commit = noted_commit


def let_in(nodes: int, token: str, credentials: dict[str, str], held: list[float]) -> tuple[float, dict[str, str]]:
    """Seconds it took, and the credentials that were given."""
    from console.common import clock
    from pool.nodes.gateway.doors import BATCH
    from pool.nodes.services import open_sessions

    held.clear()
    given: dict[str, str] = {}
    began = time.perf_counter()
    for first in range(0, nodes, BATCH):
        numbers = range(first, min(first + BATCH, nodes))
        knocks: Knocks = [knock(number, token, credentials.get(f"node-{number:04d}", "")) for number in numbers]
        sessions = open_sessions(knocks, clock.now(), 20.0)
        given |= {session.name: session.credential for session in sessions if session.credential}
    return time.perf_counter() - began, given


def tell(what: str, seconds: float, held: list[float]) -> None:
    p99 = statistics.quantiles(held, n=100)[98]
    line(f"{what}: in all", f"{seconds:.1f} s", "")
    line(f"{what}: {len(held)} transactions, median", f"{statistics.median(held):.1f} ms", "")
    line(f"{what}: p99, longest", f"{p99:.1f}, {max(held):.1f} ms", f"{REFERENCE_MS} ms")


def measure(nodes: int) -> None:
    from console.common.actor import system
    from pool.inventory.models import Site
    from pool.nodes.services import create_join_token

    _, token = create_join_token(system("bench"), Site.objects.create(name="bench"), uses=nodes)
    held: list[float] = []
    watch(held)
    seconds, credentials = let_in(nodes, token, {}, held)
    tell(f"{nodes:,} new nodes", seconds, held)
    seconds, _ = let_in(nodes, token, credentials, held)
    tell(f"{nodes:,} nodes again", seconds, held)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1280)
    wanted = parser.parse_args()
    with ground():
        measure(wanted.nodes)
