"""Where tests and benchmarks find real data.

The full sets lie in ``shared/data`` beside the checkout. A clone without that folder uses the
samples in ``tests/data`` (every 20th row of the Alibaba openb node and default task lists, and
the published figures; Apache-2.0, see tests/data/NOTICE), and :func:`describe` says so.
"""

from __future__ import annotations

import csv
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parent.parent / "shared" / "data"
SAMPLES = TESTS / "data"


def has_full_data() -> bool:
    """Whether the full sets are here."""
    return (SHARED / "openb").is_dir()


def data_file(name: str) -> Path:
    """The full file of that name, such as ``openb/openb_pod_list_default.csv``, or its sample.

    Raises FileNotFoundError if there is neither.
    """
    for folder in (SHARED, SAMPLES):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{name}: neither in ../shared/data nor a sample of it in tests/data")


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file by column name."""
    with data_file(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def describe() -> str:
    """One line that says which data a run uses."""
    return "data: full sets" if has_full_data() else "data: SAMPLES of tests/data (../shared/data is not here)"
