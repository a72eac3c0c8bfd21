"""The FGD protocol on openb: the real engine beside our own Random, BestFit and FGD.

All tasks shuffled, then drawn with replacement until 130 % of the GPU share has arrived; nothing
leaves; what does not fit is dropped. Prints the allocated share when 100, 110 and 130 % had
arrived (mean and sd over seeds) beside the published means, and microseconds a decision (of the
engine: of decide alone, refusals with their counts by filter included).

  python -m tests.bench.engine_openb [--seeds 42-51] [--workload default] [--policies engine,fgd]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

from pool.engine import Fleet, NodeSpec, Placed, Policy, ReplicaRequest, decide
from tests.bench.engine_policies import Choose, Cluster, choose_best_fit, choose_fgd, choose_random
from tests.engine import make, openb
from tests.shared_data import describe, rows

MARKS = (100, 110, 130)
PUBLISHED = {"random": "01-Random", "best_fit": "05-BestFit", "fgd": "06-FGD", "engine": "06-FGD"}  # FGD: the best
Step = Callable[[ReplicaRequest], bool]
Result = tuple[dict[int, float], float]


class EngineStep:
    """One arrival through decide and apply, as the scheduler does; ``spent``: seconds of CPU in
    decide alone."""

    def __init__(self, nodes: list[NodeSpec], tasks: list[ReplicaRequest]) -> None:
        self.fleet = Fleet.build(nodes, mix=openb.typical(tasks))
        self.policy, self.spent = Policy(explain=False), 0.0

    def __call__(self, task: ReplicaRequest) -> bool:
        job = make.job(task)
        begun = time.process_time()
        decision = decide(self.fleet, job, self.policy)
        self.spent += time.process_time() - begun
        if not isinstance(decision, Placed):
            return False
        self.fleet.apply(decision, "t1", "g1")
        return True


def plain_step(nodes: list[NodeSpec], tasks: list[ReplicaRequest], choose: Choose) -> Step:
    """One arrival by a reference policy."""
    cluster = Cluster(nodes, tasks)

    def step(task: ReplicaRequest) -> bool:
        chosen = choose(cluster, task)
        if chosen is None:
            return False
        cluster.place(chosen[0], task, chosen[1])
        return True

    return step


def replay(nodes: list[NodeSpec], tasks: list[ReplicaRequest], seed: int, step: Step) -> Result:
    """Allocated percent by mark (mean of the events that round to it), and us a decision."""
    capacity = sum(len(node.devices) for node in nodes) * 10_000
    seen: dict[int, list[float]] = defaultdict(list)
    arrived = held = count = 0
    begun = time.process_time()
    for task in openb.arrivals(tasks, capacity, seed):
        arrived += task.devices * task.share_bp
        held += task.devices * task.share_bp * step(task)
        count += 1
        seen[round(100 * arrived / capacity)].append(100 * held / capacity)
    spent = step.spent if isinstance(step, EngineStep) else time.process_time() - begun
    each = spent / count * 1e6
    return {mark: statistics.fmean(seen[mark]) for mark in MARKS}, each


def steps(name: str, nodes: list[NodeSpec], tasks: list[ReplicaRequest], seed: int) -> Step:
    """A fresh cluster under the named policy."""
    if name == "engine":
        return EngineStep(nodes, tasks)
    chooser = {"random": choose_random(seed), "best_fit": choose_best_fit, "fgd": choose_fgd}[name]
    return plain_step(nodes, tasks, chooser)


def published(workload: str, policy: str) -> str:
    """The published means, for the engine those of FGD, the best of each list; or a dash."""
    for row in rows("fgd-published.csv"):
        if row["workload"] == f"openb_pod_list_{workload}" and row["policy"] == PUBLISHED[policy]:
            return " ".join(f"{float(row[f'allocated_at_{mark}']):6.2f}" for mark in MARKS)
    return "     -      -      -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="42-51", help="first-last or a comma list")
    parser.add_argument("--workload", default="default")
    parser.add_argument("--policies", default="random,best_fit,fgd,engine")
    chosen = parser.parse_args()
    first, dash, last = chosen.seeds.partition("-")
    seeds = list(range(int(first), int(last) + 1)) if dash else [int(s) for s in chosen.seeds.split(",")]
    nodes, tasks = openb.nodes(), openb.requests(chosen.workload)
    print(f"{describe()}; workload {chosen.workload}; {len(nodes)} nodes, {len(tasks)} tasks, seeds {seeds}")
    print("policy     allocated % at 100    110    130   sd 130   published 100    110    130   us/decision (CPU)")
    for name in chosen.policies.split(","):
        results = [replay(nodes, tasks, seed, steps(name, nodes, tasks, seed)) for seed in seeds]
        at = {mark: [result[0][mark] for result in results] for mark in MARKS}
        means = " ".join(f"{statistics.fmean(at[mark]):6.2f}" for mark in MARKS)
        spread = statistics.stdev(at[130]) if len(seeds) > 1 else 0.0
        each = statistics.median(result[1] for result in results)
        line = f"{name:10} {means:>32}   {spread:6.2f}   {published(chosen.workload, name):>27}   {each:8.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
