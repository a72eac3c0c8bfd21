"""Rows read by a statement that is written once are those that the ORM reads, on both databases."""

import pytest
from django.db import connection

from console.common import clock, sql
from console.common.models import IdempotencyKey
from console.tenants.models import Project, Tenant
from tests import factories

pytestmark = pytest.mark.django_db

BOTH = sql.Reader("JOIN tenants_project p ON p.tenant_id = t.id WHERE t.slug = %s ORDER BY p.id", t=Tenant, p=Project)
LIST = sql.Reader("WHERE t.id IN ({marks}) ORDER BY t.id", t=Tenant)
KEYS = sql.Reader("WHERE k.key = %s", k=IdempotencyKey)


def plain(row: object) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if not name.startswith("_")}


def test_instances_are_those_of_the_orm() -> None:
    tenant = factories.make_tenant("read", limit_share_bp=5)
    more = Project.objects.create(tenant=tenant, slug="more", name="more")
    rows = BOTH("read")
    assert [project.slug for _, project in rows][-1] == "more"
    assert plain(rows[-1][0]) == plain(Tenant.objects.get(pk=tenant.pk))
    assert plain(rows[-1][1]) == plain(Project.objects.get(pk=more.pk))
    assert rows[-1][0].created_at.tzinfo is not None
    rows[-1][0].name = "changed"
    rows[-1][0].save()
    assert Tenant.objects.get(pk=tenant.pk).name == "changed"


def test_json_bytes_and_null_are_converted() -> None:
    IdempotencyKey.objects.create(caller="c", key="k", fingerprint="f", expires_at=clock.now(), headers={"a": "b"})
    found = KEYS.first("k")
    assert found is not None
    assert plain(found[0]) == plain(IdempotencyKey.objects.get())
    assert (found[0].headers, found[0].status) == ({"a": "b"}, None)
    assert KEYS.first("other") is None


def test_a_list_of_values_is_bound_not_written() -> None:
    ids = [factories.make_tenant(f"t{number}").pk for number in range(3)]
    assert [tenant.pk for (tenant,) in LIST(*ids[1:], marks=sql.marks(ids[1:]))] == ids[1:]
    nobody = sql.Reader("WHERE t.slug = %s", t=Tenant)
    assert nobody("' OR '1'='1") == []


def test_times_are_adapted_and_rows_counted() -> None:
    tenant = factories.make_tenant("timed")
    at = clock.now()
    statement = "UPDATE tenants_tenant SET created_at = %s WHERE id = %s"
    assert sql.execute(statement, at, tenant.pk) == 1
    assert sql.execute(statement, at, -1) == 0
    tenant.refresh_from_db()
    assert tenant.created_at == at
    assert sql.first("SELECT slug FROM tenants_tenant WHERE id = %s", tenant.pk) == ("timed",)
    assert connection.in_atomic_block
