"""What agents tell of replicas, handed to the scheduling room under the fence of the session."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from console.common import clock, sql
from console.common.errors import NotAllowed
from pool.nodes.services.sessions import hold_session
from pool.scheduling import services as scheduling
from pool.scheduling.models import NodeCommand


class WrongNode(NotAllowed):
    """A node spoke of what is another node's."""

    code = "wrong_node"


@dataclass(frozen=True, slots=True)
class News:
    """One checked `started`, `exited` or `ack` of a session. `proof_at`: when the node was last known to live
    before it said so, for an end whose time nobody knows."""

    node_id: int
    session: int
    message: dict[str, Any]
    received_at: datetime
    proof_at: datetime | None


# a lease that ran out is the node's trouble, not the job's: agent or server, whoever tells it first, it is placed again
_RESULTS = {"stop": "stopped", "lease": "lost", "start_failed": "failed", "lost": "lost"}


def apply_news(batch: list[News]) -> set[str]:
    """All of it in one transaction, or nothing. Safe to repeat. Returns the public ids of the jobs concerned.

    Raises StaleSession, WrongNode.
    """
    with transaction.atomic():
        for node_id, session in {(news.node_id, news.session) for news in batch}:
            hold_session(node_id, session)
        jobs = {_APPLY[news.message["type"]](news) for news in batch}
    return jobs - {""}


def _started(news: News) -> str:
    job = _job_of(news)
    if job:
        scheduling.replica_started(news.message["replica"], received_at=news.received_at, age_us=_age_us(news))
    return job


def _exited(news: News) -> str:
    job = _job_of(news)
    if not job:
        return ""
    code, cause = news.message["exit_code"], news.message["cause"]
    result = _RESULTS.get(cause) or ("succeeded" if code == 0 else "failed")
    scheduling.replica_ended(
        news.message["replica"],
        received_at=news.received_at,
        age_us=_age_us(news),
        exit_code=code,
        detail=news.message["detail"] or describe(code),
        result=result,
    )
    return job


def _ack(news: News) -> str:
    command = news.message["command"]
    row = sql.first("SELECT node_id FROM scheduling_nodecommand WHERE public_id = %s", command)
    if row is None:  # its job was deleted
        return ""
    if row[0] != news.node_id:
        raise WrongNode(f"command {command} is for another node")
    scheduling.command_done(command, news.message["ok"], news.message["detail"], clock.now())
    return ""


_APPLY: Final[dict[str, Callable[[News], str]]] = {"started": _started, "exited": _exited, "ack": _ack}


def _job_of(news: News) -> str:
    """The job of the replica that the news is of; "" when nobody knows it (any more). Raises WrongNode."""
    replica = news.message["replica"]
    row = sql.first(
        "SELECT r.node_id, j.public_id FROM scheduling_replica r JOIN scheduling_job j ON j.id = r.job_id"
        " WHERE r.public_id = %s",
        replica,
    )
    if row is None:
        return ""
    if row[0] != news.node_id:
        raise WrongNode(f"replica {replica} is not on this node")
    return str(row[1])


def _age_us(news: News) -> int:
    """Unknown (the node was restarted): it happened at the last proof of life."""
    age = news.message["age_us"]
    if age is not None:
        return int(age)
    if news.proof_at is None:
        return 0
    return max(0, (news.received_at - news.proof_at) // timedelta(microseconds=1))


def fail_command(command: NodeCommand, detail: str) -> None:
    """A command that no node can be given: its replica ends, so that what it holds is free again."""
    now = clock.now()
    with transaction.atomic():
        scheduling.command_done(command.public_id, False, detail, now)
        if command.kind == NodeCommand.Kind.START:
            scheduling.replica_ended(
                command.replica.public_id,
                received_at=now,
                age_us=0,
                exit_code=None,
                detail=detail,
                result="failed",
            )


def describe(code: int | None) -> str:
    """Of an exit code: "" for 0, the signal's name for a negative one."""
    if code is None or code == 0:
        return ""
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
