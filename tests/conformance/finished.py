"""A long history of finished jobs, made by the database itself in little time, and what it costs to look at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from console.tenants.models import Tenant
from pool.inventory.models import Node
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


_LIVES = """
INSERT INTO scheduling_attempt (job_id, number, epoch, placed_at, outcome)
    SELECT j.id, 1, 1, {now}, '' FROM scheduling_job j WHERE {new};
INSERT INTO scheduling_jobevent (job_id, at, kind, params, actor_label)
    SELECT j.id, {now}, 'finished', '{{"state": "succeeded"}}', '' FROM scheduling_job j WHERE {new};
INSERT INTO scheduling_jobrole (job_id, name, position, replicas, min_replicas, max_replicas, devices, share_bp,
        memory_mib, mig_profile, isolation, models_allowed, cpu_milli, host_memory_mib, bandwidth_sensitive, wishes)
    SELECT j.id, 'past', 1, 1, 1, 1, 0, 0, '[]', '', 'auto', '[]', 0, 0, {no}, '{{}}' FROM scheduling_job j WHERE {new};
INSERT INTO scheduling_replica (public_id, attempt_id, job_id, role_id, rank, node_id, state, exit_detail, assigned_at,
        ended_at)
    SELECT 'rep_past' || j.id, a.id, j.id, r.id, 0, {node}, 'succeeded', '', {now}, {now} FROM scheduling_job j
    JOIN scheduling_attempt a ON a.job_id = j.id JOIN scheduling_jobrole r ON r.job_id = j.id AND r.name = 'past'
    WHERE {new};
INSERT INTO scheduling_allocation (public_id, replica_id, job_id, tenant_id, node_id, isolation, share_bp, memory_mib,
        mig_profile, mig_start, mig_size, cpu_milli, host_memory_mib, epoch, created_at, released_at)
    SELECT 'alc_past' || j.id, r.id, j.id, j.tenant_id, {node}, 'host', 0, 0, '', -1, 0, 0, 0, 1, {now}, {now}
    FROM scheduling_job j JOIN scheduling_replica r ON r.job_id = j.id WHERE {new}
"""


def lived(above: int) -> int:
    """Jobs with a key above this have run: attempt, event, replica and allocation of each. The newest key."""
    node = Node.objects.filter(name="lived-past").first() or factories.make_node("lived-past", devices=0)
    sqlite = connection.vendor == "sqlite"
    now, no = ("datetime('now')", "0") if sqlite else ("now()", "false")
    with connection.cursor() as cursor:
        for statement in _LIVES.format(now=now, no=no, node=node.pk, new=f"j.id > {above}").split(";"):
            cursor.execute(statement)
        if not sqlite:
            cursor.execute("ANALYZE")
    return Job.objects.latest("pk").pk


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
