"""The pieces that go, found by asking the engine: for jobs whose place depends on more than counts.

Bisection finds how far down the order must be gone; then halves of what was chosen are put back as
long as the job still fits. More room is taken to fit no less.
"""

from __future__ import annotations

import numpy as np

from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.freeing import free
from pool.engine.trying import try_place
from pool.engine.types import Placed


def search(case: Case) -> set[int] | None:
    """Places in ``order`` of what must go, none of which could stay; None if all of it going would
    not let the job in."""
    forced = case.forced(case.toll(), set())
    if forced is None or placed(case, set(range(len(case.order)))) is None:
        return None
    low, high = 0, len(case.order)
    while low < high:
        middle = (low + high) // 2
        if placed(case, case.whole(forced | set(range(middle)))) is not None:
            high = middle
        else:
            low = middle + 1
    going = case.whole(forced | set(range(low)))
    for surplus in (False, True):  # a core first: what goes with it may stay once the core does
        mine = [at for at in going if case.unit(at).surplus == surplus and case.core(at) not in going]
        going = _put_back(case, going, sorted(mine, key=lambda at: (*case.weight(at), at), reverse=True))
    return going


def _put_back(case: Case, going: set[int], group: list[int]) -> set[int]:
    """Without as many of the group as need not go; all at once if that is possible, else by halves."""
    if not group:
        return going
    fewer = going - set(group)
    if case.covers(fewer) and placed(case, fewer) is not None:
        return fewer
    if len(group) == 1:
        return going
    half = len(group) // 2
    return _put_back(case, _put_back(case, going, group[:half]), group[half:])


def placed(case: Case, going: set[int]) -> Placed | None:
    """Where the job would go without these pieces."""
    fleet = case.fleet
    with fleet.scratch():
        lines = case.lines_of(going)
        free(fleet.state, lines)
        for row in np.unique(lines[:, t.ROW]):
            fleet.log.add(int(row))
        for at in going:
            for replica in case.unit(at).replicas:
                for hold in replica.holds:
                    if (hold.labels or hold.repels) and hold.node_key in fleet.row_of:
                        fleet.labelled.add(hold, -1)
        outcome = try_place(fleet, case.job, case.policy)
    return outcome if isinstance(outcome, Placed) else None
