"""Conditions on labels as people type them: read, refused with what would be right, and shown again as typed."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from pool.scheduling.pages import label_lines

LINES = "zone=a|b\ntier!=spot\nnvlink\n!shared\ngen>3\nage<5"
WISHES = "app=data at rack\n50 * app=web|api, team=x at node"


def test_conditions_read_and_shown_again() -> None:
    found = label_lines.conditions(LINES + "\n\n")
    assert [(each["key"], each["operator"], each.get("values")) for each in found] == [
        ("zone", "In", ["a", "b"]),
        ("tier", "NotIn", ["spot"]),
        ("nvlink", "Exists", None),
        ("shared", "DoesNotExist", None),
        ("gen", "Gt", ["3"]),
        ("age", "Lt", ["5"]),
    ]
    assert label_lines.show_conditions(found) == LINES


def test_neighbours_read_and_shown_again() -> None:
    found = label_lines.neighbours(WISHES)
    assert [(term["level"], term.get("required", True), term.get("weight")) for term in found] == [
        ("rack", True, None),
        ("node", False, 50),
    ]
    assert label_lines.show_neighbours([{"required": True, **term} for term in found]) == WISHES


@pytest.mark.parametrize("line", ["=a", "!zone=a", ">5", "!"])
def test_what_is_no_condition(line: str) -> None:
    with pytest.raises(ValidationError, match="must read"):
        label_lines.conditions(line)


@pytest.mark.parametrize("line", ["app=web at moon", "app=web at island"])
def test_what_is_no_neighbour(line: str) -> None:
    with pytest.raises(ValidationError, match="at one of site, pod, switch, rack, node"):
        label_lines.neighbours(line)


def test_without_a_level_a_node_is_meant() -> None:
    term: dict[str, Any] = label_lines.neighbours("app=web")[0]
    assert term["level"] == "node"
