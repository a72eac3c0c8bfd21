"""Reading the YAML inventory: what it means, and line and field of everything that is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from console.common.errors import InvalidInput
from pool.inventory.importing import read_fleet
from tests.inventory.conftest import EXAMPLE

GOOD = """weir: 1
sites:
  - name: s1
    racks: [{name: r1}]
    nodes:
      - name: n1
        rack: r1
        cpu_milli: 1000
        memory_mib: 2048
        devices:
          - {model: T4, count: 2}
"""


def problems_of(path: Path) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        read_fleet(path)
    return {error.field: error.message for error in caught.value.errors}


def test_the_example_of_the_documentation() -> None:
    draft = read_fleet(EXAMPLE)
    names = [node.name for node in draft.nodes]
    assert names == ["sz-r01-n01", "sz-r01-n02", "sz-r01-n03", "de-n01"]
    first, third = draft.nodes[0], draft.nodes[2]
    assert (first.rack, first.switch, first.pod) == ("r01", "leaf-1", "pod-1")
    assert [device.index for device in first.devices or ()] == list(range(8))
    assert len(first.links or ()) == 28
    assert [device.mig_enabled for device in third.devices or ()] == [True, None]
    assert draft.models[0].name == "X1-96GB"
    assert {node.site for node in draft.nodes} == {"cn-sz-1", "eu-de-1"}


@pytest.mark.parametrize(
    ("old", "new", "field", "message"),
    [
        ("cpu_milli: 1000", "cpu_milli: -1", "line 8: sites[0].nodes[0].cpu_milli", "whole number from 1"),
        ("cpu_milli: 1000", "cpu_milli: 1e400", "line 8: sites[0].nodes[0].cpu_milli", "whole number"),
        ("cpu_milli: 1000", "cpu_milli: .nan", "line 8: sites[0].nodes[0].cpu_milli", "whole number"),
        ("cpu_milli: 1000", "cpu_milli: 0x10", "line 8: sites[0].nodes[0].cpu_milli", "whole number"),
        ("cpu_milli: 1000", "cpu_milli: '1000'", "line 8: sites[0].nodes[0].cpu_milli", "whole number"),
        ("cpu_milli: 1000", "cpu_milli: [1]", "line 8: sites[0].nodes[0].cpu_milli", "a list"),
        ("cpu_milli: 1000", "cpu: 1000", "line 8: sites[0].nodes[0].cpu", "is not a field here"),
        ("        cpu_milli: 1000\n", "", "line 6: sites[0].nodes[0].cpu_milli", "is missing"),
        ("rack: r1", "rack: r9", "line 7: sites[0].nodes[0].rack", "'r9' is no rack of site s1"),
        ("name: n1", "name: 7", "line 6: sites[0].nodes[0].name", "write it in quotes"),
        ("name: n1", "name: 'n 1'", "line 6: sites[0].nodes[0].name", "must be 1 to 64 letters"),
        ("name: n1", "name: n[9-1]", "line 6: sites[0].nodes[0].name", "runs backwards"),
        ("name: n1", "name: n[1-999999]", "line 6: sites[0].nodes[0].name", "more than 10000"),
        ("model: T4", "model: T5", "line 11: sites[0].nodes[0].devices[0].model", "not a known model"),
        ("count: 2", "count: 65", "line 11: sites[0].nodes[0].devices[0].count", "from 1 to 64"),
        ("count: 2", "count: 2, uuid: GPU-1", "line 11: sites[0].nodes[0].devices[0].uuid", "several"),
        ("count: 2", "mig_enabled: maybe", "line 11: sites[0].nodes[0].devices[0].mig_enabled", "true nor false"),
        ("weir: 1", "weir: 2", "line 1: weir", "from 1 to 1"),
        ("weir: 1", "weir: 1\nweir: 1", "line 2: weir", "written twice"),
        ("weir: 1", "weir: 1\nextra: {}", "line 2: extra", "is not a field here"),
        ("racks: [{name: r1}]", "racks: [{name: r1}, {name: r1}]", "line 4: sites[0].racks[1].name", "twice"),
        ("racks: [{name: r1}]", "racks: {name: r1}", "line 4: sites[0].racks", "must be a list"),
        ("- name: s1", "- name: s1\n    residency: china", "line 4: sites[0].residency", "country code"),
    ],
)
def test_bad_values_are_named_by_line_and_field(
    fleet_file: Callable[[str], Path], old: str, new: str, field: str, message: str
) -> None:
    assert old in GOOD
    problems = problems_of(fleet_file(GOOD.replace(old, new)))
    assert message in problems[field]


def test_all_problems_are_told_at_once(fleet_file: Callable[[str], Path]) -> None:
    text = GOOD.replace("cpu_milli: 1000", "cpu_milli: x").replace("memory_mib: 2048", "memory_mib: 0")
    assert {field.split(": ")[0] for field in problems_of(fleet_file(text))} == {"line 8", "line 9"}


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("", "file", "empty"),
        ("weir: a: b", "line 1", "not YAML"),
        ("a: &x 1\nb: *x\n", "line 2", "aliases"),
        ("a: 1\n---\nb: 2\n", "line 2", "second document"),
        ("[" * 100, "line 1", "nested deeper"),
        ("- 1\n", "line 1", "must be a mapping"),
        ("a\0b", "line 1", "NUL"),
        ("a: !!python/object:os.system 1\n", "line 1: weir", "is missing"),
    ],
)
def test_files_that_are_no_inventory(fleet_file: Callable[[str], Path], text: str, field: str, message: str) -> None:
    assert message in problems_of(fleet_file(text))[field]


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_bytes(b"weir: 1\nname: \xff\xfe\n")
    assert "UTF-8" in problems_of(path)["line 2"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in problems_of(tmp_path / "no.yaml")["file"]


def test_a_node_in_two_entries(fleet_file: Callable[[str], Path]) -> None:
    again = "      - {name: 'n[1-2]', cpu_milli: 1, memory_mib: 1}\n"
    problems = problems_of(fleet_file(GOOD + again))
    assert "described before, in line 6" in problems["line 12: sites[0].nodes[1].name"]


def test_a_place_that_contradicts_its_rack(fleet_file: Callable[[str], Path]) -> None:
    text = GOOD.replace(
        "racks: [{name: r1}]", "switches: [{name: a}, {name: b}]\n    racks: [{name: r1, switch: a}]"
    ).replace("rack: r1\n", "rack: r1\n        switch: b\n")
    problems = problems_of(fleet_file(text))
    assert problems["line 9: sites[0].nodes[0].switch"] == "is 'b', but rack r1 is in 'a'"
