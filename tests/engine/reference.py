"""The placement rule once more: slow, plain, by the definitions. Imports nothing of the engine.

It reads nodes, requests and holds by attribute, keeps its books in dictionaries and sets, and
sums fragmentation task by task. ``families`` gives MIG data as plain rows:
{family: (memory units, compute slices, [(name, compute, units, starts, most, MiB), ...])}.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

WHOLE = 10_000
SCALE = 1_000_000
TIE_FULL = (1 << 20) - 1

Cell = dict[str, Any]


class Pool:
    """Free parts of nodes, by node key."""

    def __init__(self, nodes: list[Any], families: dict[str, Any], mix: list[tuple[Any, int]], cpu_tight: bool):
        self.nodes = sorted(nodes, key=lambda n: n.key)
        self.families, self.cpu_tight = families, cpu_tight
        self.cpu = {n.key: n.cpu_milli for n in nodes}
        self.host = {n.key: n.memory_mib for n in nodes}
        self.cells: dict[int, list[Cell]] = {n.key: [self._cell(n, d) for d in n.devices] for n in nodes}
        self.kinds = [c for n in self.nodes for c in self.cells[n.key]]
        self.mix = [(task, int(weight * self.scarcity(task, mix))) for task, weight in mix]
        self.most_gpu = max([sum(c["open"] for c in cells) * WHOLE for cells in self.cells.values()] + [1])
        self.most_cpu = max([n.cpu_milli for n in nodes if n.schedulable] + [1])

    def _cell(self, node: Any, card: Any) -> Cell:
        family = self.families.get(card.mig_family) if card.mig_enabled else None
        return {
            "key": card.key,
            "model": card.model,
            "total": card.memory_mib,
            "family": family,
            "mig_mode": card.mig_enabled,
            "cuttable": card.mig_family in self.families,
            "open": node.schedulable and card.schedulable,
            "share": WHOLE,
            "memory": card.memory_mib,
            "use": None,
            "trust": None,
            "slices": frozenset(),
            "media": 0,
            "held": 0,
        }

    def hold(self, hold: Any, trust: str, sign: int = 1) -> None:
        """Take (or give back) one hold."""
        self.cpu[hold.node_key] -= sign * hold.cpu_milli
        self.host[hold.node_key] -= sign * hold.host_memory_mib
        if hold.device_key is None:
            return
        cell = next(c for c in self.cells[hold.node_key] if c["key"] == hold.device_key)
        bits = frozenset(range(hold.mig_start, hold.mig_start + hold.mig_size))
        cell["share"] -= sign * hold.share_bp
        cell["memory"] -= sign * hold.memory_mib
        cell["held"] += sign
        cell["media"] += sign * ("+me" in hold.mig_profile)
        cell["slices"] = cell["slices"] | bits if sign > 0 else cell["slices"] - bits
        cell["use"] = hold.isolation if cell["held"] else None
        cell["trust"] = trust if hold.isolation == "vgpu" and cell["held"] else None

    # --- what a request means on a card

    def isolation(self, request: Any) -> str:
        if request.isolation != "auto":
            return str(request.isolation)
        if request.mig_profile:
            return "mig"
        if request.share_bp == WHOLE:
            return "exclusive"
        mindful = request.bandwidth_sensitive
        if mindful and any(self.allowed(request, c) and self.profile(request, 0, c) for c in self.kinds):
            return "mig"
        return "vgpu"

    def allowed(self, request: Any, cell: Cell) -> bool:
        return not request.models or cell["model"] in request.models

    def asked(self, request: Any, entry: int) -> int | None:
        if not request.memory_mib:
            return None
        return int(request.memory_mib[entry if len(request.memory_mib) > 1 else 0])

    def profile(self, request: Any, entry: int, cell: Cell) -> tuple[Any, ...] | None:
        if cell["family"] is None:
            return None
        units, slices, rows = cell["family"]
        asked = self.asked(request, entry)
        fitting = []
        for row in rows:
            name, compute, size, _, _, memory = row
            part = cell["total"] * size // units
            real = min(memory, part) if memory else part
            nominal = int(name.split(".")[1].split("gb")[0]) * 1024
            enough = asked is None or asked <= max(real, nominal)
            if request.mig_profile:
                good = name == request.mig_profile and enough
            elif asked is None:
                good = plain(name) and size * WHOLE >= request.share_bp * units
            else:
                good = plain(name) and enough
            if not request.mig_profile and compute * WHOLE // slices < request.share_bp:
                good = False
            if good:
                fitting.append((size, compute, rows.index(row), row, real, compute * WHOLE // slices))
        return min(fitting)[3:] if fitting else None

    def room(self, cell: Cell) -> int:
        if not cell["open"] or cell["mig_mode"] or cell["use"] not in (None, "vgpu"):
            return 0
        return max(min(cell["share"], cell["memory"] * WHOLE // cell["total"]), 0)

    def part(self, request: Any, entry: int, cell: Cell, trust: str) -> tuple[int, int, Any, int] | None:
        """Share, memory, profile row and start that the card would give; None if it cannot."""
        if not cell["open"] or not self.allowed(request, cell):
            return None
        kind, asked = self.isolation(request), self.asked(request, entry)
        if cell["mig_mode"] != (kind == "mig"):
            return None  # a process on a card in MIG mode sees instances only, and instances are nowhere else
        if kind == "exclusive":
            free = cell["use"] is None and (asked or 0) <= cell["total"]
            return (WHOLE, cell["total"], None, -1) if free else None
        if kind == "vgpu":
            memory = cell["total"] * request.share_bp // WHOLE if asked is None else asked
            mine = cell["use"] is None or (cell["use"] == "vgpu" and cell["trust"] == trust)
            fits = mine and cell["share"] >= request.share_bp and cell["memory"] >= memory
            return (request.share_bp, memory, None, -1) if fits else None
        found = self.profile(request, entry, cell)
        if found is None or cell["use"] not in (None, "mig"):
            return None
        row, memory, share = found
        if cell["share"] < share or ("+me" in row[0] and cell["media"]):
            return None
        start = best_start(cell["family"], cell["slices"], row)
        return None if start is None else (share, memory, row, start)

    # --- fragmentation by definition

    def scarcity(self, task: Any, mix: list[tuple[Any, int]]) -> Fraction:
        """How many cards serve anything of the mix, for each card that serves this task; at most 100."""
        every = sum(any(self.serves(other, cell) for other, _ in mix) for cell in self.kinds)
        some = sum(self.serves(task, cell) for cell in self.kinds)
        return min(Fraction(every, some), Fraction(100)) if some else Fraction(1)

    def serves(self, task: Any, cell: Cell) -> bool:
        if not task.devices or self.isolation(task) == "mig":
            return False
        return self.needed(task, cell) is not None

    def usable(self, cells: list[Cell], cpu: int) -> int:
        """Sum over the mix of weight x share of the node that the task can use."""
        work = sum(weight * self.used_by(task, cells) for task, weight in self.mix if task.cpu_milli <= cpu)
        return work + sum(self.room_for_slices(cell) for cell in cells)

    def used_by(self, task: Any, cells: list[Cell]) -> int:
        if not task.devices or not cells:
            return 0
        if self.isolation(task) == "mig":
            return 0  # slices are valued by the room for all profiles alike
        rooms = [self.room(cell) for cell in cells]
        whole = sum(room == WHOLE for room in rooms)
        used = 0
        if task.devices > 1 and self.needed(task, cells[0]) == WHOLE:
            used = whole * WHOLE if whole >= task.devices else 0
        for cell, room in zip(cells, rooms, strict=True):
            needed = self.needed(task, cell)
            if needed is None or (needed == WHOLE and task.devices > 1):
                continue
            used += room if room >= needed else 0
        return used

    def needed(self, task: Any, cell: Cell) -> int | None:
        if cell["mig_mode"] or not self.allowed(task, cell):
            return None
        most = max([self.asked(task, e) or 0 for e in range(task.devices)] + [0])
        by_memory = -(-most * WHOLE // cell["total"])
        if by_memory > WHOLE:
            return None
        return WHOLE if self.isolation(task) == "exclusive" else max(task.share_bp, by_memory)

    def room_for_slices(self, cell: Cell) -> int:
        """Mean over the plain profiles of the share that further instances could have."""
        if cell["family"] is None or not cell["open"] or cell["use"] not in (None, "mig"):
            return 0
        _, slices, rows = cell["family"]
        rows = [row for row in rows if plain(row[0])]
        room = sum(how_many(row, cell["slices"]) * (row[1] * WHOLE // slices) for row in rows)
        return room * SCALE // len(rows)

    # --- choosing

    def choose(self, node: Any, request: Any, trust: str) -> tuple[tuple[int, ...], list[Any]] | None:
        """The node's score (smaller wins) and its parts by entry; None if it cannot."""
        cpu = self.cpu[node.key] - request.cpu_milli
        if not node.schedulable or cpu < 0 or self.host[node.key] < request.host_memory_mib:
            return None
        before = [dict(cell) for cell in self.cells[node.key]]
        cells = [dict(cell) for cell in before]
        entries = list(range(request.devices))
        unlike = len(request.memory_mib) > 1
        if unlike:
            entries.sort(key=lambda e: (-request.memory_mib[e], e))
        slices = self.isolation(request) == "mig"
        taken: set[int] = set()
        parts: dict[int, Any] = {}
        for entry in entries:
            look = cells if slices else before
            costs = []
            for column, cell in enumerate(look):
                part = self.part(request, entry, cell, trust)
                if part is None or column in taken:
                    continue
                changed = [dict(c) for c in look]
                self._write(changed[column], part, slices, request)
                lost = self.usable(look, cpu) - self.usable(changed, cpu)
                free = (WHOLE if cell["use"] is None else 0) if slices else self.room(cell)
                costs.append((lost, free, column, part))
            if not costs:
                return None
            _, _, column, part = min(costs, key=lambda c: c[:3])
            self._write(cells[column], part, slices, request)
            if not slices:
                taken.add(column)
            parts[entry] = (cells[column]["key"], column, *part)
        share = sum(part[2] for part in parts.values())
        change = self.usable(before, self.cpu[node.key]) - self.usable(cells, cpu) - share * SCALE
        bucket = round_half_up(change, 800 * SCALE)
        score = (bucket, self.tie(node, before), node.key)
        return score, [parts[entry] for entry in range(request.devices)]

    def _write(self, cell: Cell, part: Any, slices: bool, request: Any) -> None:
        share, memory, row, start = part
        cell["share"] -= share
        if not slices:
            cell["memory"] -= memory
            cell["use"] = self.isolation(request)
            return
        cell["use"] = "mig"
        cell["slices"] = cell["slices"] | frozenset(range(start, start + row[2]))
        cell["media"] += "+me" in row[0]

    def tie(self, node: Any, cells: list[Cell]) -> int:
        free = sum(max(cell["share"], 0) for cell in cells if cell["open"])
        gpu = free * TIE_FULL // self.most_gpu
        if not self.cpu_tight:
            return gpu
        return (gpu + max(self.cpu[node.key], 0) * TIE_FULL // self.most_cpu) // 2

    # --- gangs

    def most(self, node: Any, request: Any, trust: str, wanted: int) -> int:
        """How many replicas, at most ``wanted``, the node could hold at once: every way is tried."""
        if not wanted or not node.schedulable:
            return 0
        if self.cpu[node.key] < request.cpu_milli or self.host[node.key] < request.host_memory_mib:
            return 0
        found = 0
        self.cpu[node.key] -= request.cpu_milli
        self.host[node.key] -= request.host_memory_mib
        for cells in self._ways(self.cells[node.key], request, 0, trust, frozenset()):
            kept, self.cells[node.key] = self.cells[node.key], cells
            found = max(found, 1 + self.most(node, request, trust, wanted - 1))
            self.cells[node.key] = kept
            if found == wanted:
                break
        self.cpu[node.key] += request.cpu_milli
        self.host[node.key] += request.host_memory_mib
        return found

    def _ways(self, cells: list[Cell], request: Any, entry: int, trust: str, taken: frozenset[int]) -> Any:
        """The cards after one replica, for each way to give it its devices; of ways that leave the same, one."""
        if entry == request.devices:
            yield cells
            return
        slices, seen = self.isolation(request) == "mig", set()
        for column, cell in enumerate(cells):
            part = None if column in taken and not slices else self.part(request, entry, cell, trust)
            for start in free_starts(part[2], cell["slices"]) if part and part[2] else [-1] if part else []:
                changed = [dict(c) for c in cells]
                self._write(changed[column], (*part[:3], start), slices, request)
                changed[column]["trust"] = trust if self.isolation(request) == "vgpu" else None
                after = repr([(c["share"], c["memory"], c["use"], sorted(c["slices"]), c["media"]) for c in changed])
                if after not in seen:
                    seen.add(after)
                    yield from self._ways(changed, request, entry + 1, trust, taken | {column})

    def best(self, request: Any, trust: str) -> tuple[Any, tuple[int, ...], list[Any]] | None:
        """The winning node, its score and its parts."""
        return next(iter(self.order(request, trust)), None)

    def order(self, request: Any, trust: str) -> list[tuple[Any, tuple[int, ...], list[Any]]]:
        """Every node that can, its score and its parts, the best first."""
        found = [(node, *chosen) for node in self.nodes if (chosen := self.choose(node, request, trust))]
        return sorted(found, key=lambda item: item[1])


def plain(name: str) -> bool:
    return "+" not in name and not name.endswith("-me")


def round_half_up(value: int, width: int) -> int:
    return (2 * value + width) // (2 * width)


def free_starts(row: tuple[Any, ...], slices: frozenset[int]) -> list[int]:
    return [start for start in row[3] if not slices & frozenset(range(start, start + row[2]))]


def how_many(row: tuple[Any, ...], slices: frozenset[int]) -> int:
    return min(len(free_starts(row, slices)), int(row[4]))


def best_start(family: Any, slices: frozenset[int], row: tuple[Any, ...]) -> int | None:
    """The start after which the other plain profiles have most room; the highest of equals."""
    _, compute_slices, rows = family
    starts = free_starts(row, slices)
    if not starts:
        return None

    def left(start: int) -> tuple[int, int]:
        after = slices | frozenset(range(start, start + row[2]))
        room = sum(how_many(r, after) * (r[1] * WHOLE // compute_slices) for r in rows if plain(r[0]))
        return room, start

    return max(starts, key=left)


def violations(nodes: list[Any], holds: list[Any], trust_of: Any) -> list[str]:
    """What of a set of holds uses anything twice."""
    wrong: list[str] = []
    cards = {card.key: card for node in nodes for card in node.devices}
    for key, card in cards.items():
        mine = [h for h in holds if h.device_key == key]
        slots = [slot for h in mine for slot in range(h.mig_start, h.mig_start + h.mig_size)]
        uses = {h.isolation for h in mine}
        if sum(h.share_bp for h in mine) > WHOLE:
            wrong.append(f"card {key}: share")
        if sum(h.memory_mib for h in mine) > card.memory_mib:
            wrong.append(f"card {key}: memory")
        if len(slots) != len(set(slots)):
            wrong.append(f"card {key}: slices")
        if len(uses) > 1 or (uses == {"exclusive"} and len(mine) > 1):
            wrong.append(f"card {key}: {sorted(uses)}")
        if any(card.mig_enabled != (use == "mig") for use in uses):
            wrong.append(f"card {key}: mode")
        if uses == {"vgpu"} and len({trust_of(h) for h in mine}) > 1:
            wrong.append(f"card {key}: trust")
    for node in nodes:
        mine = [h for h in holds if h.node_key == node.key]
        if sum(h.cpu_milli for h in mine) > node.cpu_milli:
            wrong.append(f"node {node.key}: cpu")
        if sum(h.host_memory_mib for h in mine) > node.memory_mib:
            wrong.append(f"node {node.key}: memory")
    return wrong
