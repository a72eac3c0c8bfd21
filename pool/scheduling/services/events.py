"""Timeline lines. Kinds are words that the job page translates."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from console.common import sql


def note(job_id: int, at: datetime, kind: str, actor_label: str = "", **params: Any) -> None:
    """Appends a line to the job's timeline, in the transaction of what it tells of."""
    sql.execute(_INSERT + " VALUES (%s, %s, %s, %s, %s)", *_row(job_id, at, kind, actor_label, params))


def note_where(condition: str, values: Sequence[Any], job_id: int, at: datetime, kind: str, **params: Any) -> None:
    """The same if `condition` holds of an attempt (`scheduling_attempt`)."""
    row = _row(job_id, at, kind, "", params)
    chosen = f"{_INSERT} SELECT %s, %s, %s, %s, %s FROM scheduling_attempt WHERE {condition}"  # noqa: S608
    sql.execute(chosen, *row, *values)


_INSERT = "INSERT INTO scheduling_jobevent (job_id, at, kind, params, actor_label)"


def _row(job_id: int, at: datetime, kind: str, actor_label: str, params: dict[str, Any]) -> list[Any]:
    return [job_id, at, kind, orjson.dumps(params, default=str).decode(), actor_label]
