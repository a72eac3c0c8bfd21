"""Whom a member of a gang has beside it: said when its start is sent, and stored nowhere.

In each member's command it would grow with the square of the gang: 280 KB for 64 processes.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from console.common import sql
from pool.scheduling.models import NodeCommand

MOST_PEERS = 64  # beyond this each member is told only of rank 0, or what is sent grows with the square

_GANGS = (
    "SELECT r.attempt_id, r.id, r.rank, n.name, n.labels FROM scheduling_replica r"
    " JOIN inventory_node n ON n.id = r.node_id WHERE r.attempt_id IN"
    " (SELECT attempt_id FROM scheduling_replica WHERE id IN ({marks})) ORDER BY r.attempt_id, r.rank"
)


def add_peers(commands: Sequence[NodeCommand]) -> None:
    """Sets `peers` ({"rank", "node", "address"} of every member) in the payload of each start. One query, or none."""
    starts = [command for command in commands if command.kind == NodeCommand.Kind.START]
    gangs = [command for command in starts if command.payload["world_size"] > 1]
    peers = _peers([command.replica_id for command in gangs]) if gangs else {}
    for command in starts:
        command.payload["peers"] = peers.get(command.replica_id, [])


def _peers(replica_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """By replica; members of one attempt share the list."""
    gangs: dict[int, list[dict[str, Any]]] = {}
    attempts: dict[int, int] = {}
    for attempt, replica, rank, node, labels in sql.fetch(_GANGS.format(marks=sql.marks(replica_ids)), *replica_ids):
        attempts[replica] = attempt
        # where peers reach the node: its label, or its name, which the site resolves
        address = str(orjson.loads(labels).get("address") or node)
        gangs.setdefault(attempt, []).append({"rank": rank, "node": node, "address": address})
    told = {attempt: gang if len(gang) <= MOST_PEERS else gang[:1] for attempt, gang in gangs.items()}
    return {replica: told[attempts[replica]] for replica in replica_ids}
