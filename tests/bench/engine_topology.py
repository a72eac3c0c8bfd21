"""Gangs on a tree of sites, pods, switches and racks, and what each part of a request costs when it is used.

Prints medians (and the slowest) in milliseconds of CPU time and of wall-clock.
  python -m tests.bench.engine_topology [--devices 10240] [--gang 512] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from pool.engine import (
    Affinity,
    DeviceSpec,
    Fleet,
    JobRequest,
    NodeSpec,
    Placed,
    Policy,
    ReplicaRequest,
    Requirement,
    decide,
    repels_of,
)
from tests.engine import make

QUIET = Policy(explain=False)
CARDS, RACK, SWITCH, POD, SITE = 8, 16, 8, 8, 8  # cards a node, nodes a rack, racks a switch ...


def fleet_of(devices: int) -> Fleet:
    """Nodes of eight cards on one NVLink island; one rack in four can be cut."""
    nodes = []
    for key in range(devices // CARDS):
        rack = key // RACK
        cut = {"mig_family": "A100-80GB", "mig_enabled": True} if rack % 4 == 3 else {}
        model = "A100-80GB" if cut else "H100-80GB"
        cards = tuple(
            DeviceSpec(64 * key + n, n, model, 81_920, nvlink_island=0, vendor="nvidia", **cut)  # type: ignore[arg-type]
            for n in range(CARDS)
        )
        switch, pod, site = rack // SWITCH, rack // SWITCH // POD, rack // SWITCH // POD // SITE
        place = (f"s{site}", f"p{pod}", f"w{switch}", f"r{rack}")
        labels = (("zone", f"z{key % 3}"),)
        nodes.append(NodeSpec(key, f"n{key}", *place, 128_000, 1 << 20, cards, labels=labels, fabric="NDR400"))
    return Fleet.build(nodes)


def jobs(gang: int) -> dict[str, JobRequest]:
    """The cases by name: the gang in every isolation, then single requests that use one feature each."""
    zone = ReplicaRequest(1, gpu_selector=(Requirement("zone", "In", ("z1",)),))
    both = ReplicaRequest(2, asks=(ReplicaRequest(1), ReplicaRequest(1, 2_500, memory_mib=(10_240,))))
    away = Affinity((Requirement("app", "Exists"),), "rack", anti=True)
    one = make.job(ReplicaRequest(1))
    return {
        f"gang {gang} x 1 card": make.job(ReplicaRequest(1), gang),
        f"gang {gang // 8} x 8 cards": make.job(ReplicaRequest(8), gang // 8),
        f"gang {gang} x quarter": make.job(ReplicaRequest(1, 2_500), gang),
        f"gang {gang} x 1g.10gb": make.job(ReplicaRequest(1, mig_profile="1g.10gb"), gang),
        f"gang {gang // 2} x (card + share)": make.job(both, gang // 2),
        "gang 16, rack required": replace(make.job(ReplicaRequest(1), 16), required_topology_level="rack"),
        "one card, plain": one,
        "one card, selector": make.job(zone),
        "one card, ranked models": make.job(ReplicaRequest(1, preference=("B200", "H100-80GB"))),
        "one card and a share": make.job(both),
        "one card, away from app": replace(one, labels=(("app", "x"),), affinity=(away,)),
        "32 cards apart by rack": replace(make.job(ReplicaRequest(1), 32), labels=(("app", "y"),), affinity=(away,)),
    }


def timed(call: Callable[[], object], rounds: int) -> tuple[float, float, float, object]:
    """Median CPU, slowest CPU and median wall-clock (ms), and the last result."""
    cpu, wall, result = [], [], None
    for _ in range(rounds):
        began, clock = time.process_time(), time.perf_counter()
        result = call()
        cpu.append((time.process_time() - began) * 1e3)
        wall.append((time.perf_counter() - clock) * 1e3)
    return statistics.median(cpu), max(cpu), statistics.median(wall), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_240)
    parser.add_argument("--gang", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    fleet = fleet_of(chosen.devices)
    print(f"{chosen.devices} devices; first call (no score, no domains yet), then medians of {chosen.rounds}")
    print("case                           first CPU  CPU p50   max  wall p50  (ms)   level   hold")
    for name, job in jobs(chosen.gang).items():
        first, *_ = timed(lambda job=job: decide(fleet, job, QUIET), 1)  # type: ignore[misc]
        cpu, most, wall, decision = timed(lambda job=job: decide(fleet, job, QUIET), chosen.rounds)  # type: ignore[misc]
        assert isinstance(decision, Placed), name
        level = decision.neighbourhood.level if decision.neighbourhood else "-"
        began = time.process_time()
        held = fleet.apply(decision, job.tenant, job.trust_group, job.labels, repels_of(job))
        hold = (time.process_time() - began) * 1e3
        for part in held:
            fleet.release(part)
        print(f"{name:30} {first:8.2f} {cpu:8.2f} {most:8.2f} {wall:8.2f}         {level:8} {hold:6.1f}")
    refused = replace(make.job(ReplicaRequest(8), 10), required_topology_level="node")
    cpu, most, wall, _ = timed(lambda: decide(fleet, refused, Policy()), chosen.rounds)
    print(f"{'80 cards in one node, refused':30} {'':8} {cpu:8.2f} {most:8.2f} {wall:8.2f}         with changes")


if __name__ == "__main__":
    main()
