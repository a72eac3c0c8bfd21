"""The outbox: written with the state change, claimed by conditional UPDATE, carried out at least once."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from console.common import bulk, sql
from pool.scheduling.models import NodeCommand, Replica
from pool.scheduling.services.peers import add_peers

RESEND_AFTER = timedelta(seconds=10)
_Kind, _State = NodeCommand.Kind, NodeCommand.State


def new_command(replica: Replica, kind: str, payload: dict[str, Any], epoch: int, now: datetime) -> NodeCommand:
    """An unsaved command; the caller stores it in the transaction of the state change."""
    return bulk.new(
        NodeCommand, node_id=replica.node_id, replica=replica, kind=kind, payload=payload, epoch=epoch, created_at=now
    )


def claim_commands(node_ids: Iterable[int], claim: str, now: datetime, limit: int = 500) -> list[NodeCommand]:
    """Commands of these nodes that now belong to `claim` (a fresh token for each call), oldest first.

    A command that was sent but not confirmed is handed out again after ten seconds. A start is handed out only
    while its replica still waits for it, and says who its peers are.
    """
    nodes = list(node_ids)
    if not nodes:
        return []
    here, keys = sql.among("d.node_id", nodes)
    claimed = _CLAIM(claim, now + RESEND_AFTER, now, now, now, *keys, limit, here=here)
    commands = sorted((command for (command,) in claimed), key=lambda command: int(command.pk))
    add_peers(commands)
    return commands


_CLAIM = sql.Reader(
    "SET state = 'sent', claim = %s, claim_until = %s, sent_at = %s, sends = sends + 1"
    # once more: another gateway may have claimed it since it was found
    " WHERE (c.state = 'pending' OR c.state = 'sent' AND c.claim_until <= %s) AND c.id IN"
    " (SELECT d.id FROM scheduling_nodecommand d JOIN scheduling_replica r ON r.id = d.replica_id"
    " WHERE d.state IN ('pending', 'sent') AND (d.state = 'pending' OR d.claim_until <= %s)"
    " AND (d.kind = 'stop' OR r.state = 'assigned') AND {here} ORDER BY d.id LIMIT %s)",
    change=True,
    c=NodeCommand,
)


def command_done(public_id: str, ok: bool, detail: str, now: datetime, node_id: int | None = None) -> bool:
    """The agent confirmed. False when that was known already, or where the command is not of `node_id`, if given."""
    return bool(ask_done(public_id, ok, detail, now, node_id).rows())


def ask_done(public_id: str, ok: bool, detail: str, now: datetime, node_id: int | None = None) -> sql.Asked:
    """The same, not waited for: a row if it was news."""
    return sql.ask(
        "UPDATE scheduling_nodecommand SET state = %s, done_at = %s, detail = %s WHERE public_id = %s"
        " AND state IN ('pending', 'sent')" + (" AND node_id = %s" if node_id else "") + " RETURNING id",
        str(_State.DONE if ok else _State.FAILED),
        now,
        detail[:300],
        public_id,
        *([node_id] if node_id else []),
    )


def withdraw_start(replica: Replica) -> bool:
    """Takes back a start that no gateway has picked up yet. True: no process can exist."""
    return bool(
        NodeCommand.objects.filter(replica=replica, kind=_Kind.START, state=_State.PENDING).update(
            state=_State.OBSOLETE
        )
    )


def close_commands(replica_ids: Iterable[int], ran: Iterable[int]) -> None:
    """Nothing is left to be done for replicas that have ended.

    News of an end may overtake the confirmation of the start: those of `ran` had a process, so it was carried out.
    """
    of_them, ids = sql.among("replica_id", list(replica_ids))
    carried_out, ran_ids = sql.among("replica_id", list(ran))
    sql.execute(
        f"UPDATE scheduling_nodecommand SET state = CASE WHEN kind = 'start' AND state = 'sent' AND {carried_out}"
        f" THEN 'done' ELSE 'obsolete' END WHERE state IN ('pending', 'sent') AND {of_them}",
        *ran_ids,
        *ids,
    )
