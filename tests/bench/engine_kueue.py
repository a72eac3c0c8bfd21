"""Kueue's performance loads on our shares, turns, decisions and evictions, on a virtual clock.

The loads are those of Kueue's performance test. baseline: 5 cohorts of 6 queues, each of which brings 350
small, 100 medium and 50 large workloads (15,000 in all); large-scale: 10 cohorts of 100 queues, 35, 11 and
4 (50,000). Nominal quota 20 a queue, up to 100 more borrowed inside its cohort. Cohorts do not borrow from
each other, so one of them says what all do; --cohorts for more. Time passes only between events: decisions take
none, while Kueue's figures include its API server, so compare order and usage, not seconds.
  python -m tests.bench.engine_kueue [--load baseline] [--cohorts 1]
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import time
from dataclasses import dataclass

from pool.engine import Fleet, Placed, Policy, ReplicaRequest, decide
from pool.engine.fleet import holds_of
from pool.engine.preempt import Asking, Plan, Roster, Rules, Running, RunningReplica, plan
from pool.engine.sharing import CARD, Amounts, Books, Entitlements, Order, QueueSpec, Tree, entitlements
from pool.engine.types import JobRequest
from tests.engine import make

QUIET = Policy(explain=False)
NOMINAL, BORROWED = 20, 100
NODE = 40  # cards of a node


@dataclass(frozen=True, slots=True)
class Load:
    """``classes`` by name: count a queue, units, priority, runs for, one every (ms). ``theirs`` by name:
    seconds to admission; ``usage`` in percent and ``wall`` seconds in all."""

    cohorts: int
    queues: int
    classes: dict[str, tuple[int, int, int, int, int]]
    theirs: dict[str, float]
    usage: float
    wall: int


LOADS = {
    "baseline": Load(
        5,
        6,
        {"small": (350, 1, 50, 200, 100), "medium": (100, 5, 100, 500, 500), "large": (50, 20, 200, 1_000, 1_200)},
        {"large": 16.5, "medium": 76.8, "small": 215.0},
        55.9,
        351,
    ),
    "large-scale": Load(
        10,
        100,
        {"small": (35, 1, 50, 150, 60), "medium": (11, 5, 100, 350, 300), "large": (4, 20, 200, 700, 700)},
        {"large": 105.6, "medium": 256.0, "small": 700.0},
        38.6,
        1_179,
    ),
}


@dataclass(slots=True)
class Work:
    key: int
    kind: str
    queue: int
    created: int
    units: int
    priority: int
    lasts: int
    admitted: int = -1
    runs: int = 0  # rises with every start, so that the end of an evicted run is not taken for this one's
    evicted: int = 0


def amounts(units: int) -> Amounts:
    return (units * CARD, units * 1_024, 0, 0)


class Replay:
    """One virtual clock over all cohorts."""

    def __init__(self, load: Load, cohorts: int) -> None:
        room = load.queues * NOMINAL
        nodes = make.nodes(cohorts * room // NODE, NODE, memory=1_024)
        specs = [QueueSpec(10_000 + c, limit=(room * CARD, None, None, None)) for c in range(1, cohorts + 1)]
        for queue in range(1, cohorts * load.queues + 1):
            quota, limit = (NOMINAL * CARD, None, None, None), ((NOMINAL + BORROWED) * CARD, None, None, None)
            specs.append(QueueSpec(queue, 10_001 + (queue - 1) // load.queues, quota=quota, limit=limit))
        self.tree = Tree(specs, (cohorts * room * CARD, cohorts * room * 1_024, 1, 1))
        self.fleet, self.books, self.roster = Fleet.build(nodes), Books(self.tree), Roster()
        self.work: dict[int, Work] = {}
        self.jobs: dict[int, JobRequest] = {}
        kinds = load.classes
        self.kinds = list(reversed(kinds))  # highest priority first
        self.waiting: dict[int, dict[str, list[int]]] = {q: {kind: [] for kind in kinds} for q in self.tree.leaves}
        self.demand: dict[int, Amounts] = dict.fromkeys(self.tree.leaves, amounts(0))
        self.order = Order(self.shares(), self.books)
        self.events: list[tuple[int, int, int]] = []
        self.now, self.used_ms, self.last, self.evictions = 0, 0, 0, 0
        key = 0
        for queue in self.tree.leaves:
            for kind, (count, units, priority, lasts, every) in kinds.items():
                for number in range(count):
                    key += 1
                    self.work[key] = Work(key, kind, queue, (number + 1) * every, units, priority, lasts)
                    heapq.heappush(self.events, ((number + 1) * every, key, 0))

    def shares(self) -> Entitlements:
        return entitlements(self.tree, self.demand)

    def run(self) -> None:
        while self.events:
            now, key, run = heapq.heappop(self.events)
            self.used_ms += self.books.used[0][0] // CARD * (now - self.now)
            self.now, work = now, self.work[key]
            if run == 0:
                self.arrive(work)
            elif run == work.runs and key in self.roster.jobs:
                self.stop(work, done=True)
            self.fill()

    def arrive(self, work: Work) -> None:
        units = work.units
        self.jobs[work.key] = make.job(ReplicaRequest(1), units, key=work.key)
        self.want(work, 1)
        self.put(work)
        self.order.renew(self.shares())
        self.fill()
        if work.admitted < 0:
            self.make_room(work)

    def want(self, work: Work, sign: int) -> None:
        before, more = self.demand[work.queue], amounts(sign * work.units)
        self.demand[work.queue] = (before[0] + more[0], before[1] + more[1], 0, 0)

    def put(self, work: Work) -> None:
        heapq.heappush(self.waiting[work.queue][work.kind], work.key)
        self.order.wait(work.queue)

    def fill(self) -> None:
        """Start what fits, each time the queue whose turn it is, its highest priority first."""
        while any(self.first(queue) for queue in list(self.order.turns())):
            pass

    def first(self, queue: int) -> bool:
        for kind in self.kinds:
            line = self.waiting[queue][kind]
            if not line or self.books.bars(queue, amounts(self.work[line[0]].units)) is not None:
                continue
            decision = decide(self.fleet, self.jobs[line[0]], QUIET)
            if isinstance(decision, Placed):
                self.start(self.work[line[0]], decision)
                return True
        return False

    def start(self, work: Work, placed: Placed) -> None:
        self.waiting[work.queue][work.kind].remove(work.key)
        heapq.heapify(self.waiting[work.queue][work.kind])
        self.fleet.apply(placed, "t1", "g1")
        replicas = tuple(
            RunningReplica("w", replica.rank, amounts(1), tuple(holds_of([replica], "t1", "g1")))
            for replica in placed.replicas
        )
        running = Running(work.key, work.queue, work.priority, self.now, replicas, work.units)
        self.roster.add(running)
        self.books.add(work.queue, amounts(work.units))
        self.order.wait(work.queue, -1)
        work.admitted, work.runs = self.now, work.runs + 1
        heapq.heappush(self.events, (self.now + work.lasts, work.key, work.runs))

    def stop(self, work: Work, done: bool) -> None:
        for replica in self.roster.jobs[work.key].replicas:
            for hold in replica.holds:
                self.fleet.release(hold)
        self.roster.remove(work.key)
        self.books.add(work.queue, amounts(work.units), -1)
        self.order.changed(work.queue)
        if done:
            self.last = self.now
            self.want(work, -1)
            return
        work.evicted += 1
        self.evictions += 1
        self.put(work)

    def make_room(self, work: Work) -> None:
        asking = Asking(self.jobs[work.key], work.queue, work.priority, amounts(work.units))
        found = plan(self.fleet, self.shares(), self.books, self.roster, asking, self.now, Rules(cooldown_s=0), QUIET)
        if isinstance(found, Plan):
            for victim in found.victims:
                assert victim.whole
                self.stop(self.work[victim.job_key], done=False)
            self.start(work, found.placed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", default="baseline", choices=LOADS)
    parser.add_argument("--cohorts", type=int, default=1)
    chosen = parser.parse_args()
    load = LOADS[chosen.load]
    replay = Replay(load, chosen.cohorts)
    began = time.process_time()
    replay.run()
    spent = time.process_time() - began
    assert all(work.admitted >= 0 for work in replay.work.values())
    room = replay.tree.capacity[0] // CARD
    usage = 100 * replay.used_ms / (room * replay.last)
    each = spent / len(replay.work) * 1e3
    print(f"{chosen.load}: {chosen.cohorts} of {load.cohorts} cohorts, {len(replay.work)} workloads, {room} units")
    print(f"virtual {replay.last / 1e3:.1f} s, theirs {load.wall} s, with an API server")
    print(
        f"usage {usage:.1f} % (theirs {load.usage}), evictions {replay.evictions}; {each:.2f} ms of our CPU a workload"
    )
    for kind, theirs in load.theirs.items():
        waits = [(w.admitted - w.created) / 1e3 for w in replay.work.values() if w.kind == kind]
        mean, longest = statistics.mean(waits), max(waits)
        print(f"{kind:7} to its last admission: mean {mean:6.2f} s, longest {longest:6.2f}; theirs {theirs} s")


if __name__ == "__main__":
    main()
