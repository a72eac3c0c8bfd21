"""What happens to the scheduler's fleet, in order, as rows that are stored with the decisions made on it.

A chain begins with the whole fleet (`LedgerBase`). From then on each change is one entry of a list: a part of a card
taken or given back, a node that is another now. A decision names the chain and how many changes it saw. Nothing is
stored for a change by itself: the entries since the last decision go into one row of its transaction.
"""

from hashlib import blake2b
from operator import attrgetter
from typing import Any
from zlib import compress

import orjson

from console.common import bulk
from pool.engine.fleet import Fleet
from pool.engine.freezing import freeze
from pool.engine.sharing import Amounts, QueueSpec
from pool.engine.types import Hold, JobRequest, NodeSpec
from pool.scheduling.ledger import codec
from pool.scheduling.models import LedgerSegment

TAKE, GIVE, NODE, GONE, OWNER, REQUEST, TREE = 1, 0, "n", "x", "o", "q", "t"
ISOLATIONS = ("exclusive", "vgpu", "mig", "", "host")
MANY = 4_096  # changes that wait in memory for a decision
_KNOWN = 8_192  # requests and owners that have a number

_plain = attrgetter("device_key", "node_key", "share_bp", "memory_mib", "cpu_milli", "host_memory_mib")
_asked = attrgetter(
    "tenant",
    "trust_group",
    "roles",
    "min_member",
    "required_topology_level",
    "preferred_topology_level",
    "labels",
    "affinity",
    "step",
)
_ISOLATION = {name: number for number, name in enumerate(ISOLATIONS)}


class Journal:
    """One thread owns it, beside a mirror. What it was told is kept until `stored` says that it is durable."""

    def __init__(self, base: int, digest: str) -> None:
        self.base, self.head = base, digest
        self.seq = 0
        self.first = 0
        self.plans = 0  # preemptions recorded in this chain
        self._entries: list[Any] = []
        self._owners: dict[tuple[str, str], int] = {}
        self._requests: dict[tuple[Any, ...], int] = {}
        self._numbers = 0
        self._tree: tuple[int, tuple[QueueSpec, ...], Amounts] | None = None

    # -- what happens

    def took(self, hold: Hold) -> None:
        self._entries.append((TAKE, self._owner(hold), hold))

    def gave(self, hold: Hold) -> None:
        self._entries.append((GIVE, self._owner(hold), hold))

    def is_now(self, node: NodeSpec, holds: list[Hold]) -> None:
        """A node, and all that is held there."""
        self._entries.append((NODE, node, [(self._owner(hold), hold) for hold in holds]))

    def is_gone(self, node: int) -> None:
        self._entries.append((GONE, node))

    # -- what decisions name

    def mark(self) -> str:
        """The state that a decision sees now: chain, and number of changes."""
        return f"{self.base}.{self.first + len(self._entries)}"

    def request(self, job: JobRequest) -> int:
        """The number of what a job asks; jobs that ask the same share it."""
        key = _asked(job)
        number = self._requests.get(key)
        if number is None:
            number = self._requests[key] = self._number(self._requests)
            self._entries.append((REQUEST, number, job))
        return number

    def tree(self, specs: tuple[QueueSpec, ...], capacity: Amounts) -> int:
        """The number of a tree of queues."""
        if self._tree is None or self._tree[1] is not specs or self._tree[2] != capacity:
            self._tree = (self._number({}), specs, capacity)
            self._entries.append((TREE, *self._tree))
        return self._tree[0]

    # -- storing

    def segment(self) -> LedgerSegment | None:
        """An unsaved row of all that is not stored yet; None if there is nothing."""
        if not self._entries:
            return None
        entries = self._entries
        ops = orjson.dumps([_line(entry) for entry in entries], default=sorted).decode()
        return bulk.new(
            LedgerSegment,
            base_id=self.base,
            seq=self.seq,
            first=self.first,
            count=len(entries),
            digest=chained(self.head, ops),
            ops=ops,
        )

    def stored(self, segment: LedgerSegment | None) -> None:
        """The row is durable: what it tells is not told again."""
        if segment is None:
            return
        del self._entries[: segment.count]
        self.first += segment.count
        self.seq, self.head = segment.seq + 1, segment.digest

    @property
    def is_full(self) -> bool:
        return len(self._entries) > MANY

    def _number(self, known: dict[Any, int]) -> int:
        if len(known) >= _KNOWN:
            known.clear()  # numbers go on: what had one before is told again
        self._numbers += 1
        return self._numbers

    def _owner(self, hold: Hold) -> int:
        number = self._owners.get((hold.tenant, hold.trust_group))
        if number is None:
            number = self._owners[hold.tenant, hold.trust_group] = self._number(self._owners)
            self._entries.append((OWNER, number, hold.tenant, hold.trust_group))
        return number


def _line(entry: tuple[Any, ...]) -> Any:
    """An entry as JSON: what most holds have not is left out."""
    kind = entry[0]
    if kind in (TAKE, GIVE):
        return [kind, *_hold(entry[1], entry[2])]
    if kind == NODE:
        return [NODE, entry[1], [_hold(*pair) for pair in entry[2]]]
    return entry


def _hold(owner: int, hold: Hold) -> list[Any]:
    line = [*_plain(hold), _ISOLATION[hold.isolation], owner]
    if hold.labels or hold.repels:
        line += [hold.mig_profile, hold.mig_start, hold.mig_size, hold.labels, hold.repels]
    elif hold.mig_profile:
        line += [hold.mig_profile, hold.mig_start, hold.mig_size]
    return line


def chained(before: str, ops: str) -> str:
    return blake2b(before.encode() + ops.encode(), digest_size=16).hexdigest()


def content_of(fleet: Fleet) -> tuple[bytes, str]:
    """A fleet as a base stores it, and its digest."""
    frozen = freeze(fleet)
    parts = {
        "nodes": fleet.nodes,
        "mix": fleet.mix,
        "columns": frozen.columns,
        "trust": frozen.trust,
        "carried": frozen.carried,
        "repelled": frozen.repelled,
    }
    told = codec.dumps(parts)
    content = compress(b"".join((len(told).to_bytes(8, "big"), told, frozen.nodes, frozen.cards)), 1)
    return content, blake2b(content, digest_size=16).hexdigest()
