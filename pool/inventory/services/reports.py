"""Reads an agent's report of its hardware. An agent is a stranger: everything that is used is checked.

Fields that are not known here are left alone: an agent may be newer than the server.
"""

from collections.abc import Mapping
from typing import Any

from console.common.errors import FieldError, InvalidInput
from pool.inventory.importing import DeviceDraft, NodeDraft
from pool.inventory.importing.fields import NAME, NAME_RULE
from pool.inventory.known_models import recognise

_MOST_DEVICES = 64


def read_report(report: Mapping[str, Any], site: str) -> NodeDraft:
    """The draft of a node. Raises InvalidInput with every bad field."""
    errors: list[FieldError] = []
    name = _text(report, "name", "", errors)
    if not NAME.fullmatch(name):
        errors.append(FieldError("name", f"{name[:80]!r} {NAME_RULE}"))
    draft = NodeDraft(
        name=name,
        site=site,
        cpu_milli=_whole(report, "cpu_milli", "", errors, 1, 2**31 - 1),
        memory_mib=_whole(report, "memory_mib", "", errors, 1, 2**40),
        pod=_place(report, "pod", errors),
        switch=_place(report, "switch", errors),
        rack=_place(report, "rack", errors),
        labels=_labels(report, errors),
        devices=_devices(report, errors),
    )
    if errors:
        raise InvalidInput(errors)
    return draft


def _devices(report: Mapping[str, Any], errors: list[FieldError]) -> tuple[DeviceDraft, ...]:
    given = report.get("devices", [])
    if not isinstance(given, list) or len(given) > _MOST_DEVICES:
        errors.append(FieldError("devices", f"must be a list of at most {_MOST_DEVICES} devices"))
        return ()
    devices: list[DeviceDraft] = []
    for number, item in enumerate(given):
        if isinstance(item, Mapping):
            devices.append(_device(item, f"devices[{number}].", errors))
        else:
            errors.append(FieldError(f"devices[{number}]", "must be an object"))
    for name in ("index", "uuid"):
        values = [getattr(device, name) for device in devices]
        if len(set(values)) != len(values):
            errors.append(FieldError(f"devices[].{name}", "is the same for two devices"))
    return tuple(devices)


def _device(item: Mapping[str, Any], path: str, errors: list[FieldError]) -> DeviceDraft:
    memory = _whole(item, "memory_mib", path, errors, 1, 2**31 - 1)
    product = _text(item, "model", path, errors)[:64]
    model = recognise(product, memory)
    return DeviceDraft(
        index=_whole(item, "index", path, errors, 0, 32767),
        model=model.name if model else product,
        memory_mib=memory,
        uuid=_text(item, "uuid", path, errors)[:80],
        mig_enabled=item.get("mig_enabled") is True,
        nvlink_island=_whole(item, "nvlink_island", path, errors, -1, 32767, default=-1),
        numa_node=_whole(item, "numa_node", path, errors, -1, 32767, default=-1),
        pci_address=str(item.get("pci_address") or "")[:32],
        vendor=str(item.get("vendor") or "")[:32],
    )


def _place(report: Mapping[str, Any], name: str, errors: list[FieldError]) -> str | None:
    value = report.get(name) or None
    if value is not None and not (isinstance(value, str) and NAME.fullmatch(value)):
        errors.append(FieldError(name, f"{str(value)[:80]!r} {NAME_RULE}"))
    return value


def _labels(report: Mapping[str, Any], errors: list[FieldError]) -> dict[str, str] | None:
    value = report.get("labels") or {}
    good = isinstance(value, Mapping) and len(value) <= 100
    if not good or not all(isinstance(k, str) and isinstance(v, str) and len(k + v) <= 400 for k, v in value.items()):
        errors.append(FieldError("labels", "must be at most 100 pairs of short texts"))
        return None
    return dict(value)


def _text(item: Mapping[str, Any], name: str, path: str, errors: list[FieldError]) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        errors.append(FieldError(path + name, "must be text and not empty"))
        return ""
    return value


def _whole(
    item: Mapping[str, Any],
    name: str,
    path: str,
    errors: list[FieldError],
    low: int,
    high: int,
    default: int | None = None,
) -> int:
    value = item.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        errors.append(FieldError(path + name, f"{str(value)[:40]!r} is not a whole number from {low} to {high}"))
        return max(low, 0)
    return value
