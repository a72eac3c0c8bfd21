"""When a job can start at the earliest, who may use reserved cards until then, and when reservations recur. Pure."""

from pool.engine.calendar.earliest import Ending, NoStart, Start, earliest, fits_at
from pool.engine.calendar.recurrence import Recurrence, occurrences
from pool.engine.calendar.together import all_fit
from pool.engine.calendar.windows import Entry, Visitor, Window, may_enter

__all__ = [
    "Ending",
    "Entry",
    "NoStart",
    "Recurrence",
    "Start",
    "Visitor",
    "Window",
    "all_fit",
    "earliest",
    "fits_at",
    "may_enter",
    "occurrences",
]
