"""Each operation of the reference has a line of its own that says what it does."""

import pytest
from drf_spectacular.generators import SchemaGenerator

from console.common.api.summaries import first_sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Queues of your tenants. Newest first.", "Queues of your tenants"),
        ("Change the priority.", "Change the priority"),
        ("Take no new jobs; what waits in it\nstill starts.", "Take no new jobs"),
        ("Open it: what waits is tried at once.", "Open it: what waits is tried at once"),
        ("Output, at most 1.5 MiB from a byte on.", "Output, at most 1.5 MiB from a byte on"),
        ("no end", "no end"),
    ],
)
def test_the_first_sentence(text: str, line: str) -> None:
    assert first_sentence(text) == line


def test_every_operation_has_one_and_no_two_are_the_same() -> None:
    paths = SchemaGenerator().get_schema(public=True)["paths"]
    lines = [operation.get("summary", "") for operations in paths.values() for operation in operations.values()]
    assert "" not in lines
    assert sorted({line for line in lines if lines.count(line) > 1}) == []
