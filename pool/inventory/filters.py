"""Filters of the node and device lists, read from a URL or an API call."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from console.common.errors import FieldError, InvalidInput
from pool.inventory.models import Device, Node

UNREACHABLE = "unreachable"  # not a stored state: the agent of the node does not answer
RETIRED = "retired"  # not in the node any more: in no list but its own
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Empty or None: not filtered. `min_free_bp`: share free on one card of the node at least, in basis points."""

    site: str = ""
    rack: str = ""
    model: str = ""
    state: str = ""
    text: str = ""
    min_free_bp: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    """As for nodes; `node` is a public id, `mig` is "on" or "off"."""

    site: str = ""
    rack: str = ""
    node: str = ""
    model: str = ""
    state: str = ""
    mig: str = ""
    text: str = ""
    min_free_bp: int | None = None


F = TypeVar("F", NodeFilter, DeviceFilter)
NODE_STATES = (*Node.State.values, UNREACHABLE)
DEVICE_STATES = (*Device.State.values, UNREACHABLE, RETIRED)


def node_filter(params: Mapping[str, str]) -> NodeFilter:
    """From URL parameters; those of other purposes (page, sort) are left alone. Raises InvalidInput."""
    return _read(NodeFilter, params, NODE_STATES)


def device_filter(params: Mapping[str, str]) -> DeviceFilter:
    """From URL parameters, as `node_filter`."""
    return _read(DeviceFilter, params, DEVICE_STATES)


def _read(kind: type[F], params: Mapping[str, str], states: tuple[str, ...]) -> F:
    errors: list[FieldError] = []
    values: dict[str, str | int] = {}
    for column in fields(kind):
        text = params.get(column.name, "").strip()
        if not text:
            continue
        if len(text) > _LONGEST or "\0" in text:
            errors.append(FieldError(column.name, f"must be at most {_LONGEST} characters without NUL"))
        elif column.name == "min_free_bp":
            values[column.name] = _share(text, errors)
        else:
            values[column.name] = text
    for name, allowed in (("state", states), ("mig", ("on", "off"))):
        if name in values and values[name] not in allowed:
            errors.append(FieldError(name, f"{values[name]!r} is not one of {', '.join(allowed)}"))
    if errors:
        raise InvalidInput(errors)
    return kind(**values)  # type: ignore[arg-type]


def _share(text: str, errors: list[FieldError]) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 10_000:
        return int(text)
    errors.append(FieldError("min_free_bp", f"{text[:20]!r} is not a whole number from 0 to 10000 (a whole card)"))
    return 0
