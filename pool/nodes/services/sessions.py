"""Sessions of agents: each connection raises the number, and news of an older one is refused."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from console.common import clock, sql
from console.common.errors import Conflict
from pool.inventory import ports
from pool.inventory.models import Node
from pool.inventory.services import lock_nodes, remember
from pool.nodes.models import Agent
from pool.nodes.services.enrolment import Admission, Knock, admit, look
from pool.nodes.services.short import write_at_once
from pool.scheduling.models import NodeCommand


class StaleSession(Conflict):
    """Another connection of this node is newer, or the node was given up: this one may say nothing more."""

    code = "stale_session"


@dataclass(frozen=True, slots=True)
class Session:
    """`proof_at`: the last proof of life before this session."""

    node_id: int
    node_public_id: str
    name: str
    number: int
    credential: str | None
    proof_at: datetime | None


def open_sessions(knocks: Sequence[Knock], now: datetime, stale_s: float) -> list[Session]:
    """Lets nodes in, all or none. Raises Refusal or InvalidInput for the first that is not let in.

    Commands that were sent over an older connection and never confirmed become due again at once.
    """
    if len({knock.name for knock in knocks}) < len(knocks):
        raise Conflict("a node says hello twice at once", code="twice")
    seen = look(knocks)
    with transaction.atomic():
        admissions = admit(knocks, now, stale_s, seen)
        node_ids = [admission.node_id for admission in admissions]
        agents = Agent.objects.filter(node_id__in=node_ids)
        agents.update(session=F("session") + 1, connected=True)
        rows = {agent.node_id: agent for agent in agents.select_related("node")}
        # a node that hears "welcome" holds a lease from now on
        agents.update(last_report_at=now)
        NodeCommand.objects.filter(node_id__in=node_ids, state=NodeCommand.State.SENT).update(claim_until=now)
        for knock, node_id in zip(knocks, node_ids, strict=True):
            _note_version(rows[node_id], knock)
    return [_session(rows[admission.node_id], admission) for admission in admissions]


def open_session(hello: dict[str, Any], address: str, now: datetime, stale_s: float) -> Session:
    """Lets one node in. Raises Refusal or InvalidInput; nothing is stored then."""
    return open_sessions([Knock(hello, address)], now, stale_s)[0]


def _note_version(agent: Agent, knock: Knock) -> None:
    version, driver = knock.hello["agent"], knock.hello["driver"]
    if (agent.version, agent.driver) != (version, driver):
        Agent.objects.filter(pk=agent.pk).update(version=version, driver=driver)


def _session(agent: Agent, admission: Admission) -> Session:
    return Session(
        agent.node_id,
        agent.node.public_id,
        agent.node.name,
        agent.session,
        admission.credential,
        agent.last_report_at,
    )


def close_session(node_id: int, session: int, last_report_at: datetime) -> None:
    """The connection is gone; `last_report_at` is then exact. A newer session is left alone."""
    Agent.objects.filter(node_id=node_id, session=session).update(connected=False, last_report_at=last_report_at)


def hold_session(node_id: int, session: int) -> None:
    """Keeps the session from being replaced until the present transaction ends. Raises StaleSession."""
    check_sessions(ask_sessions([node_id]), {(node_id, session)})


def ask_sessions(node_ids: Collection[int]) -> sql.Asked:
    """For `check_sessions`. Locks their rows on PostgreSQL; SQLite has one writer anyway."""
    these, keys = sql.among("node_id", sorted(node_ids))
    lock = " ORDER BY node_id FOR NO KEY UPDATE" if connection.vendor == "postgresql" else ""
    return sql.ask(f"SELECT node_id, session FROM nodes_agent WHERE {these}{lock}", *keys)  # noqa: S608


def check_sessions(asked: sql.Asked, said: Set[tuple[int, int]]) -> None:
    """Of (node, session). Raises StaleSession."""
    if not said <= set(asked.rows()):
        raise StaleSession("a newer connection of this node has taken over")


def flush_reports(seen: Sequence[tuple[datetime, int, int]]) -> None:
    """Rows of (last report, node id, session): the durable floor of what Valkey knows exactly.

    Never back: the end of a session, which is told by another thread, may have written a later one already.
    """
    adapt = connection.ops.adapt_datetimefield_value
    rows = ", ".join(["(%s, %s, %s)"] * len(seen))
    statement = (
        f"UPDATE nodes_agent SET last_report_at = news.column1 FROM (VALUES {rows}) AS news WHERE"  # noqa: S608
        " nodes_agent.node_id = news.column2 AND nodes_agent.session = news.column3"
        " AND (nodes_agent.last_report_at IS NULL OR nodes_agent.last_report_at < news.column1)"
    )
    values = [value for at, node_id, session in seen for value in (adapt(at), node_id, session)]
    write_at_once("flush_reports", statement, values)


def set_reachable(
    node_ids: Sequence[int], reachable: bool, seen: Mapping[int, datetime | None] = MappingProxyType({})
) -> int:
    """Writes only where it changes; returns how many did. The scheduler sees it by the node's version.

    `seen`: last proofs of life of nodes that fell silent: they are down from then on.
    """
    with transaction.atomic():
        lock_nodes(node_ids)
        changed = Node.objects.filter(pk__in=list(node_ids), reachable=not reachable).update(reachable=reachable)
        if changed:
            remember(clock.now(), nodes=node_ids, since=seen)
            ports.fleet_changed(list(node_ids))
    return changed
