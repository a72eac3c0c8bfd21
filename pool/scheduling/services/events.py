"""Timeline lines. Kinds are words that the job page translates."""

from datetime import datetime
from typing import Any

import orjson

from console.common import sql


def note(job_id: int, at: datetime, kind: str, actor_label: str = "", **params: Any) -> None:
    """Appends a line to the job's timeline, in the transaction of what it tells of."""
    sql.execute(
        "INSERT INTO scheduling_jobevent (job_id, at, kind, params, actor_label) VALUES (%s, %s, %s, %s, %s)",
        job_id,
        at,
        kind,
        orjson.dumps(params, default=str).decode(),
        actor_label,
    )
