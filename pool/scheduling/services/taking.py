"""The first thing of a placement's transaction: the fence, the locks, and the jobs out of the queue."""

from collections.abc import Collection

from django.db import connection

from console.common import lease, sql
from pool.inventory.services import lock_nodes


def take(lease_name: str, epoch: int, nodes: Collection[int], jobs: Collection[int]) -> sql.Asked:
    """Nodes are locked and the jobs queued -> starting, all of them or (sql.Mismatch) nothing. Inside `sql.joint`.

    The answer: (node, its version before the placement). PostgreSQL does it in one statement, whose answer nobody
    waits for; fence and nodes are subqueries that it settles before it looks for jobs, in the order of locks that all
    writers keep (pool/inventory/services/locks.py).
    """
    if connection.vendor == "postgresql":
        return sql.ask(_TAKE, lease_name, epoch, sorted(nodes), list(jobs), len(jobs))
    if not lease.hold(lease_name, epoch).rows():
        raise sql.Mismatch("this scheduler lost its lease")
    lock_nodes(nodes)
    queued, ids = sql.among("id", jobs)
    sql.exactly(len(jobs), f"{_START} {queued} RETURNING id", *ids)
    touched, ids = sql.among("id", nodes)
    return sql.ask(f"SELECT id, version FROM inventory_node WHERE {touched}", *ids)


def still_queued(jobs: Collection[int]) -> set[int]:
    """Which of these jobs wait: the others were cancelled or taken meanwhile."""
    queued, ids = sql.among("id", jobs)
    return {pk for (pk,) in sql.fetch(f"SELECT id FROM scheduling_job WHERE state = 'queued' AND {queued}", *ids)}


_START = "UPDATE scheduling_job SET state = 'starting', attempt_count = attempt_count + 1 WHERE state = 'queued' AND"
_TAKE = (
    "WITH fence AS MATERIALIZED (SELECT 1 FROM common_lease WHERE name = %s AND epoch = %s FOR SHARE),"
    " held AS MATERIALIZED"
    " (SELECT id, version FROM inventory_node WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE),"
    f" started AS ({_START} (SELECT count(*) FROM fence) = 1 AND (SELECT count(*) FROM held) >= 0"
    " AND id = ANY(%s) RETURNING id)"
    f" SELECT id, version, {sql.unless('(SELECT count(*) FROM started) = %s')} FROM held"
)
