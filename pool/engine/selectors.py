"""Selecting by labels: the operators that the field knows, on plain key = value pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

Labels = tuple[tuple[str, str], ...]

OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label. ``values``: one or more for In and NotIn, none for Exists and
    DoesNotExist, one whole number for Gt and Lt (a label that is no number never matches)."""

    key: str
    operator: str = "In"
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.key:
            raise ValueError("gpu_selector: a condition needs the key of a label")
        if self.operator not in OPERATORS:
            raise ValueError(f"gpu_selector: {self.operator!r} is not one of {', '.join(OPERATORS)}")
        least, most = {"In": (1, None), "NotIn": (1, None), "Gt": (1, 1), "Lt": (1, 1)}.get(self.operator, (0, 0))
        if len(self.values) < least or (most is not None and len(self.values) > most):
            wanted = "none" if most == 0 else "exactly one" if most else "at least one"
            given = len(self.values)
            raise ValueError(f"gpu_selector: {self.operator} on {self.key} takes {wanted} value, not {given}")
        if self.operator in ("Gt", "Lt") and _number(self.values[0]) is None:
            given_text = self.values[0]
            raise ValueError(f"gpu_selector: {self.operator} on {self.key} needs a whole number, not {given_text!r}")

    def __str__(self) -> str:
        return " ".join([self.key, self.operator, *([",".join(self.values)] if self.values else [])])

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet the condition. NotIn holds where the label is missing."""
        value = labels.get(self.key)
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator == "NotIn":
            return value not in self.values
        if value is None:
            return False
        if self.operator == "In":
            return value in self.values
        number, bound = _number(value), _number(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound


Selector = tuple[Requirement, ...]


def matches(selector: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether every condition holds; an empty selector takes everything."""
    return all(requirement.holds(labels) for requirement in selector)


def as_labels(field: str, labels: Iterable[tuple[str, str]]) -> None:
    """ValueError, with the field named, for labels that are not sorted pairs of unique keys."""
    keys = [key for key, _ in labels]
    if any(not isinstance(key, str) or not key for key in keys) or sorted(set(keys)) != keys:
        raise ValueError(f"{field}: give each label once, sorted by its key")


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
