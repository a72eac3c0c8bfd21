"""One order of locks for all that changes what nodes hold."""

from collections.abc import Iterable

from django.db import connection

from console.common import sql


def lock_nodes(node_ids: Iterable[int]) -> None:
    """Keeps other writers from these nodes and their devices until the transaction ends.

    Call it first of all in a transaction that touches devices or allocations of more than one node, or a device
    before its node: two transactions that each wait for what the other holds cost a second and one of them on
    PostgreSQL. Readers and foreign keys are not held up. SQLite has one writer anyway.
    """
    ids = sorted(set(node_ids))
    if ids and connection.vendor == "postgresql":
        sql.ask("SELECT id FROM inventory_node WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", ids)
