"""Making room on nodes: piece by piece on every node at once, and the cheapest steps of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pool.engine.preempt import roster as t
from pool.engine.preempt.case import Case
from pool.engine.preempt.counting import Counting
from pool.engine.preempt.freeing import copy_of, count, free, settled
from pool.engine.preempt.roster import Ints
from pool.engine.state import State

MOST_STEPS: Final = 64  # with more pieces than this on a node, several go at once; pruning sorts them out


@dataclass(frozen=True, slots=True)
class Chunks:
    """Steps that each let ``gain`` more replicas onto ``row``: the pieces of ``row`` from
    ``first`` to before ``last`` in ``place`` go. Cheapest first, those of a row in its order."""

    row: Ints
    gain: Ints
    grade: Ints
    cost: Ints
    first: Ints
    last: Ints
    place: Ints

    def places(self, chunk: int) -> set[int]:
        """The pieces that go with a chunk."""
        return set(self.place[self.first[chunk] : self.last[chunk]].tolist())


def chunks_of(case: Case, counting: Counting, without: set[int], rows: Ints, begun: set[int]) -> Chunks:
    """The chunks of these rows, of pieces not in ``without``, when those ``begun`` have gone."""
    on_rows = np.isin(case.lines[:, t.ROW], rows)
    gone = np.isin(case.lines[:, t.UNIT], list(without))
    lines = case.lines[on_rows & ~gone].copy()
    lines[:, t.ROW] = np.searchsorted(rows, lines[:, t.ROW])
    width = len(case.order) + 1
    pairs, pair = np.unique(lines[:, t.ROW] * width + lines[:, t.UNIT], return_inverse=True)
    row, place = pairs // width, pairs % width
    begin = np.searchsorted(row, np.arange(len(rows) + 1))
    step = np.arange(len(pairs)) - begin[row]
    block = -(-int(step.max(initial=0) + 1) // MOST_STEPS)
    state = _begun(case, counting, begun, rows)
    have = count(case.fleet, counting.task, state)
    done = begin[:-1].copy()  # pairs of each row that earlier chunks took
    none = np.zeros(0, dtype=np.int64)
    found: list[tuple[Ints, ...]] = [(none, none, none, none)]
    for now in range(int(step.max(initial=-1)) // block + 1):
        some = lines[step[pair] // block == now]
        free(state, some)
        settled(case.fleet, state, np.unique(some[:, t.ROW]))
        more = count(case.fleet, counting.task, state)
        better = np.flatnonzero(more > have)
        last = np.minimum(begin[better] + (now + 1) * block, begin[better + 1])
        found.append((better, more[better] - have[better], done[better], last))
        done[better], have = last, np.maximum(have, more)
    return _cheapest_first(case, rows, place, found)


def _begun(case: Case, counting: Counting, begun: set[int], rows: Ints) -> State:
    state = copy_of(counting.base, rows)
    lines = case.lines_of(begun)
    lines = lines[np.isin(lines[:, t.ROW], rows)].copy()
    lines[:, t.ROW] = np.searchsorted(rows, lines[:, t.ROW])
    free(state, lines)
    return settled(case.fleet, state, np.unique(lines[:, t.ROW]))


def _cheapest_first(case: Case, rows: Ints, place: Ints, found: list[tuple[Ints, ...]]) -> Chunks:
    row, gain, first, last = (np.concatenate(column) for column in zip(*found, strict=True))
    grade_at = np.array([case.grade[n] for n in case.order], dtype=np.int64)[place]
    cost_at = np.array([float(case.cost[n]) for n in case.order])[place]
    upto = np.concatenate(([0.0], np.cumsum(cost_at)))
    cost = upto[last] - upto[first]
    grade = grade_at[last - 1]
    order = np.lexsort((first, row))
    rate = (cost / gain)[order]
    for at in range(1, len(order)):  # a step is not taken before the one that it builds on
        if row[order[at]] == row[order[at - 1]]:
            rate[at] = max(rate[at], rate[at - 1])
    ranked = order[np.lexsort((first[order], row[order], rate, grade[order]))]
    return Chunks(rows[row[ranked]], gain[ranked], grade[ranked], cost[ranked], first[ranked], last[ranked], place)
