"""Web 13: a bulk change leaves one audit entry an object, with actor, request and before/after; and nothing writes
to the database but the services."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from console.audit.models import AuditEntry
from console.audit.services import Entry, record_many
from console.tenants.queries import actor_for_user
from pool.inventory import services as inventory
from tests import factories
from tests.conftest import Actors

ROOT = Path(settings.BASE_DIR)
_WRITES = {"bulk_create", "bulk_update", "update_or_create", "get_or_create", "force_insert", "raw"}
_ROW_WRITES = {"update", "delete", "create"}
# folders and files whose work is to write, each with its reason
WRITERS = {
    "services": "every write of a room",
    "migrations": "the schema and its data",
    "management": "commands: they call services; `prepare` sets the first run up",
    "console/audit/services.py": "the log itself",
    "console/common/lease.py": "leases: claims by conditional UPDATE, no change that a person made",
    "console/common/idempotency.py": "stored answers: no change that a person made",
    "console/common/tasks.py": "sessions that have expired: no change that a person made",
    "console/embedded": "the first tenant and operator of a new installation, audited",
    "console/beat.py": "when a timer last ran",
    "pool/nodes/heatmap/builder.py": "a sample of the pool a minute: telemetry, no change",
    "billing/metering/batch.py": "the commit of metering's services: records derived from audited holds",
    "console/demo": "the demo's own life, through services",
}


class _Nothing:
    """A request that carries an id."""

    request_id = "req-12345678"
    META = {"REMOTE_ADDR": "10.0.0.9"}


def test_fifty_nodes_leave_fifty_entries(actors: Actors) -> None:
    operator = actor_for_user(actors.users["operator"], _Nothing())  # type: ignore[arg-type]
    nodes = [factories.make_node(devices=1) for _ in range(50)]
    for node in nodes:
        inventory.set_node_state(operator, node, "cordoned", "maintenance")
    entries = AuditEntry.objects.filter(action="node.state")
    assert {entry.object_id for entry in entries} == {node.public_id for node in nodes}
    for entry in entries:
        assert (entry.actor_label, entry.request_id, entry.address) == (
            "operator@example.test",
            "req-12345678",
            "10.0.0.9",
        )
        assert '"before":{"state":"ready"}' in entry.text
        assert '"state":"cordoned"' in entry.text


def test_one_call_for_many_is_one_entry_each_in_few_queries(
    actors: Actors, django_assert_max_num_queries: object
) -> None:
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        record_many(actors.operator, [Entry("x.change", "x", f"x{number}", before={"a": 1}) for number in range(50)])
    assert AuditEntry.objects.filter(action="x.change").values("object_id").distinct().count() == 50


@pytest.mark.parametrize("package", ["console", "pool", "billing"])
def test_only_writers_write(package: str) -> None:
    """A write outside the services would be a change without an entry."""
    found = sorted(set(_writes(ROOT / package)))
    assert found == [], "move it into a service that records it, or name the reason in tests/conformance/test_web_13.py"


def _writes(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if not _may_write(name):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_write(node.func):
                    yield f"{name}:{node.lineno} .{node.func.attr}("


def _may_write(name: str) -> bool:
    parts = name.split("/")
    stems = {part.removesuffix(".py") for part in parts}
    return bool(stems & WRITERS.keys()) or any(name == key or name.startswith(key + "/") for key in WRITERS)


def _is_write(call: ast.Attribute) -> bool:
    if call.attr in _WRITES:
        return True
    return call.attr in _ROW_WRITES and _on_rows(call.value)


def _on_rows(value: ast.expr) -> bool:
    """`Model.objects.update(`, `Model.objects.filter(...).delete(`: a chain that begins at a manager."""
    while isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(value, ast.Attribute) and value.attr in {"objects", "_default_manager"}:
            return True
        value = value.func if isinstance(value, ast.Call) else value.value
    return False
