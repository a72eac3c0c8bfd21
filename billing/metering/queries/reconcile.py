"""I3, checked: capacity x time = billed + running + idle + unusable + down, for compute and memory, in exact
microseconds. Nothing is reserved yet, so that part of I3 is zero.

`billed` is read from usage records and `held` from intervals, each on its own; where they differ, the seconds
are unexplained and the intervals are named. What was held counts as held, whatever its card was meanwhile: it is
billed. The rest of a card is down while it is faulty or its node out of reach, else unusable while either is
cordoned or draining, else idle. A card is capacity while it is in its node, from the moment it was added until it
was retired, and again if it came back; what was held of it beyond that counts as capacity too. It counts where it is
now, all of its past included.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from django.db.models import Min, Q

from billing.metering.models import UsageRecord
from billing.metering.queries.clip import sums
from billing.metering.queries.outages import Outages, Span, within
from billing.rating.calendar import microseconds
from pool.inventory import outages as history
from pool.inventory.models import Device
from pool.scheduling.models import Interval

Group = tuple[str, str]  # (site, model)


@dataclass(slots=True)
class Balance:
    """Card-microseconds of one resource.

    `capacity` = billed + running + idle + unusable + down + unexplained, always.
    """

    capacity: Fraction = Fraction(0)
    billed: Fraction = Fraction(0)
    running: Fraction = Fraction(0)  # held and not in records yet: by work that runs, or that ended a moment ago
    held: Fraction = Fraction(0)
    unusable: Fraction = Fraction(0)  # of what was not held: cordoned or draining, and not down
    down: Fraction = Fraction(0)  # of what was not held: faulty, or the node out of reach

    @property
    def idle(self) -> Fraction:
        return self.capacity - self.held - self.unusable - self.down

    @property
    def unexplained(self) -> Fraction:
        return self.held - self.billed - self.running


@dataclass(slots=True)
class GroupBalance:
    site: str
    model: str
    devices: int = 0  # that were there at some moment of the window
    compute: Balance = field(default_factory=Balance)
    memory: Balance = field(default_factory=Balance)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An interval whose records say another time than was held, a device that was held beyond its capacity, or a
    node or device whose state its history does not know."""

    kind: str  # "interval", "device" or "history"
    public_id: str
    held_us: int
    billed_us: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """`holds` is I3 for [start, end)."""

    start: datetime
    end: datetime
    groups: list[GroupBalance]
    mismatches: list[Mismatch]

    @property
    def holds(self) -> bool:
        return not self.mismatches and all(
            not balance.unexplained and min(balance.idle, balance.unusable, balance.down) >= 0
            for group in self.groups
            for balance in (group.compute, group.memory)
        )


def reconcile(start: datetime, end: datetime, metered: datetime | None = None) -> Reconciliation:
    """By site and model, for [start, end); `end` may be now. Platform-wide: for operators, finance and checks.

    What ended is expected in records where its end became known before `metered`; None: all of it.
    """
    groups: dict[Group, GroupBalance] = {}
    spans = _add_capacity(groups, start, end)
    billed = {key[0]: length for key, length in sums(UsageRecord.objects.all(), start, end, ("interval_id",)).items()}
    parts: dict[_Part, _Amounts] = defaultdict(_Amounts)
    cards: Counter[tuple[int, int, int]] = Counter()
    mismatches = []
    for row in _held(start, end, billed, metered):
        running_us = max(0, row.held_us - row.billed_us) if row.runs else 0
        amounts = parts[row.part]
        amounts.held += row.held_us
        amounts.billed += row.billed_us
        amounts.running += running_us
        if row.device_id in spans:
            out = within(spans[row.device_id], row.begin, row.begin + row.held_us)
            amounts.down += out.down
            amounts.unusable += out.unusable
            amounts.absent += out.absent
        cards[row.device_id, row.part.compute_num, row.part.compute_den] += row.held_us
        if row.held_us != row.billed_us + running_us:
            mismatches.append(Mismatch("interval", row.public_id, row.held_us, row.billed_us))
    for part, amounts in parts.items():
        group = _group(groups, part.site, part.model)
        _add(group.compute, Fraction(part.compute_num, part.compute_den), amounts)
        _add(group.memory, Fraction(part.memory_num, part.memory_den), amounts)
    mismatches += [*_oversold(cards, start, end), *_unwritten()]
    return Reconciliation(start, end, [groups[key] for key in sorted(groups)], mismatches)


class _Part(NamedTuple):
    site: str
    model: str
    compute_num: int
    compute_den: int
    memory_num: int
    memory_den: int


@dataclass(slots=True)
class _Amounts:
    """Microseconds; `down`, `unusable` and `absent`: held while the card was that."""

    held: int = 0
    billed: int = 0
    running: int = 0
    down: int = 0
    unusable: int = 0
    absent: int = 0


class _Row(NamedTuple):
    public_id: str
    device_id: int
    part: _Part
    begin: int  # microseconds since the start of the window
    held_us: int
    billed_us: int
    runs: bool


_COLUMNS = (
    "pk",
    "public_id",
    "device_id",
    "started_at",
    "ended_at",
    "closed_at",
    "device__node__site__name",
    "device__model__name",
    "compute_num",
    "compute_den",
    "memory_num",
    "memory_den",
)


def _held(start: datetime, end: datetime, billed: dict[int, int], metered: datetime | None) -> Iterator[_Row]:
    """Every interval that touches [start, end), and every other one that something is billed for there."""
    touching = Q(started_at__lt=end) & (Q(ended_at__isnull=True) | Q(ended_at__gt=start))
    seen = set()
    for row in Interval.objects.filter(touching).values_list(*_COLUMNS).iterator(chunk_size=5000):
        seen.add(row[0])
        yield _row(row, start, end, billed, metered)
    strangers = [pk for pk, length in billed.items() if length and pk not in seen]
    for begin in range(0, len(strangers), 500):
        for row in Interval.objects.filter(pk__in=strangers[begin : begin + 500]).values_list(*_COLUMNS):
            yield _row(row, start, end, billed, metered)


def _row(
    row: tuple[Any, ...], start: datetime, end: datetime, billed: dict[int, int], metered: datetime | None
) -> _Row:
    pk, public_id, device_id, started_at, ended_at, closed_at, *part = row
    begins, ends = max(started_at, start), min(ended_at or end, end)
    held_us = max(0, microseconds(begins, ends))
    begin = microseconds(start, begins)
    # metering comes round each minute: until then an end is no more in records than what runs
    open_ = ended_at is None or (metered is not None and closed_at is not None and closed_at >= metered)
    return _Row(public_id, device_id, _Part(*part), begin, held_us, billed.get(pk, 0), open_)


def _add_capacity(groups: dict[Group, GroupBalance], start: datetime, end: datetime) -> dict[int, list[Span]]:
    """Cards x time in the pool since they were added, or since the first thing that was held on them; and of cards
    that were out of use in it, when."""
    first = dict(Interval.objects.order_by().values_list("device_id").annotate(first=Min("started_at")))
    outages, length = Outages(start, end), microseconds(start, end)
    found: dict[int, list[Span]] = {}
    totals: dict[Group, _Amounts] = defaultdict(_Amounts)  # whole numbers: a Fraction a card would be slow
    rows = Device.objects.values_list("pk", "node_id", "added_at", "node__site__name", "model__name")
    for pk, node_id, added_at, site, model in rows.iterator(chunk_size=5000):
        born = max(0, microseconds(start, min(added_at, first.get(pk, added_at))))
        group = _group(groups, site, model)
        total, there = totals[site, model], max(0, length - born)
        if spans := outages.of(node_id, pk, born):
            found[pk] = spans
            out = within(spans, 0, length)
            total.down += out.down
            total.unusable += out.unusable
            there -= out.absent
        group.devices += there > 0
        total.held += there
    for key, total in totals.items():
        for balance in (groups[key].compute, groups[key].memory):
            balance.capacity += total.held
            balance.down += total.down
            balance.unusable += total.unusable
    return found


def _unwritten() -> Iterator[Mismatch]:
    """Nodes and cards that are out of use, or in use again, and whose history does not say so."""
    seen = dict.fromkeys(row.public_id for row in (*history.of_nodes(), *history.of_devices()))
    return (Mismatch("history", public_id, 0, 0) for public_id in seen)


def _oversold(cards: Counter[tuple[int, int, int]], start: datetime, end: datetime) -> Iterator[Mismatch]:
    """Cards that were held for more than the whole of the time."""
    held: dict[int, Fraction] = defaultdict(Fraction)
    for (device_id, num, den), length in cards.items():
        held[device_id] += Fraction(num, den) * length
    capacity = microseconds(start, end)
    over = {pk: amount for pk, amount in held.items() if amount > capacity}
    for pk, public_id in Device.objects.filter(pk__in=over).values_list("pk", "public_id"):
        yield Mismatch("device", public_id, int(over[pk]), capacity)


def _group(groups: dict[Group, GroupBalance], site: str, model: str) -> GroupBalance:
    return groups.setdefault((site, model), GroupBalance(site, model))


def _add(balance: Balance, share: Fraction, amounts: _Amounts) -> None:
    balance.capacity += share * amounts.absent
    balance.held += share * amounts.held
    balance.billed += share * amounts.billed
    balance.running += share * amounts.running
    balance.down -= share * amounts.down
    balance.unusable -= share * amounts.unusable
