"""Fleet files, and live work on real rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.common import clock
from console.tenants.models import Tenant
from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation, Attempt, Replica
from tests import factories

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "docs" / "examples" / "fleet.yaml"


@pytest.fixture
def fleet_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes text to a YAML file and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "fleet.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def hold(node: Node, device: Device | None, tenant: Tenant, **more: Any) -> Allocation:
    """A live allocation through the real rows and triggers; half a card by vgpu unless said otherwise."""
    now = clock.now()
    job = factories.make_job(tenant)
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=now)
    replica = Replica.objects.create(attempt=attempt, job=job, role=job.roles.get(), rank=0, node=node, assigned_at=now)
    values: dict[str, Any] = {
        "isolation": "vgpu" if device else "host",
        "share_bp": 5000 if device else 0,
        "memory_mib": 1000 if device else 0,
        "cpu_milli": 4000,
        "host_memory_mib": 8192,
        **more,
    }
    return Allocation.objects.create(
        replica=replica, job=job, tenant=tenant, node=node, device=device, epoch=1, created_at=now, **values
    )
