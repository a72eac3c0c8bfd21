"""CSV and XLSX of any list: streamed, typed, and safe to open in a spreadsheet.

A text cell that a spreadsheet would run as a formula is prefixed with an apostrophe (OWASP, CSV injection);
a number stays a number, because a column says what it is. CSV follows RFC 4180 (CRLF, quotes doubled).
"""

import csv
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import get_language, override

from console.common.errors import FieldError, InvalidInput

# openpyxl costs each process a third of a second and 15 MB to import: only who writes a workbook pays
if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

Kind = Literal["text", "number", "time", "date", "bool"]
# with their full-width forms: Excel in a Chinese locale runs ＝ as =
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
# characters that XML 1.0, and so XLSX, cannot hold
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_XLSX_ROWS = 1_048_575  # of a sheet, less the head
_XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_CHUNK = 500
FORMATS = ("csv", "xlsx")


@dataclass(frozen=True, slots=True)
class Column:
    """`value`: an attribute path of the row ("tenant.slug", "tenant__slug"), or a function of the row."""

    title: str | Promise
    value: str | Callable[[Any], Any]
    kind: Kind = "text"

    def of(self, row: Any) -> Any:
        if callable(self.value):
            return self.value(row)
        for name in self.value.replace("__", ".").split("."):
            row = row.get(name) if isinstance(row, dict) else getattr(row, name)
            if row is None:
                return None
        return row


def export_response(format_: str, rows: Iterable[Any], columns: list[Column], name: str) -> HttpResponseBase:
    """`format_` is "csv" or "xlsx"; InvalidInput names the field `format` otherwise."""
    if format_ == "csv":
        return csv_response(rows, columns, name)
    if format_ == "xlsx":
        return xlsx_response(rows, columns, name)
    raise InvalidInput([FieldError("format", "must be json, csv or xlsx")])


def csv_response(rows: Iterable[Any], columns: list[Column], name: str) -> "Download":
    """Streams; memory does not grow with the number of rows. A byte-order mark tells Excel that it is UTF-8."""
    return Download(_csv_chunks(rows, columns), f"{_file_name(name)}.csv", "text/csv; charset=utf-8")


def xlsx_response(rows: Iterable[Any], columns: list[Column], name: str) -> "Download":
    """Written row by row to a temporary file, then streamed from it. Past a sheet's end a new sheet begins."""
    return Download(_file_chunks(_write_book(rows, columns)), f"{_file_name(name)}.xlsx", _XLSX_TYPE)


class Download(StreamingHttpResponse):
    """A streamed file."""

    def __init__(self, chunks: Iterator[bytes], file_name: str, content_type: str) -> None:
        super().__init__(chunks, content_type=content_type)
        self["Content-Disposition"] = f'attachment; filename="{file_name}"'
        self["Cache-Control"] = "private, no-store"


def safe_text(value: Any) -> str:
    """Text that no spreadsheet runs: "=1+1" becomes "'=1+1"."""
    text = _NOT_XML.sub("", str(value))
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


class _Line:
    """csv.writer writes here; `taken` is what it wrote last."""

    taken = ""

    def write(self, text: str) -> None:
        self.taken += text

    def take(self) -> str:
        text, self.taken = self.taken, ""
        return text


def _csv_chunks(rows: Iterable[Any], columns: list[Column]) -> Iterator[bytes]:
    # the language of the request; by the time the rows stream, another request may have set another
    language = get_language()
    line = _Line()
    writer = csv.writer(line)
    writer.writerow([safe_text(column.title) for column in columns])
    return _csv_rows(iter(rows), columns, language, line, writer)


def _csv_rows(
    rows: Iterator[Any], columns: list[Column], language: str | None, line: _Line, writer: Any
) -> Iterator[bytes]:
    yield b"\xef\xbb\xbf" + line.take().encode()
    while batch := list(islice(rows, _CHUNK)):
        with override(language):
            writer.writerows([_csv_cell(column.of(row), column.kind) for column in columns] for row in batch)
        yield line.take().encode()


def _csv_cell(value: Any, kind: Kind) -> str:
    if value is None:
        return ""
    if kind == "number":
        return format(value, "f") if isinstance(value, Decimal) else str(_number(value))
    if kind == "bool":
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return safe_text(value)


def _xlsx_cell(sheet: "WriteOnlyWorksheet", column: Column, row: Any) -> Any:
    value = column.of(row)
    if value is None:
        return None
    if column.kind == "number":
        return _number(value)
    if column.kind == "bool":
        return bool(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)  # a sheet knows no zones: UTC, as the title says
    if isinstance(value, date):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value=safe_text(value)[:32_767])
    cell.data_type = "s"  # openpyxl would make a formula of "=..."
    return cell


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise TypeError(f"a number column holds {type(value).__name__}")
    return value


def _write_book(rows: Iterable[Any], columns: list[Column]) -> IO[bytes]:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = _new_sheet(book, columns)
    for number, row in enumerate(rows):
        if number and number % _XLSX_ROWS == 0:
            sheet = _new_sheet(book, columns)
        sheet.append([_xlsx_cell(sheet, column, row) for column in columns])
    file = tempfile.TemporaryFile()  # noqa: SIM115 - _file_chunks closes it
    book.save(file)
    file.seek(0)
    return file


def _file_chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(65_536):
            yield chunk


def _new_sheet(book: "Workbook", columns: list[Column]) -> "WriteOnlyWorksheet":
    sheet = book.create_sheet()
    sheet.freeze_panes = "A2"
    sheet.append([safe_text(column.title) for column in columns])
    return sheet


def _file_name(name: str) -> str:
    return _FILE_NAME.sub("-", name).strip("-.") or "export"
