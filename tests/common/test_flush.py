"""What a test committed is gone before the next one, append-only tables and all."""

import threading

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.utils import DatabaseError

from console.audit import services as audit
from console.audit.models import AuditEntry
from console.common.actor import system
from console.tenants.models import Tenant
from tests import factories, flush

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> set[str]:
    """The tables that hold anything but what migrations left there."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor)) - flush.KEPT - {"django_migrations"}
        for name in sorted(names):
            cursor.execute(f'SELECT 1 FROM "{name}" LIMIT 1')
            if cursor.fetchone() is None:
                names.discard(name)
    return names


def test_nothing_is_left_and_append_only_tables_refuse_again() -> None:
    kinds = ContentType.objects.count()
    for _ in range(2):
        factories.make_job(factories.make_tenant())
        factories.make_node(devices=2)
        audit.record(system("test"), "x.change", ("x", "1"))
        assert rows() >= {"audit_auditentry", "scheduling_job", "inventory_device"}
        with pytest.raises(DatabaseError), transaction.atomic():
            AuditEntry.objects.all().delete()
        flush.empty()
        audit.forget_heads()
        assert rows() == set()
    assert ContentType.objects.count() == kinds > 0


def test_who_has_not_committed_yet_is_waited_for() -> None:
    wrote, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            factories.make_tenant("late")
            wrote.set()
            go_on.wait(30)
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert wrote.wait(30)
    threading.Timer(0.05, go_on.set).start()
    flush.empty()
    thread.join()
    assert not Tenant.objects.exists()
