"""Run as a process of its own: meters, or issues an invoice, and dies by SIGKILL at the point named.

argv: what ("meter" or "issue"), the point (see POINTS), how many times it is passed first.
"""

# ruff: noqa: E402 - Django is set up before its models can be imported
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import django

django.setup()

from billing.invoices import services as invoices
from billing.metering import batch
from billing.metering import services as metering
from billing.metering.models import Metered
from console.common.actor import system
from console.tenants.models import Tenant

NOW = datetime(2026, 11, 30, 17, tzinfo=UTC)
left = int(sys.argv[3])


def die() -> None:
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)


def around(owner: Any, name: str, before: bool) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        if before:
            die()
        result = real(*args, **more)
        if not before:
            die()
        return result

    setattr(owner, name, wrapped)


POINTS: dict[str, tuple[Any, str, bool]] = {
    "planned": (batch, "_commit", True),
    "fence advanced": (batch, "advance_fence", False),
    "records written": (batch.bulk, "insert", False),
    "progress written": (Metered.objects, "bulk_create", False),
    "committed": (batch, "_commit", False),
    "records attached": (invoices, "_attach", False),
    "lines written": (invoices, "_write_lines", False),
    "number taken": (invoices, "_next_number", False),
    "issued": (invoices.audit, "record", False),
}

if __name__ == "__main__":
    around(*POINTS[sys.argv[2]])
    if sys.argv[1] == "meter":
        metering.meter_closed(NOW, size=2)
    else:
        tenant = Tenant.objects.get()
        draft = invoices.refresh(system("f"), tenant, date(2026, 11, 1), NOW)
        invoices.issue(system("f"), draft, NOW)
