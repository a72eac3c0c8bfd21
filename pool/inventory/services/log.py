"""Audit entries of this room, in one shape."""

from datetime import datetime
from typing import Any

from django.db import models

from console.audit.services import Entry, name_of
from pool.inventory.services.compare import NodePlan


def entry(
    action: str,
    subject: models.Model | tuple[str, str],
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    result: str = "ok",
) -> Entry:
    """`subject`: a row, or (type, id)."""
    kind, ident = subject if isinstance(subject, tuple) else name_of(subject)
    return Entry(action=action, object_type=kind, object_id=ident, before=before, after=after, result=result)


def node_entry(plan: NodePlan, created: bool) -> Entry:
    """What one plan did to its node and the cards in it."""
    assert plan.node is not None
    draft = plan.draft
    if created:
        facts: dict[str, Any] = {"name": draft.name, "site": draft.site, "devices": len(plan.new_devices)}
        return entry("node.create", plan.node, None, {**facts, "cpu_milli": draft.cpu_milli})
    before: dict[str, Any] = {name: _plain(old) for name, (old, _) in plan.changes.items()}
    after: dict[str, Any] = {name: _plain(new) for name, (_, new) in plan.changes.items()}
    for device in plan.devices:
        for name, (old, new) in device.changes.items():
            before[f"devices[{device.device.index}].{name}"] = _plain(old)
            after[f"devices[{device.device.index}].{name}"] = _plain(new)
    if plan.new_devices:
        after["devices added"] = [device.index for device in plan.new_devices]
    if plan.removed:
        after["devices gone"] = [device.index for device in plan.removed]
    if plan.links_changed:
        after["links"] = len(plan.draft.links or ())
    return entry("node.update", plan.node, before, {"name": draft.name, **after})


def _plain(value: Any) -> Any:
    if isinstance(value, models.Model):
        return str(getattr(value, "name", value.pk))
    return value.isoformat() if isinstance(value, datetime) else value
