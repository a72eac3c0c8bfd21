"""Conditions on labels as people type them, one a line, and back: "zone=a", "tier=x|y", "gen>3", "app=web at rack"."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from pool.engine.affinity import AT

Condition = dict[str, Any]

_NUMBERS = {">": "Gt", "<": "Lt"}
_LINE = re.compile(r"\s*(!?)\s*([^=!<>|]+?)\s*(?:(!=|=|>|<)\s*(.*?))?\s*\Z")
_TERM = re.compile(r"\s*(?:(\d{1,3})\s*[*×]\s*)?(.+?)(?:\s+at\s+(\w+))?\s*\Z")


def conditions(text: str) -> list[Condition]:
    """One condition a line; all of them must hold."""
    return [_condition(line) for line in _written(text)]


def neighbours(text: str) -> list[dict[str, Any]]:
    """One wish a line: "app=web at rack" must hold, "50 * app=web at rack" is a preference with a weight.

    Conditions of one wish are joined by commas.
    """
    return [_term(line) for line in _written(text)]


def show_conditions(found: Sequence[Mapping[str, Any]]) -> str:
    """What `conditions` reads again."""
    return "\n".join(_show(each) for each in found)


def show_neighbours(found: Sequence[Mapping[str, Any]]) -> str:
    """What `neighbours` reads again."""
    return "\n".join(say_neighbour(term) for term in found)


def say_neighbour(term: Mapping[str, Any]) -> str:
    """One wish as a line."""
    weight = "" if term["required"] else f"{term.get('weight', 1)} * "
    return f"{weight}{', '.join(_show(each) for each in term['job_labels'])} at {term['level']}"


def _written(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _condition(line: str) -> Condition:
    match = _LINE.match(line)
    if match is None or (match[1] and match[3]):
        raise ValidationError(
            _("“%(line)s” must read name=value, name!=value, name, !name, name>5 or name<5.") % {"line": line}
        )
    absent, key, sign, value = match.groups()
    if not sign:
        return {"key": key, "operator": "DoesNotExist" if absent else "Exists"}
    if sign in _NUMBERS:
        return {"key": key, "operator": _NUMBERS[sign], "values": [value]}
    values = [part.strip() for part in value.split("|")]
    return {"key": key, "operator": "In" if sign == "=" else "NotIn", "values": values}


def _term(line: str) -> dict[str, Any]:
    match = _TERM.match(line)
    level = match[3] or "node" if match else ""
    if match is None or level not in AT:
        text = _("“%(line)s” must read name=value at one of %(levels)s.")
        raise ValidationError(text % {"line": line, "levels": ", ".join(AT)})
    term: dict[str, Any] = {"job_labels": [_condition(part) for part in match[2].split(",")], "level": level}
    if match[1]:
        term |= {"required": False, "weight": int(match[1])}
    return term


def _show(condition: Mapping[str, Any]) -> str:
    key, operator = str(condition["key"]), str(condition["operator"])
    values = "|".join(condition.get("values", ()))
    return {
        "In": f"{key}={values}",
        "NotIn": f"{key}!={values}",
        "Exists": key,
        "DoesNotExist": f"!{key}",
        "Gt": f"{key}>{values}",
        "Lt": f"{key}<{values}",
    }[operator]
