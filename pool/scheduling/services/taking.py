"""The first thing of a placement's transaction: the fence, the locks, and the jobs out of the queue."""

from collections.abc import Collection

from console.common import lease, sql
from console.common.joint import Joint
from pool.inventory.services import lock_nodes


def take(within: Joint, lease_name: str, epoch: int, nodes: Collection[int], jobs: Collection[int]) -> None:
    """Nodes are locked and the jobs queued -> starting, all of them or (sql.Mismatch) nothing.

    The transaction answers with (node, its version before the placement). On PostgreSQL fence and nodes are settled
    before it looks for jobs, in the order of locks that all writers keep (pool/inventory/services/locks.py).
    """
    if within.gathers:
        within.part("fence", _FENCE, lease_name, epoch)
        within.part("held", _HELD, sorted(nodes))
        within.part("started", _STARTED, list(jobs))
        within.check("(SELECT count(*) FROM started) = %s", len(jobs))
        within.answer("held.id, held.version", "held")
        return
    if not lease.hold(lease_name, epoch).rows():
        raise sql.Mismatch("this scheduler lost its lease")
    lock_nodes(nodes)
    queued, ids = sql.among("id", jobs)
    within.change(f"{_START} {queued} RETURNING id", *ids, must=len(jobs))
    touched, ids = sql.among("id", nodes)
    within.tell(sql.fetch(f"SELECT id, version FROM inventory_node WHERE {touched}", *ids))


def still_queued(jobs: Collection[int]) -> set[int]:
    """Which of these jobs wait: the others were cancelled or taken meanwhile."""
    queued, ids = sql.among("id", jobs)
    return {pk for (pk,) in sql.fetch(f"SELECT id FROM scheduling_job WHERE state = 'queued' AND {queued}", *ids)}


_START = "UPDATE scheduling_job SET state = 'starting', attempt_count = attempt_count + 1 WHERE state = 'queued' AND"
_FENCE = "SELECT 1 FROM common_lease WHERE name = %s AND epoch = %s FOR SHARE"
_HELD = "SELECT id, version FROM inventory_node WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
_STARTED = (
    f"{_START} (SELECT count(*) FROM fence) = 1 AND (SELECT count(*) FROM held) >= 0 AND id = ANY(%s) RETURNING id"
)
