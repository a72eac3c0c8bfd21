"""A long history of finished jobs, made by the database itself in little time, and what it costs to look at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from console.tenants.models import Tenant
from pool.scheduling.models import Job, JobState
from tests import factories

OWN = {"id", "public_id", "name"}


def finish(tenant: Tenant, first: int, last: int) -> None:
    """Finished jobs of the tenant, job-`first` to job-`last`: copies of one. No two calls may name the same number."""
    one = factories.make_job(tenant, name=f"past-{first}", state=JobState.SUCCEEDED)
    columns = ", ".join(field.column for field in Job._meta.concrete_fields if field.column not in OWN)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO scheduling_job (public_id, name, {columns})"
            f" WITH RECURSIVE n(i) AS (SELECT CAST(%s AS integer) UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            f" SELECT 'job_past' || n.i, 'job-' || n.i, {columns} FROM n, scheduling_job WHERE scheduling_job.id = %s",
            [first, last, one.pk],
        )
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE scheduling_job")  # as the server itself does a minute later


@contextmanager
def work() -> Iterator[Callable[[], float]]:
    """Steps of SQLite's machine, in hundreds; rows that PostgreSQL fetched from tables."""
    if connection.vendor != "sqlite":
        began = _fetched()
        yield lambda: _fetched() - began
        return
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, 100)
    try:
        yield lambda: steps
    finally:
        connection.connection.set_progress_handler(None, 0)


def _fetched() -> int:
    """By this transaction so far. Rows of the test are its own, so that none is answered from an index alone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(seq_tup_read) + sum(coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")
        return int(cursor.fetchone()[0])
