"""The start-up check of SQLite. Case web 19 shows it in real processes."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.embedded.database import refuse_deferred

GOOD = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode = WAL;"}


def sqlite(**options: Any) -> dict[str, Any]:
    return {"default": {"ENGINE": "console.common.sqlite", "OPTIONS": options}}


def test_immediate_with_wal_is_welcome() -> None:
    refuse_deferred(sqlite(**GOOD))
    refuse_deferred({"default": {"ENGINE": "django.db.backends.postgresql"}})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {**GOOD, "transaction_mode": "DEFERRED"},
        {**GOOD, "transaction_mode": None},
        {**GOOD, "transaction_mode": "EXCLUSIVE"},
    ],
)
def test_anything_but_immediate_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ImproperlyConfigured, match="must use transaction_mode IMMEDIATE"):
        refuse_deferred(sqlite(**options))


@pytest.mark.parametrize("command", [None, "", "PRAGMA journal_mode=DELETE;"])
def test_a_rollback_journal_is_refused(command: str | None) -> None:
    with pytest.raises(ImproperlyConfigured, match="must use PRAGMA journal_mode=WAL"):
        refuse_deferred(sqlite(**{**GOOD, "init_command": command}))


def test_the_engine_that_ours_builds_on_is_looked_at_too() -> None:
    with pytest.raises(ImproperlyConfigured, match="must use transaction_mode IMMEDIATE"):
        refuse_deferred({"default": {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {}}})
