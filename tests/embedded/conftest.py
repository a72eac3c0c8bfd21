"""Databases for real processes."""

import contextlib
import os
from collections.abc import Iterator

import pytest

from tests import postgres


@pytest.fixture
def database_url() -> Iterator[str]:
    """DATABASE_URL for a control plane of the test's own: "" is SQLite; in the PostgreSQL lane an empty database."""
    lane = os.environ.get("DATABASE_URL", "")
    with postgres.fresh_database(lane) if lane.startswith("postgres") else contextlib.nullcontext("") as url:
        yield url
