"""The fleet: nodes, cards and what is held on them, kept ready for decisions.

One thread owns a Fleet. The rows are ordered by node key and nothing depends on the order in
which nodes, holds or releases arrived: two fleets with the same content decide alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pool.engine import holds as h
from pool.engine import state as s
from pool.engine.changelog import ChangeLog
from pool.engine.digest import digest
from pool.engine.domains import Domains, place_of
from pool.engine.holds import holds_of as holds_of
from pool.engine.kinds import Kinds
from pool.engine.labelled import Labelled
from pool.engine.labelsets import LabelSets
from pool.engine.layout import emptied, load_node, with_row, without_row
from pool.engine.mix import DEFAULT_MIX, TypicalMix, compile_mix
from pool.engine.state import State
from pool.engine.types import MOST_CARDS, WHOLE, Hold, NodeSpec, Placed

if TYPE_CHECKING:
    from pool.engine.affinity import Affinity
    from pool.engine.islands import Islands
    from pool.engine.refusals import Stops
    from pool.engine.selectors import Labels
    from pool.engine.vectors import ScoreVector

FEW = 8  # rows that are settled one by one
MOST_VECTORS = 1024  # score vectors kept; the oldest used goes first


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of the open part of a fleet: devices, share in bp, memory in MiB, CPU in milli."""

    nodes: int
    devices: int
    open_devices: int
    share_bp: int
    free_share_bp: int
    memory_mib: int
    free_memory_mib: int
    idle: int
    exclusive: int
    vgpu: int
    mig: int


class Fleet:
    """See the module. Build one with :meth:`build`; change it with apply, release, undo and
    replace_node; read ``version`` (rises with every change) or ``snapshot_id``."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.labels = LabelSets()
        self.labelled = Labelled()
        self.mix: TypicalMix = DEFAULT_MIX
        self.state = State.empty(0, 1)
        self.nodes: list[NodeSpec] = []
        self.row_of: dict[int, int] = {}
        self.place_of: dict[int, tuple[int, int]] = {}  # device key -> node key, column
        self.trust: dict[str, int] = {}
        self.log = ChangeLog()
        self.version = 0
        self.hardware = 0  # rises when nodes change
        self.places = 0  # rises when a node comes, goes or moves
        self.domains: tuple[int, Domains] | None = None  # kept by domains.py
        self.islands: tuple[int, Islands] | None = None  # kept by islands.py
        self.vectors: dict[object, ScoreVector] = {}
        self.kept_vectors: dict[object, ScoreVector] = {}  # those outside, while in scratch
        self.twin: tuple[int, Fleet] | None = None  # the same hardware, empty (validate.py)
        self.verdicts: dict[object, bool] = {}
        self.reasons: dict[object, Stops] = {}  # of what is refused (refusals.py)
        self.described: tuple[int, bytes] | None = None  # digest of the hardware (digest.py)
        self.cards = np.zeros(1, dtype=np.int64)  # of each kind, open or not
        self.tables = compile_mix(self.mix, self.kinds, 1, self.cards)
        self.largest = (1, 1)  # GPU share (bp) of the largest node, and CPU (milli)
        self.capacity = (0, 0)  # CPU (milli) and GPU share (bp) of all open nodes

    @staticmethod
    def build(nodes: Sequence[NodeSpec], holds: Sequence[Hold] = (), mix: TypicalMix = DEFAULT_MIX) -> Fleet:
        """A fleet of these nodes. Holds are facts: even contradicting ones are taken in, and
        close the card. ValueError for a hold on an unknown node or device, or a key given twice."""
        fleet = Fleet()
        fleet.mix = mix
        fleet.nodes = sorted(nodes, key=lambda node: node.key)
        for node in fleet.nodes:
            _check_size(node)
            fleet.kinds.add(node.devices)
            fleet.labels.add(node)
        widest = max((len(node.devices) for node in nodes), default=1)
        fleet.state = State.empty(len(nodes), max(widest, 1))
        for row, node in enumerate(fleet.nodes):
            load_node(fleet.state, row, node, fleet.kinds, fleet.labels)
        fleet._index()
        for hold in holds:
            fleet._take(hold)
        fleet._compile()
        fleet._rows_moved()
        return fleet

    def emptied(self) -> Fleet:
        """The same hardware with nothing held and everything open: of as it is now, to ask only."""
        twin = Fleet()
        twin.kinds, twin.labels, twin.mix, twin.nodes = self.kinds, self.labels, self.mix, list(self.nodes)
        twin.row_of, twin.place_of, twin.cards, twin.tables = self.row_of, self.place_of, self.cards, self.tables
        twin.state = emptied(self.state, self.nodes, self.kinds)
        twin._rows_moved()
        return twin

    def replace_node(self, node: NodeSpec, holds: Sequence[Hold] = ()) -> None:
        """Add a node, or put a new description and its holds in place of the old one.
        ValueError for a device of another node or a hold elsewhere; then nothing changes."""
        self._check_node(node, holds)
        known = node.key in self.row_of
        grown = self.kinds.add(node.devices) or len(node.devices) > self.state.device.shape[2]
        row = sum(1 for other in self.nodes if other.key < node.key)
        same = known and self.nodes[row] == node
        moved = known and not same and place_of(self.nodes[row]) != place_of(node)
        named = self.labels.add(node)
        self.nodes[row : row + known] = [node]
        self.state = with_row(self.state, row, len(node.devices), replaced=known)
        self._index()
        load_node(self.state, row, node, self.kinds, self.labels)
        self.labelled.drop(node.key)
        for hold in holds:
            self._take(hold)
        if grown or not same:
            self._compile_if(grown)
        if not known:
            self._rows_moved()
        elif not same:
            self._measure()
        self.places += moved
        if named:  # tables of selectors are too short for it
            self._forget_scores()
        self.touch((row,))

    def remove_node(self, key: int) -> None:
        """Take a node and all that is held on it out. KeyError if there is none."""
        row = self.row_of[key]
        del self.nodes[row]
        self.labelled.drop(key)
        self.state = without_row(self.state, row)
        self._index()
        self._compile_if(False)
        self._rows_moved()

    def set_mix(self, mix: TypicalMix) -> None:
        """Use another typical mix from now on."""
        self.mix = mix
        self.twin = None
        self._compile()

    def apply(
        self,
        placed: Placed,
        tenant: str,
        trust_group: str,
        labels: Labels = (),
        repels: tuple[Affinity, ...] = (),
    ) -> tuple[Hold, ...]:
        """Hold what a decision placed and return the holds. :class:`~pool.engine.holds.Oversold`
        if any part of it is no longer free; then nothing is held."""
        taken: list[Hold] = []
        try:
            for hold in holds_of(placed.replicas, tenant, trust_group, labels, repels):
                self.take(hold)
                taken.append(hold)
        except ValueError:
            for hold in reversed(taken):
                self.release(hold)
            raise
        return tuple(taken)

    def take(self, hold: Hold) -> None:
        """Hold one part, strictly: :class:`~pool.engine.holds.Oversold` if it is not free."""
        row, column = self._where(hold)
        if column is not None:
            trust = self.trust_number(hold.tenant, hold.trust_group)
            h.check_device(self.state, row, column, hold, trust, self._in_mig_mode(row, column))
        h.check_node(self.state, row, hold)
        self._take(hold)
        self.touch((row,))

    def release(self, hold: Hold) -> bool:
        """Free one hold. False if its node or device is gone, and the hold with it."""
        if hold.node_key not in self.row_of:
            return False
        if hold.device_key is not None and self._owner(hold.device_key) is None:
            return False
        row, column = self._where(hold)
        if column is not None:
            h.give_device(self.state, row, column, hold, self._in_mig_mode(row, column))
        h.take_node(self.state, row, hold, sign=-1)
        if hold.labels or hold.repels:
            self.labelled.add(hold, -1)
        self.touch((row,))
        return True

    def undo(self, placed: Placed, tenant: str, trust_group: str, **more: Any) -> None:
        """Release all that :meth:`apply` held for this decision, given the same labels and repulsions."""
        for hold in holds_of(placed.replicas, tenant, trust_group, **more):
            self.release(hold)

    @property
    def snapshot_id(self) -> str:
        """A digest of everything a decision depends on besides the job and the policy."""
        return digest(self)

    def counts(self) -> Counts:
        """Totals for an overview."""
        device = self.state.device
        is_open = device[s.OPEN] == 1
        use = device[s.USE]
        return Counts(
            nodes=len(self.nodes),
            devices=len(self.place_of),
            open_devices=int(is_open.sum()),
            share_bp=int(is_open.sum()) * 10_000,
            free_share_bp=int(np.maximum(device[s.SHARE], 0)[is_open].sum()),
            memory_mib=int(self.kinds.memory.take(device[s.KIND])[is_open].sum()),
            free_memory_mib=int(np.maximum(device[s.MEMORY], 0)[is_open].sum()),
            idle=int((is_open & (use == s.IDLE)).sum()),
            exclusive=int((use == s.WHOLE_CARD).sum()),
            vgpu=int((use == s.SHARED).sum()),
            mig=int((use == s.CUT).sum()),
        )

    def trust_number(self, tenant: str, trust_group: str) -> int:
        """A small number for a trust group, never 0."""
        return self.trust.setdefault(h.trust_name(tenant, trust_group), len(self.trust) + 1)

    def settle(self) -> None:
        """Bring the derived arrays up to date with what was held and released."""
        dirty = self.log.dirty
        if not dirty:
            return
        if len(dirty) <= FEW:
            for row in dirty:
                s.settle_one(self.state, row, self.kinds, self.tables)
        else:
            s.settle(self.state, np.fromiter(dirty, dtype=np.int64), self.kinds, self.tables)
        dirty.clear()

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Whatever is held inside is forgotten at the end, as if it had never been."""
        self.settle()
        before, log, version, reasons = self.state, self.log, self.version, self.reasons
        labelled, self.labelled = self.labelled, Labelled(self.labelled)
        self.state, self.log, self.reasons = before.copy(), log.copy(), {}
        outer, self.kept_vectors, self.vectors = self.kept_vectors, self.vectors, {}
        try:
            yield
        finally:
            self.vectors, self.kept_vectors = self.kept_vectors, outer
            self.state, self.log, self.version, self.labelled = before, log, version, labelled
            self.reasons = reasons

    def _check_node(self, node: NodeSpec, holds: Sequence[Hold]) -> None:
        _check_size(node)
        keys = [device.key for device in node.devices]
        if len(set(keys)) != len(keys):
            raise ValueError(f"devices: a device key is given twice on node {node.key}")
        foreign = [key for key in keys if self._owner(key) not in (None, node.key)]
        if foreign:
            raise ValueError(f"devices: {foreign} belong to another node")
        for hold in holds:
            if hold.node_key != node.key or hold.device_key not in (None, *keys):
                raise ValueError(f"holds: device {hold.device_key} is not on node {node.key}")
            if hold.device_key is not None:
                h.use_of(hold)

    def _owner(self, device_key: int) -> int | None:
        place = self.place_of.get(device_key)
        return place[0] if place else None

    def _where(self, hold: Hold) -> tuple[int, int | None]:
        if hold.node_key not in self.row_of:
            raise ValueError(f"node_key: node {hold.node_key} is not in the fleet")
        if hold.device_key is None:
            return self.row_of[hold.node_key], None
        if self._owner(hold.device_key) != hold.node_key:
            raise ValueError(f"device_key: {hold.device_key} is not on node {hold.node_key}")
        return self.row_of[hold.node_key], self.place_of[hold.device_key][1]

    def _in_mig_mode(self, row: int, column: int) -> bool:
        return self.nodes[row].devices[column].mig_enabled

    def _take(self, hold: Hold) -> None:
        row, column = self._where(hold)
        if column is not None:
            trust = self.trust_number(hold.tenant, hold.trust_group)
            h.take_device(self.state, row, column, hold, trust, self._in_mig_mode(row, column))
        h.take_node(self.state, row, hold)
        if hold.labels or hold.repels:
            self.labelled.add(hold)

    def touch(self, rows: Iterable[int]) -> None:
        """Note that these rows of the state were changed."""
        for row in rows:
            self.version += 1
            self.log.add(row)

    def _index(self) -> None:
        self.row_of = {node.key: row for row, node in enumerate(self.nodes)}
        self.place_of = {
            device.key: (node.key, column) for node in self.nodes for column, device in enumerate(node.devices)
        }
        if len(self.row_of) != len(self.nodes):
            raise ValueError("nodes: a node key is given twice")
        if len(self.place_of) != sum(len(node.devices) for node in self.nodes):
            raise ValueError("devices: a device key is given twice")

    def _compile(self) -> None:
        """After a change of the mix, of the kinds of card or of the width of the arrays."""
        self.cards = self._count_cards()
        self.tables = compile_mix(self.mix, self.kinds, self.state.device.shape[2], self.cards)
        self._forget_scores()

    def _compile_if(self, grown: bool) -> None:
        """If a node that came or went changed how scarce a kind of card is, or there is a new one."""
        if grown or not np.array_equal(self._count_cards(), self.cards):
            self._compile()

    def _count_cards(self) -> s.Ints:
        return np.bincount(self.state.device[s.KIND].ravel(), minlength=len(self.kinds.all))

    def _rows_moved(self) -> None:
        self.places += 1
        self._measure()
        self._forget_scores()

    def _forget_scores(self) -> None:
        self.vectors.clear()
        self.reasons.clear()
        self.log = ChangeLog(len(self.nodes))
        self.log.dirty.update(range(len(self.nodes)))
        self.version += 1

    def _measure(self) -> None:
        """The sizes that scores are relative to: those change with hardware only."""
        cards = self.state.device[s.OPEN].sum(axis=1) * WHOLE
        cpu = self.state.node[s.CPU_TOTAL] * self.state.node[s.NODE_OPEN]
        self.largest = (int(cards.max(initial=1)), int(cpu.max(initial=1)))
        self.capacity = (int(cpu.sum()), int(cards.sum()))
        self.hardware += 1


def _check_size(node: NodeSpec) -> None:
    if len(node.devices) > MOST_CARDS:
        raise ValueError(f"devices: node {node.key} has {len(node.devices)} cards, more than {MOST_CARDS}")
