"""What agents tell of replicas, handed to the scheduling room under the fence of the session."""

import signal
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from console.common import clock, sql
from console.common.errors import NotAllowed
from pool.inventory.services import lock_nodes
from pool.nodes.services.checkpoints import keep_checkpoint
from pool.nodes.services.sessions import ask_sessions, check_sessions
from pool.scheduling import services as scheduling
from pool.scheduling.models import NodeCommand


class WrongNode(NotAllowed):
    """A node spoke of what is another node's."""

    code = "wrong_node"


@dataclass(frozen=True, slots=True)
class News:
    """One checked message of KINDS of a session. `proof_at`: when the node was last known to live before it said so,
    for an end whose time nobody knows."""

    node_id: int
    session: int
    message: dict[str, Any]
    received_at: datetime
    proof_at: datetime | None


KINDS = ("started", "checkpoint", "ack", "exited")
Members = dict[str, scheduling.Member]  # by public id; news that is applied changes them
# a lease that ran out is the node's trouble, not the job's: agent or server, whoever tells it first, it is placed again
_RESULTS = {"stop": "stopped", "lease": "lost", "start_failed": "failed", "lost": "lost"}


def apply_news(batch: list[News]) -> set[str]:
    """All of it in one transaction, or nothing. Safe to repeat. Returns the public ids of the jobs concerned.

    Raises StaleSession, WrongNode.
    """
    names = {news.message["replica"] for news in batch if news.message["type"] != "ack"}
    kinds = {kind: [news for news in batch if news.message["type"] == kind] for kind in KINDS}
    with transaction.atomic():
        with sql.together():
            held = ask_sessions({news.node_id for news in batch})
            _lock(kinds["exited"])
            asked = scheduling.ask_members(names) if names else None
        check_sessions(held, {(news.node_id, news.session) for news in batch})
        members = scheduling.members_of(asked) if asked else {}
        with sql.together():
            jobs = {_started(news, members) for news in kinds["started"]}
            jobs |= {_saved(news, members) for news in kinds["checkpoint"]}
            known = [(news, _ask_done(news)) for news in kinds["ack"]]
        jobs |= {_exited(news, members) for news in kinds["exited"]}
        for news, done in known:
            if not done.rows():
                _check_ack(news)
    return jobs - {""}


def _started(news: News, members: Members) -> str:
    member = _member_of(news, members)
    if member is None:
        return ""
    scheduling.start_member(member, news.received_at, _age_us(news))
    return member.job


def _saved(news: News, members: Members) -> str:
    member = _member_of(news, members)
    if member is None:
        return ""
    at = news.received_at - timedelta(microseconds=_age_us(news))
    keep_checkpoint(member.pk, max(at, member.started_at or member.assigned_at), news.received_at)
    return member.job


def _exited(news: News, members: Members) -> str:
    member = _member_of(news, members)
    if member is None:
        return ""
    code = news.message["exit_code"]
    detail = news.message["detail"] or describe(code)
    scheduling.end_member(member, news.received_at, _age_us(news), code, detail, _result(news), locked=True)
    return member.job


def _result(exited: News) -> str:
    code, cause = exited.message["exit_code"], exited.message["cause"]
    return _RESULTS.get(cause) or ("succeeded" if code == 0 else "failed")


def _lock(exited: list[News]) -> None:
    """Every node that these ends may touch, before anything else is locked."""
    nodes = {news.node_id for news in exited}
    if fell := {news.message["replica"] for news in exited if _result(news) in {"failed", "lost"}}:
        scheduling.lock_gangs(nodes, fell)
    else:
        lock_nodes(nodes)


def _ask_done(news: News) -> sql.Asked:
    command, ok, detail = news.message["command"], news.message["ok"], news.message["detail"]
    return scheduling.ask_done(command, ok, detail, clock.now(), node_id=news.node_id)


def _check_ack(news: News) -> None:
    """It was known, or its job was deleted, or: raises WrongNode."""
    command = news.message["command"]
    row = sql.first("SELECT node_id FROM scheduling_nodecommand WHERE public_id = %s", command)
    if row is not None and row[0] != news.node_id:
        raise WrongNode(f"command {command} is for another node")


def _member_of(news: News, members: Members) -> scheduling.Member | None:
    """The replica that the news is of; None when nobody knows it (any more). Raises WrongNode."""
    member = members.get(news.message["replica"])
    if member is not None and member.node_id != news.node_id:
        raise WrongNode(f"replica {member.public_id} is not on this node")
    return member


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
