"""The reservations that hold, and when they do."""

from datetime import datetime
from zoneinfo import ZoneInfo

from pool.engine.calendar import Recurrence, occurrences
from pool.scheduling.models import Reservation


def active() -> list[Reservation]:
    rows = Reservation.objects.filter(state=Reservation.State.ACTIVE).select_related("tenant")
    return list(rows.order_by("created_at", "pk"))


def spans(row: Reservation, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
    """Start and end of its occurrences that overlap a time; by the clock of the tenant's zone. Its tenant must be
    loaded."""
    return list(occurrences(recurrence(row), ZoneInfo(row.tenant.time_zone), since, until))


def recurrence(row: Reservation) -> Recurrence:
    return Recurrence(row.starts_at, row.ends_at - row.starts_at, row.every, row.until)  # type: ignore[arg-type]
