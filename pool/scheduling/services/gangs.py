"""The locks that an end needs: a member that fails or is lost may stop its gang, and so touch every node of it."""

from collections.abc import Collection

from django.db import connection

from console.common import sql
from pool.scheduling.states import REPLICA_FINAL

_FINAL = [str(state) for state in REPLICA_FINAL]
_LIVE = "g.state <> ALL(%s) AND g.attempt_id = ANY(%s)"
_OF = "g.state <> ALL(%s) AND g.attempt_id IN (SELECT attempt_id FROM scheduling_replica WHERE public_id = ANY(%s))"
_LOCK = (
    "SELECT id FROM inventory_node WHERE id = ANY(%s::bigint[] ||"
    " ARRAY(SELECT g.node_id FROM scheduling_replica g WHERE {of})) ORDER BY id FOR NO KEY UPDATE"
)


def lock_attempts(node_ids: Collection[int], attempt_ids: Collection[int]) -> None:
    """As `lock_nodes`, of these nodes and of all that live replicas of these attempts are on: in one order."""
    _lock(_LIVE, node_ids, list(attempt_ids))


def lock_gangs(node_ids: Collection[int], replicas: Collection[str]) -> None:
    """The same for the attempts of replicas by public id, before these have been read."""
    _lock(_OF, node_ids, list(replicas))


def _lock(of: str, node_ids: Collection[int], keys: list[int] | list[str]) -> None:
    if connection.vendor == "postgresql":
        sql.ask(_LOCK.format(of=of), sorted(set(node_ids)), _FINAL, keys)
