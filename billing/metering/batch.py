"""One batch of records: planned outside any transaction, committed in one short one behind the fence.

Two runs at once, or a price change meanwhile: one of them finds the fence moved and computes again. Killed
before the commit nothing is written; killed after it, the next run finds the work done.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from billing.catalog import queries as catalog
from billing.catalog.models import PriceBook
from billing.catalog.queries import Prices
from billing.catalog.services import advance_fence, book_of
from billing.metering.models import Metered, UsageRecord
from console.common import bulk
from console.common.errors import Conflict
from pool.scheduling.models import Interval

TRIES = 50
Row = TypeVar("Row", Interval, UsageRecord)


class FenceMoved(Exception):
    """Something was metered or priced since the plan was made."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a run did."""

    intervals: int = 0
    records: int = 0
    corrections: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.intervals + other.intervals,
            self.records + other.records,
            self.corrections + other.corrections,
        )


@dataclass(slots=True)
class Plan:
    fences: dict[int, int] = field(default_factory=dict)
    rows: list[UsageRecord] = field(default_factory=list)
    metered: list[Metered] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)  # records without a price that `rows` rate


def read(plan: Plan, rows: Iterable[Row]) -> list[tuple[Row, Prices]]:
    """`rows` with the prices of their tenant's currency. The fences are read first, so that they guard the rows."""
    books = {book.currency: catalog.load(book) for book in PriceBook.objects.order_by("pk")}
    found = list(rows)
    for currency in {row.tenant.currency for row in found} - books.keys():
        book_of(currency)
        raise FenceMoved  # a book made now is younger than the rows: read again
    used = {books[row.tenant.currency].book_id: books[row.tenant.currency].fence for row in found}
    plan.fences = dict(sorted(used.items()))  # one order for all: no deadlock
    return [(row, books[row.tenant.currency]) for row in found]


def run(make: Callable[[], Plan]) -> Tally:
    """Plans and commits, again while others are first. Raises Conflict if that never succeeds."""
    for _ in range(TRIES):
        try:
            return _commit(make())
        except FenceMoved:
            continue
    raise Conflict("metering is too busy; it goes on with the next run", code="metering_busy")


def _commit(plan: Plan) -> Tally:
    if not plan.rows and not plan.metered:
        return Tally()
    rows, refusal = _unrecorded(plan)
    with transaction.atomic():
        for book_id, fence in plan.fences.items():
            if not advance_fence(book_id, fence):
                raise FenceMoved
        if refusal is not None:  # only now is it certain that what was read still holds
            raise refusal
        if plan.replaced:
            UsageRecord.objects.filter(pk__in=plan.replaced).delete()
        bulk.insert(rows)
        Metered.objects.bulk_create(
            plan.metered, update_conflicts=True, unique_fields=["interval"], update_fields=["until", "settled"]
        )
    taken = sum(row.kind == UsageRecord.Kind.CORRECTION for row in rows)
    return Tally(len(plan.metered), len(rows) - taken, taken)


def _unrecorded(plan: Plan) -> tuple[list[UsageRecord], Conflict | None]:
    """The rows that are not there yet, and why none may be stored if one is there with other facts.

    Read before the transaction, which on SQLite holds the only write lock: the fence guards it.
    """
    there = UsageRecord.objects.filter(interval_id__in={row.interval_id for row in plan.rows})
    known = {
        (interval, starts, kind): digest
        for pk, interval, starts, kind, digest in there.values_list("pk", "interval_id", "starts_at", "kind", "digest")
        if pk not in plan.replaced
    }
    fresh, now = [], timezone.now()
    for row in plan.rows:
        digest = known.get((row.interval_id, row.starts_at, row.kind))
        if digest is None:
            row.recorded_at = now
            fresh.append(row)
        elif digest != row.digest:
            says = f"interval {row.interval_id} from {row.starts_at.isoformat()} is recorded with other facts"
            return [], Conflict(says, code="usage_differs")
    return fresh, None
