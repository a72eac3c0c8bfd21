"""The openb trace as nodes, requests and the published replay protocol."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from pool.engine import DeviceSpec, NodeSpec, ReplicaRequest, TypicalMix
from tests.shared_data import rows

CARD_MIB = {"P100": 16_384, "T4": 15_360, "V100M16": 16_384, "V100M32": 32_768, "A10": 23_028}


def nodes() -> list[NodeSpec]:
    """The GPU nodes in the order of the list, keys from 1."""
    found: list[NodeSpec] = []
    card = 0
    for key, row in enumerate(rows("openb/openb_node_list_gpu_node.csv"), 1):
        memory = CARD_MIB.get(row["model"], 40_960)
        devices = tuple(DeviceSpec(card + i, i, row["model"], memory) for i in range(int(row["gpu"])))
        card += len(devices)
        cpu, host = int(row["cpu_milli"]), int(row["memory_mib"])
        found.append(NodeSpec(key, row["sn"], "openb", "", "", "", cpu, host, devices))
    return found


def requests(workload: str = "default") -> list[ReplicaRequest]:
    """The tasks of a list, in its order."""
    return [_request(row) for row in rows(f"openb/openb_pod_list_{workload}.csv")]


def _request(row: dict[str, str]) -> ReplicaRequest:
    count, milli = int(row["num_gpu"]), int(row["gpu_milli"])
    models = frozenset(m for m in (row.get("gpu_spec") or "").split("|") if m)
    return ReplicaRequest(
        devices=count,
        share_bp=milli * 10 if count else 10_000,
        models=models if count else frozenset(),
        cpu_milli=int(row["cpu_milli"]),
        host_memory_mib=int(row["memory_mib"]),
    )


def typical(tasks: list[ReplicaRequest]) -> TypicalMix:
    """The mix of a list: every task once."""
    return TypicalMix.observe(Counter(tasks).items())


def arrivals(tasks: list[ReplicaRequest], capacity_bp: int, seed: int, load: float = 1.3) -> Iterator[ReplicaRequest]:
    """All tasks shuffled, then uniform draws, until ``load`` x capacity has arrived."""
    rng = random.Random(seed)
    first = list(tasks)
    rng.shuffle(first)
    arrived = 0
    while arrived < load * capacity_bp:
        task = first.pop() if first else tasks[rng.randrange(len(tasks))]
        arrived += task.devices * task.share_bp
        yield task
