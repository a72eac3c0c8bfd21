"""Exports: typed columns, RFC 4180, and no cell that a spreadsheet would run."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import openpyxl
import pytest

from console.common.errors import InvalidInput
from console.common.exports import Column, csv_response, export_response, safe_text, xlsx_response

COLUMNS = [
    Column("Name", "name"),
    Column("Amount", "amount", "number"),
    Column("At", "at", "time"),
    Column("Live", "live", "bool"),
    Column("Tenant", "tenant.slug"),
]
AT = datetime(2026, 3, 1, 12, 30, 0, 250, tzinfo=UTC)


def row(name: str, amount: Any = Decimal("-2.50"), **more: Any) -> dict[str, Any]:
    return {"name": name, "amount": amount, "at": AT, "live": True, "tenant": {"slug": "aurora"}, **more}


def read_csv(rows: list[dict[str, Any]]) -> list[list[str]]:
    body = b"".join(csv_response(rows, COLUMNS, "x").streaming_content)
    assert body.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(body[3:].decode(), newline="")))


def read_xlsx(rows: list[dict[str, Any]]) -> list[list[Any]]:
    body = b"".join(xlsx_response(rows, COLUMNS, "x").streaming_content)
    return [list(line) for line in openpyxl.load_workbook(io.BytesIO(body)).active.rows]


@pytest.mark.parametrize(
    "name",
    ['=HYPERLINK("http://x")', "+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\n=1", "＝1", "＋1", "－1", "＠a", " =1"],
)
def test_text_is_never_a_formula(name: str) -> None:
    assert read_csv([row(name)])[1][0] == f"'{name}"
    cell = read_xlsx([row(name)])[1][0]
    assert cell.data_type == "s"
    assert cell.value.startswith("'")


def test_numbers_stay_numbers() -> None:
    assert read_csv([row("a")])[1][1] == "-2.50"
    cell = read_xlsx([row("a")])[1][1]
    assert (cell.data_type, cell.value) == ("n", -2.5)


def test_small_decimals_are_written_out() -> None:
    assert read_csv([row("a", Decimal("0.00000001"))])[1][1] == "0.00000001"


def test_a_number_column_refuses_text() -> None:
    with pytest.raises(TypeError, match="number column holds str"):
        read_csv([row("a", "=1")])


def test_times_are_utc_and_quotes_are_doubled() -> None:
    line = read_csv([row('a "b",\r\nc')])[1]
    assert line[0] == 'a "b",\r\nc'
    assert line[2] == "2026-03-01T12:30:00.000250Z"
    body = b"".join(csv_response([row('a "b",c')], COLUMNS, "x").streaming_content)
    assert b'"a ""b"",c",' in body
    assert body.endswith(b"\r\n")


def test_missing_values_are_empty() -> None:
    assert read_csv([row("a", amount=None, at=None, tenant=None)])[1][1:] == ["", "", "true", ""]


def test_control_characters_do_not_break_a_sheet() -> None:
    assert read_xlsx([row("a\x00b\x0bc")])[1][0].value == "abc"


def test_safe_text_leaves_plain_text_alone() -> None:
    assert safe_text("train-7 = fast") == "train-7 = fast"


def test_file_name_is_harmless() -> None:
    response = csv_response([], COLUMNS, 'jobs"; x=../../y')
    assert response["Content-Disposition"] == 'attachment; filename="jobs-x-..-..-y.csv"'


def test_unknown_format_names_the_field() -> None:
    with pytest.raises(InvalidInput) as error:
        export_response("pdf", [], COLUMNS, "x")
    assert error.value.errors[0].field == "format"


@pytest.mark.parametrize("make", [csv_response, xlsx_response])
def test_streams_in_steps(make: Any) -> None:
    """The rows are drawn while the client reads, not before (CSV)."""
    drawn = 0

    def rows() -> Any:
        nonlocal drawn
        for number in range(2000):
            drawn += 1
            yield row(f"n{number}")

    chunks = iter(make(rows(), COLUMNS, "x"))
    first = next(chunks)
    at_first = drawn
    body = first + b"".join(chunks)
    assert drawn == 2000
    assert len(body) > 20_000
    assert at_first == (0 if make is csv_response else 2000)
