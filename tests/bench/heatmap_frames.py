"""Size of heatmap frames and the time to build them, with telemetry flowing and allocations coming and going.

python -m tests.bench.heatmap_frames [--devices 10240]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from tests.bench.heatmap_stack import Telemetry, ground, line, make_fleet

ROUNDS = 5
SECONDS = 20
LIMIT_KB = {"tenant": 24}


def measure(devices: int) -> None:
    from pool.nodes.heatmap import codec, layout, store
    from pool.nodes.heatmap.builder import Builder

    nodes = make_fleet(devices)
    valkey: Any = store.client()
    telemetry = Telemetry(valkey, nodes)
    telemetry.all()
    for layer in codec.VALUE_LAYERS:
        valkey.set(store.want_key(layer), 1)
    began = time.process_time()
    read = layout.read()
    took = 1e3 * (time.process_time() - began)
    line(f"layout, {devices:,} devices: read and encode, CPU", f"{took:.0f} ms", "once a change")
    line("layout document", f"{len(read.document) / 1024:.0f} KB", "once a version")
    builder, now = Builder(valkey), time.time()
    largest: dict[str, int] = {}
    sent: dict[str, list[int]] = {}
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = [], []
        for _ in range(SECONDS):
            telemetry.second()
            now += 1
            start, start_cpu = time.perf_counter(), time.process_time()
            frames = builder.tick(time.time())
            wall.append(1e3 * (time.perf_counter() - start))
            cpu.append(1e3 * (time.process_time() - start_cpu))
            for name, data in frames:
                layer = name.split(".")[1]
                sent.setdefault(layer, []).append(len(data))
            for layer in codec.LAYERS:
                largest[layer] = max(largest.get(layer, 0), len(valkey.get(store.frame_key(layer)) or b""))
        walls.append(statistics.median(wall))
        cpus.append(statistics.median(cpu))
    for layer in codec.LAYERS:
        limit = LIMIT_KB.get(layer, 12)
        line(f"full frame, {layer}", f"{largest[layer] / 1024:.1f} KB", f"limit {limit} KB")
        line(
            f"frame sent, {layer}, median",
            f"{statistics.median(sent[layer]) / 1024:.1f} KB",
            "a fifth reports a second",
        )
    line("all seven layers built, wall, median of five", f"{statistics.median(walls):.1f} ms", "a second")
    line("all seven layers built, CPU, median of five", f"{statistics.median(cpus):.1f} ms", "of 1,000 ms of a core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_240)
    devices = parser.parse_args().devices
    with ground():
        measure(devices)


if __name__ == "__main__":
    main()
