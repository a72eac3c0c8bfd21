"""From a chosen row to a placement in the words of the outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pool.engine import state as s
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet
from pool.engine.islands import by_island, islands_of
from pool.engine.mix import SCALE
from pool.engine.picks import NEVER
from pool.engine.scoring import ROW_BITS, TIE_BITS, TIE_FULL, ZERO_BUCKET
from pool.engine.types import DevicePlacement, ReplicaPlacement, ScoreParts
from pool.engine.vectors import ScoreVector


def replica_at(
    fleet: Fleet,
    vector: ScoreVector,
    row: int,
    role: str,
    rank: int,
    columns: list[int] | None = None,
    starts: list[int] | None = None,
) -> ReplicaPlacement:
    """The placement of one replica on a row that its vector says can hold it, on the columns
    and MIG starts that the scores chose or on those given."""
    columns = columns or chosen_columns(fleet, vector, row)
    starts = starts or vector.scores.start[row].tolist()
    return replica_of(fleet, vector.task, row, role, rank, columns, starts)


def replica_of(
    fleet: Fleet, task: TaskClass, row: int, role: str, rank: int, columns: Sequence[int], starts: Sequence[int]
) -> ReplicaPlacement:
    """The placement of one replica on these columns, given in picking order."""
    request, node = task.request, fleet.nodes[row]
    if task.isolation == "exclusive" and len(task.wants) == 1:
        cards = [node.devices[column] for column in columns]
        whole = tuple(DevicePlacement(card.key, 10_000, card.memory_mib, "exclusive") for card in cards)
        return ReplicaPlacement(role, rank, node.key, whole, request.cpu_milli, request.host_memory_mib)
    parts = [(task.want(pick).entry if len(task.wants) > 1 else pick, pick) for pick in range(request.devices)]
    devices = tuple(_part(fleet, task, row, columns[pick], starts[pick], pick) for _, pick in sorted(parts))
    return ReplicaPlacement(role, rank, node.key, devices, request.cpu_milli, request.host_memory_mib)


def chosen_columns(fleet: Fleet, vector: ScoreVector, row: int) -> list[int]:
    """The columns that the scores chose; of equal whole cards, those that the rule of NVLink
    islands says (islands.py)."""
    columns: list[int] = vector.scores.column[row].tolist()
    task = vector.task
    if task.isolation != "exclusive" or len(task.wants) > 1:
        return columns
    islands = islands_of(fleet)
    if not islands.any:
        return columns
    device = fleet.state.device[:, row : row + 1]
    kinds = {int(device[s.KIND, 0, column]) for column in columns}
    if len(kinds) > 1:
        return columns
    of, size = islands.of[row].tolist(), islands.size[row].tolist()
    free = eligible(device, task, task.wants[0])[0].nonzero()[0].tolist()
    return by_island([(of[c], size[c], c) for c in free if int(device[s.KIND, 0, c]) in kinds], len(columns))


def _part(fleet: Fleet, task: TaskClass, row: int, column: int, start: int, pick: int) -> DevicePlacement:
    task, want = (task.parts[pick], task.wants[pick]) if task.parts else (task, task.want(pick))
    card = fleet.nodes[row].devices[column]
    kind = int(fleet.state.device[s.KIND, row, column])
    if task.isolation == "exclusive":
        return DevicePlacement(card.key, 10_000, card.memory_mib, "exclusive")
    share, memory = int(want.share[kind]), int(want.memory[kind])
    if task.isolation == "vgpu":
        return DevicePlacement(card.key, share, memory, "vgpu")
    family = fleet.kinds.all[kind].family
    if family is None:
        raise AssertionError("a MIG slice was chosen on a card that cannot be cut")
    profile = family.profiles[int(want.profile[kind])]
    return DevicePlacement(card.key, share, memory, "mig", profile.name, start, profile.units)


def parts_of(fleet: Fleet, vector: ScoreVector, row: int, columns: Sequence[int] | None = None) -> ScoreParts:
    """The score of a row, taken apart; ``columns`` if they are known."""
    scores, node = vector.scores, fleet.nodes[row]
    key, cards = int(scores.key[row]), node.devices
    if columns is None:
        columns = chosen_columns(fleet, vector, row)
    return ScoreParts(
        node.key,
        tuple([cards[column].key for column in columns]),
        int(scores.change[row]) / SCALE,
        (key >> (ROW_BITS + TIE_BITS)) - ZERO_BUCKET,
        "free_gpu_and_cpu" if vector.basis[1] else "free_gpu",
        (key >> ROW_BITS) & TIE_FULL,
        row,
    )


def first_score(
    fleet: Fleet, vector: ScoreVector, row: int, columns: Sequence[int] | None = None
) -> tuple[ScoreParts, ScoreParts | None, int]:
    """The winner's score (on these columns, if they are known), that of the best other node that is
    no better by score (what goes before the score may have chosen), and how many nodes could hold it."""
    key = vector.scores.key
    considered = int(np.count_nonzero(key < NEVER))
    winner = parts_of(fleet, vector, row, columns)
    if considered < 2:
        return winner, None, considered
    kept = key[row]
    key[row] = NEVER
    second = int(key.argmin())
    key[row] = kept
    if key[second] < kept:
        behind = np.where(key > kept, key, NEVER)
        second = int(behind.argmin())
        if behind[second] == NEVER:
            return winner, None, considered
    return winner, parts_of(fleet, vector, second), considered
