"""The last checkpoints of jobs: this room's answer to the port of the scheduling room."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from console.common import sql
from console.common.bulk import read_datetime
from pool.scheduling.ports import Checkpoint
from pool.scheduling.states import REPLICA_FINAL

_FINAL = tuple(str(state) for state in REPLICA_FINAL)


def of_jobs(jobs: Sequence[int]) -> Mapping[int, Checkpoint]:
    """By primary key, of each job's latest attempt: what an earlier one saved, this one has begun with.

    A job is saved as of the oldest among the last checkpoints of its live replicas that save at all: where one saves
    for all, as of that one's; where each saves its part, as of the last moment that is saved by all. To start again
    takes as long as it took the last time. One query.
    """
    here, keys = sql.among("j.id", list(jobs))
    rows = sql.fetch(_LAST.format(here=here, final=sql.marks(_FINAL)), *_FINAL, *keys)
    return {job: Checkpoint(read_datetime(at), _took(placed, started)) for job, at, placed, started in rows}


def _took(placed: datetime, started: datetime | None) -> int:
    if started is None:
        return 0
    return max(0, int((read_datetime(started) - read_datetime(placed)).total_seconds()))


# of an attempt that has ended as a whole: of all its replicas
_LAST = (
    "SELECT j.id, COALESCE(MIN(CASE WHEN r.state NOT IN ({final}) THEN c.at END), MIN(c.at)), a.placed_at, a.started_at"
    " FROM nodes_checkpoint c JOIN scheduling_replica r ON r.id = c.replica_id"
    " JOIN scheduling_attempt a ON a.id = r.attempt_id"
    " JOIN scheduling_job j ON j.id = r.job_id AND j.attempt_count = a.number"
    " WHERE {here} GROUP BY j.id, a.placed_at, a.started_at"
)
