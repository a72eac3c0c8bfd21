"""Writers that need several nodes take them in one order, or two that wait for each other cost a second and one."""

import threading

import pytest
from django.db import connection, transaction

from pool.inventory.services import lock_nodes
from tests import factories
from tests.scheduling.concurrency import run, session

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer"),
]
LOCK = "SELECT id FROM inventory_node WHERE id = %s FOR NO KEY UPDATE NOWAIT"


def test_who_waits_for_a_node_holds_none_that_comes_after_it():
    first, second = sorted([factories.make_node().pk, factories.make_node().pk])
    waits = threading.Event()

    def want_both() -> None:
        try:
            with transaction.atomic():
                waits.set()
                lock_nodes([second, first])
        finally:
            connection.close()

    with session() as other:
        run(other, "BEGIN")
        run(other, LOCK, (first,))
        thread = threading.Thread(target=want_both)
        thread.start()
        waits.wait(120)
        blocked(other)
        run(other, LOCK, (second,))  # at once: the waiting one does not hold it
        run(other, "COMMIT")
        thread.join(120)
        assert not thread.is_alive()


def blocked(raw) -> None:
    """Until somebody waits for what this session holds."""
    for _ in range(10_000):
        if raw.execute("SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))").fetchone():
            return
    raise AssertionError("nobody waits")
