"""The clock port. Everything that must be simulated takes a `Clock`; the wall clock is the default."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def now() -> datetime:
    """Aware UTC with microseconds."""
    return datetime.now(UTC)
