"""When each card could take no new work, as spans that do not overlap: absent before down before unusable.

Down is what the hardware says (out of reach, faulty); unusable what an operator decided (cordoned, draining). A
card that is both is down: a decision cannot give back what a fault took. Absent is a card that was not in its node.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q

from billing.rating.calendar import microseconds
from pool.inventory.models import Outage

ABSENT, DOWN, UNUSABLE = 3, 2, 1  # the largest wins where several hold
_RANK: Mapping[str, int] = {
    Outage.Kind.UNREACHABLE: DOWN,
    Outage.Kind.FAULTY: DOWN,
    Outage.Kind.CORDONED: UNUSABLE,
    Outage.Kind.DRAINING: UNUSABLE,
    Outage.Kind.RETIRED: ABSENT,
}


class Span(NamedTuple):
    """[begin, end) in microseconds since the start of the window."""

    begin: int
    end: int
    rank: int


class Out(NamedTuple):
    """Microseconds by what the card was meanwhile."""

    down: int = 0
    unusable: int = 0
    absent: int = 0


class Outages:
    """All that touches [start, end). One query."""

    def __init__(self, start: datetime, end: datetime) -> None:
        self._of_node: dict[int, list[Span]] = defaultdict(list)
        self._of_device: dict[int, list[Span]] = defaultdict(list)
        self._flat: dict[tuple[int, int], list[Span]] = {}
        touching = Q(started_at__lt=end) & (Q(ended_at__isnull=True) | Q(ended_at__gt=start))
        rows = Outage.objects.filter(touching).values_list("node_id", "device_id", "kind", "started_at", "ended_at")
        for node_id, device_id, kind, started_at, ended_at in rows.iterator(chunk_size=5000):
            begin = max(0, microseconds(start, started_at))
            span = Span(begin, microseconds(start, min(ended_at or end, end)), _RANK[kind])
            of, key = (self._of_device, device_id) if device_id else (self._of_node, node_id)
            of[key].append(span)

    def of(self, node_id: int, device_id: int, born: int) -> list[Span]:
        """Of one card, from microsecond `born` of the window on: in order, apart, and none without length."""
        own = self._of_device.get(device_id)
        if own is None:  # as every other card of the node
            return self._whole_node(node_id, born)
        return _from([*self._of_node.get(node_id, ()), *own], born)

    def _whole_node(self, node_id: int, born: int) -> list[Span]:
        if node_id not in self._of_node:
            return []
        if (node_id, born) not in self._flat:
            self._flat[node_id, born] = _from(self._of_node[node_id], born)
        return self._flat[node_id, born]


def _from(spans: Iterable[Span], born: int) -> list[Span]:
    return flatten(span._replace(begin=max(span.begin, born)) for span in spans)


def flatten(spans: Iterable[Span]) -> list[Span]:
    """Spans that overlap, cut where they do; each piece has the highest rank there."""
    edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        if span.begin < span.end:
            edges[span.begin].append((span.rank, 1))
            edges[span.end].append((span.rank, -1))
    open_now = [0] * (ABSENT + 1)
    flat: list[Span] = []
    begin = rank = 0
    for edge in sorted(edges):
        if rank and edge > begin:
            flat.append(Span(begin, edge, rank))
        for level, change in edges[edge]:
            open_now[level] += change
        begin, rank = edge, max((level for level, count in enumerate(open_now) if count), default=0)
    return flat


def within(spans: list[Span], begin: int, end: int) -> Out:
    """How much of [begin, end) lies in spans that `flatten` made, by rank."""
    totals = [0] * (ABSENT + 1)
    at = max(0, bisect_right(spans, begin, key=lambda span: span.begin) - 1)
    while at < len(spans) and spans[at].begin < end:
        span = spans[at]
        totals[span.rank] += max(0, min(span.end, end) - max(span.begin, begin))
        at += 1
    return Out(totals[DOWN], totals[UNUSABLE], totals[ABSENT])
