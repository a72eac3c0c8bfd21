"""KAI's scale cases at 500 nodes of 8 cards on our decisions and evictions, beside KAI's figures.

Theirs (their repository's scale tests, 2026-07-03) include a Kubernetes API server and binding; ours are
of the engine alone, in one process: compare what each case asks for, not the seconds. Evictions that a
plan did not need are counted; 0 is right. Not here: consolidation for 41 jobs (defragmentation measures its
own plans) and the NCCL mix (its load is not published).
  python -m tests.bench.engine_kai [--nodes 500]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, Refused, ReplicaRequest, decide
from pool.engine.preempt import Plan
from pool.engine.sharing import Weights, asked
from tests.bench.engine_preempt import TAKER, Full
from tests.engine import make

QUIET = Policy(explain=False)
ONE, POD = ReplicaRequest(1, cpu_milli=1_000), ReplicaRequest(8, cpu_milli=8_000)
Result = tuple[float, str]  # seconds of CPU, what came out


def nodes_of(count: int) -> list[NodeSpec]:
    """Nodes of eight cards, 16 to a rack, 8 racks to a switch."""
    return [
        NodeSpec(
            key, f"n{key}", "s", "p", f"w{key // 128}", f"r{key // 16}", 64_000, 262_144,
            tuple(make.card(100 * key + n) for n in range(8)),
        )
        for key in range(1, count + 1)
    ]  # fmt: skip


def timed(call: Callable[[], str]) -> Result:
    """Run a case by CPU time."""
    began = time.process_time()
    told = call()
    return time.process_time() - began, told


def fill(count: int, behind: int) -> Result:
    """A job a card, and some more that must wait."""
    fleet = Fleet.build(nodes_of(count))

    def run() -> str:
        started = 0
        for key in range(1, 8 * count + behind + 1):
            decision = decide(fleet, make.job(ONE, key=key), QUIET)
            if isinstance(decision, Placed):
                fleet.apply(decision, "t1", "g1")
                started += 1
        return f"{started} placed, {behind} wait"

    return timed(run)


def wide(level: str) -> Result:
    """One pod on each of 512 nodes."""
    fleet = Fleet.build(nodes_of(512))
    job = make.job(POD, 512, preferred_topology_level=level)

    def run() -> str:
        decision = decide(fleet, job, QUIET)
        assert isinstance(decision, Placed)
        return f"{len({replica.node_key for replica in decision.replicas})} nodes"

    return timed(run)


def verdict(count: int, asks: int = 20) -> Result:
    """Mean time until ten pods of eight cards are known not to fit, with what would admit them."""
    nodes = nodes_of(count)
    fleet = Fleet.build(nodes, [make.whole(node.key, node.devices[0].key) for node in nodes[9:]])

    def run() -> str:
        for key in range(asks):
            assert isinstance(decide(fleet, make.job(POD, 10, key=key + 1)), Refused)
        return "mean of 20, changes that would admit it included"

    spent, told = timed(run)
    return spent / asks, told


def reclaim(count: int, jobs: int, pods: int, request: ReplicaRequest) -> Result:
    """So many jobs of another queue, one after another, each in the place of what it evicts."""
    full = Full(8 * count)
    evicted = surplus = 0
    spent = 0.0
    for number in range(jobs):
        job = make.job(request, pods, key=1_000_000 + number)
        began = time.process_time()
        found = full.plan(job)
        spent += time.process_time() - began
        assert isinstance(found, Plan), found
        surplus += full.needless(job, found) if number == 0 else 0
        evicted += len(found.victims)
        settle(full, job, found)
    return spent, f"{evicted} evicted, {surplus} of the first plan's without need"


def settle(full: Full, job: JobRequest, found: Plan) -> None:
    """Carry a plan out: the victims leave, the job stays."""
    for victim in found.victims:
        gone = full.roster.jobs[victim.job_key]
        full.each(victim.job_key, free=True)
        full.roster.remove(victim.job_key)
        full.books.add(gone.queue, gone.replicas[0].amounts, -1, True)
    full.fleet.apply(found.placed, "t2", "g2")
    full.books.add(TAKER, asked(job, full.fleet.kinds.all, Weights()), 1, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    count = parser.parse_args().nodes
    cases: list[tuple[str, str, Callable[[], Result]]] = [
        ("fill with single-card jobs", "398 s", lambda: fill(count, 0)),
        ("... with 400 pending behind", "398 s", lambda: fill(count, 400)),
        ("one job of 512 pods on 512 nodes", "49.4 s", lambda: wide("")),
        ("... with a preferred topology", "48.7 s", lambda: wide("switch")),
        ("10 pods, 80 cards: unschedulable", "249.5 s", lambda: verdict(count)),
        ("reclaim for one job of half the nodes", "102 s", lambda: reclaim(count, 1, count // 2, POD)),
        ("reclaim one card", "13.9 s", lambda: reclaim(count, 1, 1, ONE)),
        ("reclaim an eighth, card by card", "694 s for all", lambda: reclaim(count, count, 1, ONE)),
        ("reclaim for 25 jobs of 10 pods", "717 s for 50", lambda: reclaim(count, count // 20, 10, POD)),
    ]
    print(f"{count} nodes of 8 cards; CPU of the engine alone; theirs with a Kubernetes API server")
    for name, theirs, case in cases:
        spent, told = case()
        print(f"{name:40} {spent * 1e3:10.1f} ms   theirs {theirs:>14}   {told}", flush=True)


if __name__ == "__main__":
    main()
