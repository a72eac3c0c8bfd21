"""Cuts held time where its price, its day or its month changes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

from billing.rating.calendar import day_edges, local_day, microseconds


@dataclass(frozen=True, slots=True)
class Version:
    """A price from `valid_from` until the next version begins; `price` None: not sold from then on."""

    ident: int
    valid_from: datetime
    price: Decimal | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All versions of one product's price, by time. No two can overlap: each ends where the next begins."""

    versions: tuple[Version, ...] = ()
    starts: tuple[datetime, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = tuple(version.valid_from for version in self.versions)
        if any(a >= b for a, b in pairwise(starts)):
            raise ValueError("versions: give them by time, no two from the same instant")
        object.__setattr__(self, "starts", starts)

    def at(self, instant: datetime) -> Version | None:
        """The version that holds at `instant`; None before the first, or where the product is not sold."""
        index = bisect_right(self.starts, instant) - 1
        if index < 0 or self.versions[index].price is None:
            return None
        return self.versions[index]

    def edges(self, start: datetime, end: datetime) -> Sequence[datetime]:
        """Version starts strictly inside (start, end)."""
        return [at for at in self.starts[bisect_right(self.starts, start) :] if at < end]


@dataclass(frozen=True, slots=True)
class Piece:
    """[starts_at, ends_at) within one price version and one local day; `version` None: no price held."""

    starts_at: datetime
    ends_at: datetime
    day: date
    version: Version | None

    @property
    def microseconds(self) -> int:
        return microseconds(self.starts_at, self.ends_at)


def cut(start: datetime, end: datetime, prices: Timeline, zone: ZoneInfo) -> list[Piece]:
    """Pieces in order that cover [start, end) without gap or overlap; none when it is empty.

    Month edges are day edges. The same input gives the same pieces, and cutting at any of the edges first
    gives the same pieces too, which is what lets running work be metered day by day.
    """
    if end <= start:
        return []
    edges = sorted({start, end, *day_edges(start, end, zone), *prices.edges(start, end)})
    return [Piece(a, b, local_day(a, zone), prices.at(a)) for a, b in pairwise(edges)]
