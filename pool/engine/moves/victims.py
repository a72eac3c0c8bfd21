"""Who must leave one node so that it can hold one replica of a request."""

from __future__ import annotations

from collections.abc import Sequence

from pool.engine import state as s
from pool.engine.capacity import parts_per_card
from pool.engine.classes import TaskClass
from pool.engine.eligible import eligible
from pool.engine.fleet import Fleet
from pool.engine.moves.cards import Card, Leaving, leaving
from pool.engine.moves.types import Movable


def clear(fleet: Fleet, row: int, task: TaskClass, movables: Sequence[Movable], most: int) -> Leaving | None:
    """The cheapest of at most ``most`` movables (given cheapest first) whose leaving lets the node
    hold the replica. None if no such set was found.

    Cards are chosen one by one, each by what it costs on top of those chosen, so that a job on
    several cards counts once; then CPU and host memory are made up for.
    """
    chosen = _cards(fleet, row, task, movables)
    if chosen is not None:
        chosen = _node(fleet, row, task, movables, chosen)
    if not chosen or len(chosen) > most:
        return None
    return tuple(sorted(chosen, key=lambda movable: movable.order))


def total(leaving: Leaving) -> int:
    """What their moves cost."""
    return sum(movable.cost for movable in leaving)


def _cards(fleet: Fleet, row: int, task: TaskClass, movables: Sequence[Movable]) -> Leaving | None:
    if not task.request.devices:
        return ()
    part = task.parts[0] if task.parts else task  # unlike devices: as if all were the hardest
    device = fleet.state.device[:, row : row + 1]
    can = eligible(device, part, part.wants[0])[0]
    ready = parts_per_card(fleet, part, part.wants[0], device).sum() if part.isolation == "mig" else can.sum()
    ways: dict[int, list[Leaving]] = {}
    for column, card in enumerate(fleet.nodes[row].devices):
        if can[column]:
            continue
        sharers = tuple(m for m in movables if any(hold.device_key == card.key for hold in m.holds))
        sets = leaving(Card(fleet, row, column, card.key, sharers), part, part.wants[0])
        if sets:
            ways[column] = sets
    chosen: Leaving = ()
    for _ in range(task.request.devices - int(ready)):
        if not ways:
            return None
        column, more = _cheapest(ways, chosen)
        chosen += more
        del ways[column]
    return chosen


def _cheapest(ways: dict[int, list[Leaving]], chosen: Leaving) -> tuple[int, Leaving]:
    """The card, and who must leave it besides those chosen: the least cost, then the fewest, then
    the lowest column."""
    options = [(column, tuple(m for m in some if m not in chosen)) for column, sets in ways.items() for some in sets]
    return min(options, key=lambda option: (total(option[1]), len(option[1]), option[0]))


def _node(fleet: Fleet, row: int, task: TaskClass, movables: Sequence[Movable], chosen: Leaving) -> Leaving | None:
    """With more who leave until CPU and host memory suffice: the cheapest that is enough alone,
    else the one that gives most."""
    node, request = fleet.state.node, task.request
    while True:
        cpu = request.cpu_milli - int(node[s.CPU, row]) - sum(m.cpu_milli for m in chosen)
        host = request.host_memory_mib - int(node[s.HOST, row]) - sum(m.host_memory_mib for m in chosen)
        if cpu <= 0 and host <= 0:
            return chosen
        left = [m for m in movables if m not in chosen]
        enough = [m for m in left if m.cpu_milli >= cpu and m.host_memory_mib >= host]
        if enough:
            return (*chosen, min(enough, key=lambda m: m.order))
        some = [m for m in left if (cpu > 0 and m.cpu_milli) or (host > 0 and m.host_memory_mib)]
        if not some:
            return None
        chosen += (max(some, key=lambda m: (m.cpu_milli if cpu > 0 else m.host_memory_mib, -m.cost, -m.job.key)),)
