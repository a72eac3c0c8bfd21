"""How long a plan takes at 10,240 devices, all of them held by single-card jobs of one queue.

Prints medians of rounds in milliseconds (wall-clock and CPU), victims, and how many of them could
have stayed (checked one by one with the engine): 0 is required.
  python -m tests.bench.engine_preempt [--devices 10240] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

from pool.engine import Fleet, Hold, JobRequest, Placed, Policy, ReplicaRequest, decide
from pool.engine.preempt import Asking, NoPlan, Plan, Roster, Rules, Running, RunningReplica, plan
from pool.engine.sharing import CARD, Amounts, Books, QueueSpec, Tree, Weights, asked, entitlements
from tests.engine import make

QUIET = Policy(explain=False)
OWNER, TAKER, CAPPED = 1, 2, 3
NOW = 100_000


class Full:
    """A fleet of nodes of eight cards, every card held by a job of its own."""

    def __init__(self, devices: int, preemptible: bool = True) -> None:
        count = devices // 8
        nodes = make.nodes(count, 8, memory=81_920)
        plenty = 10**9
        specs = [
            QueueSpec(OWNER),
            QueueSpec(TAKER, quota=(devices * CARD // 2, None, None, None)),
            QueueSpec(CAPPED, weight=0),
        ]
        self.tree = Tree(specs, (devices * CARD, plenty, plenty, plenty))
        self.books, self.roster = Books(self.tree), Roster()
        holds = []
        for node in nodes:
            for at, card in enumerate(node.devices):
                hold = Hold(card.key, node.key, 10_000, card.memory_mib, "exclusive", "", -1, 0, "t1", "g1", 0, 0)
                host = Hold(None, node.key, 0, 0, "", "", -1, 0, "t1", "g1", 4_000, 16_384)
                amounts: Amounts = (CARD, card.memory_mib, 4_000, 16_384)
                replica = RunningReplica("w", 0, amounts, (hold, host))
                saved = NOW - (card.key * 7919) % 3_600
                job = Running(
                    card.key, OWNER, at % 3, card.key, (replica,), preemptible=preemptible, checkpoint_s=saved
                )
                self.roster.add(job)
                self.books.add(OWNER, amounts, 1, preemptible)
                holds += [hold, host]
        self.fleet = Fleet.build(nodes, holds)
        self.devices = devices

    def plan(self, job: JobRequest, queue: int = TAKER, priority: int = 5) -> Plan | NoPlan:
        amounts = asked(job, self.fleet.kinds.all, Weights())
        demand = {OWNER: self.books.used[OWNER], TAKER: self.books.used[TAKER]}
        before = demand.get(queue, (0, 0, 0, 0))
        demand[queue] = tuple(a + b for a, b in zip(before, amounts, strict=True))  # type: ignore[assignment]
        shares = entitlements(self.tree, demand)
        asking = Asking(job, queue, priority, amounts)
        return plan(self.fleet, shares, self.books, self.roster, asking, NOW, Rules(), QUIET)

    def needless(self, job: JobRequest, found: Plan, most: int = 24) -> int:
        """Victims (of the first so many) without which the job would fit as well."""
        needless = 0
        with self.fleet.scratch():
            for victim in found.victims:
                self.each(victim.job_key, free=True)
            for victim in found.victims[:most]:
                self.each(victim.job_key, free=False)
                needless += isinstance(decide(self.fleet, job, QUIET), Placed)
                self.each(victim.job_key, free=True)
        return needless

    def each(self, key: int, free: bool) -> None:
        """Release or take all that a job holds."""
        for replica in self.roster.jobs[key].replicas:
            for hold in replica.holds:
                if free:
                    self.fleet.release(hold)
                else:
                    self.fleet.take(hold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_240)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    full, stuck = Full(chosen.devices), Full(chosen.devices, preemptible=False)
    pod = ReplicaRequest(8, cpu_milli=8_000)
    big = replace(pod, cpu_milli=70_000)
    cases = {
        "reclaim 1 card": (full, make.job(ReplicaRequest(1)), TAKER),
        "reclaim 1 node": (full, make.job(pod), TAKER),
        "reclaim 80 cards (10 x 8)": (full, make.job(pod, 10), TAKER),
        "reclaim 512 x 1 card": (full, make.job(ReplicaRequest(1), 512), TAKER),
        "reclaim 2,000 cards (250 x 8)": (full, make.job(pod, 250), TAKER),
        "reclaim 4,000 cards (500 x 8)": (full, make.job(pod, 500), TAKER),
        "priority, 80 cards in one queue": (full, make.job(pod, 10), OWNER),
        "never: 80 cards, nobody may go": (stuck, make.job(pod, 10), TAKER),
        "never: 80 cards, not entitled": (full, make.job(pod, 10), CAPPED),
        "never: 80 cards, no node has the CPU": (full, make.job(big, 10), TAKER),
    }
    print(f"{chosen.devices} devices; required: verdict 50 ms, plan 200 ms, evictions beyond need 0")
    print(f"{'case':38} wall ms   CPU ms  victims  needless")
    for name, (world, job, queue) in cases.items():
        wall, cpu = [], []
        for number in range(chosen.rounds):
            world.roster.add(world.roster.jobs[100 + number])  # something has changed since
            began, used = time.perf_counter(), time.process_time()
            found = world.plan(replace(job, key=number + 1), queue)
            wall.append((time.perf_counter() - began) * 1e3)
            cpu.append((time.process_time() - used) * 1e3)
        told = found.reason if isinstance(found, NoPlan) else f"{len(found.victims):6}"
        extra = "" if isinstance(found, NoPlan) else f"{world.needless(job, found):8}"
        print(f"{name:38} {statistics.median(wall):8.1f} {statistics.median(cpu):8.1f}  {told}  {extra}")


if __name__ == "__main__":
    main()
