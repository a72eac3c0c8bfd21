"""From a chosen row to a placement in the words of the outside."""

from __future__ import annotations

import numpy as np

from pool.engine import state as s
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet
from pool.engine.mix import SCALE
from pool.engine.picks import NEVER
from pool.engine.scoring import ROW_BITS, TIE_BITS, TIE_FULL, ZERO_BUCKET, cpu_is_tight
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
    request = vector.task.request
    columns = columns or chosen_columns(fleet, vector, row)
    starts = starts or vector.scores.start[row].tolist()
    parts = [
        (vector.task.want(pick).entry if len(vector.task.wants) > 1 else pick, pick) for pick in range(request.devices)
    ]
    devices = tuple(_part(fleet, vector, row, columns[pick], starts[pick], pick) for _, pick in sorted(parts))
    node = fleet.nodes[row]
    return ReplicaPlacement(role, rank, node.key, devices, request.cpu_milli, request.host_memory_mib)


def chosen_columns(fleet: Fleet, vector: ScoreVector, row: int) -> list[int]:
    """The columns that the scores chose; of equal whole cards, those on one NVLink island."""
    columns: list[int] = vector.scores.column[row].tolist()
    task = vector.task
    if task.isolation != "exclusive" or len(columns) < 2 or len(task.wants) > 1:
        return columns
    cards = fleet.nodes[row].devices
    device = fleet.state.device[:, row : row + 1]
    kinds = {int(device[s.KIND, 0, column]) for column in columns}
    if len(kinds) > 1 or all(card.nvlink_island < 0 for card in cards):
        return columns
    can = eligible(device, task, task.wants[0])[0]
    free = [c for c in range(len(cards)) if can[c] and int(device[s.KIND, 0, c]) in kinds]
    return _by_island([(cards[c].nvlink_island, c) for c in free], len(columns))


def _by_island(free: list[tuple[int, int]], count: int) -> list[int]:
    """The smallest island that holds all; if none does, as few islands as possible."""
    islands: dict[int, list[int]] = {}
    for island, column in free:
        islands.setdefault(island if island >= 0 else -1 - column, []).append(column)
    fitting = [(len(c), c) for c in islands.values() if len(c) >= count]
    if fitting:
        return min(fitting)[1][:count]
    largest_first = sorted(islands.values(), key=lambda c: (-len(c), c))
    return sorted([column for columns in largest_first for column in columns][:count])


def _part(fleet: Fleet, vector: ScoreVector, row: int, column: int, start: int, pick: int) -> DevicePlacement:
    task, want = vector.task, vector.task.want(pick)
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


def parts_of(fleet: Fleet, vector: ScoreVector, row: int) -> ScoreParts:
    """The score of a row, taken apart."""
    key = int(vector.scores.key[row])
    tight = cpu_is_tight(fleet, vector.policy)
    cards = fleet.nodes[row].devices
    return ScoreParts(
        node_key=fleet.nodes[row].key,
        device_keys=tuple(cards[c].key for c in chosen_columns(fleet, vector, row)),
        fragmentation_change_bp=int(vector.scores.change[row]) / SCALE,
        bucket=(key >> (ROW_BITS + TIE_BITS)) - ZERO_BUCKET,
        tie_rule="free_gpu_and_cpu" if tight else "free_gpu",
        tie=(key >> ROW_BITS) & TIE_FULL,
        node_index=row,
    )


def first_score(fleet: Fleet, vector: ScoreVector, row: int) -> tuple[ScoreParts, ScoreParts | None, int]:
    """The winner's score, that of the best other node, and how many nodes could hold it."""
    key = vector.scores.key
    considered = int(np.count_nonzero(key != NEVER))
    winner = parts_of(fleet, vector, row)
    if considered < 2:
        return winner, None, considered
    kept = key[row]
    key[row] = NEVER
    second = int(key.argmin())
    key[row] = kept
    return winner, parts_of(fleet, vector, second), considered
