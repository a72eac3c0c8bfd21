"""The openb node list: the real one, and broken ones."""

from pathlib import Path

import pytest

from console.common.errors import InvalidInput
from pool.inventory.importing import read_fleet
from tests import shared_data

NODES = "openb/openb_node_list_gpu_node.csv"
HEAD = "sn,cpu_milli,memory_mib,gpu,model\n"


def test_the_real_list() -> None:
    rows = shared_data.rows(NODES)
    draft = read_fleet(shared_data.data_file(NODES))
    assert len(draft.nodes) == len(rows)
    assert sum(len(node.devices or ()) for node in draft.nodes) == sum(int(row["gpu"]) for row in rows)
    if shared_data.has_full_data():
        assert (len(rows), sum(int(row["gpu"]) for row in rows)) == (1213, 6212)


def test_columns_in_another_order_and_another_site(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("gpu,model,sn,memory_mib,cpu_milli\r\n2,T4,a,10,20\r\n0,,b,10,20\r\n")
    draft = read_fleet(path, site="lab")
    assert [(node.name, node.cpu_milli, len(node.devices or ()), node.site) for node in draft.nodes] == [
        ("a", 20, 2, "lab"),
        ("b", 20, 0, "lab"),
    ]


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (HEAD + "a,1,1,1,T4\na,1,1,1,T4\n", "line 3: sn", "named before, in line 2"),
        (HEAD + "a,x,1,1,T4\n", "line 2: cpu_milli", "'x' is not a whole number"),
        (HEAD + "a,1,NaN,1,T4\n", "line 2: memory_mib", "whole number"),
        (HEAD + "a,1,1,65,T4\n", "line 2: gpu", "from 0 to 64"),
        (HEAD + "a,1,1,1,Z9\n", "line 2: model", "'Z9' is not a known model"),
        (HEAD + "a,1,1,1\n", "line 2", "4 columns"),
        (HEAD + "a,1,1,1,T4\n\n,1,1,1,T4\n", "line 4: sn", "must be 1 to 64"),
        (HEAD + '"a,1,1,1,T4\n', "line 2", ""),
        (HEAD, "file", "names no node"),
        ("sn,cpu_milli,gpu,model\na,1,1,T4\n", "line 1: memory_mib", "missing"),
        (HEAD.replace("model", "model,extra"), "line 1: extra", "no column"),
        ("a,b\n1,2\n", "line 1", "not the header"),
    ],
)
def test_bad_rows_are_named_by_line_and_field(tmp_path: Path, text: str, field: str, message: str) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_fleet(path)
    found = {error.field: error.message for error in caught.value.errors}
    assert message in found[field]


def test_a_wrong_separator_does_not_print_a_thousand_lines(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(HEAD + "a;1;1;1;T4\n" * 1000)
    with pytest.raises(InvalidInput) as caught:
        read_fleet(path)
    assert len(caught.value.errors) == 51
    assert "950 more" in caught.value.errors[-1].message
