"""SQLite with a fair wait for its one write lock.

SQLite lets a writer that finds the lock taken sleep for 1, 2, 5, 10 and up to 100 ms and try again, so that under
load some wait for a second while others walk past. Here writers queue at a file lock first: the kernel wakes the
next one the moment the lock is free. Whoever writes without it (the sqlite3 shell) is still kept out by SQLite.
"""

import fcntl
import os
import sqlite3
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.base import SQLiteCursorWrapper

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


class Turn:
    """One connection's place in the queue. Not reentrant, and not shared between threads."""

    def __init__(self, path: str) -> None:
        try:
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise sqlite3.OperationalError(f"unable to open {path}: {error.strerror}") from None
        self.held = False

    def take(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.held = True

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: object) -> None:
        self.give()

    def give(self) -> None:
        if self.held:
            self.held = False
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self.held = False
        os.close(self._file)


class Cursor(SQLiteCursorWrapper):
    """A statement that writes outside a transaction is one of its own, and queues as well."""

    turn: Turn | None = None

    def execute(self, query: str, params: Any = None) -> Any:
        if not self._queues(query):
            return super().execute(query, params)
        return self._in_turn(super().execute, query, params)

    def executemany(self, query: str, param_list: Any) -> Any:
        if not self._queues(query):
            return super().executemany(query, param_list)
        return self._in_turn(super().executemany, query, param_list)

    def _queues(self, query: str) -> bool:
        return (
            self.turn is not None
            and not self.turn.held
            and not self.connection.in_transaction
            and query.lstrip()[:6].upper() in _WRITES
        )

    def _in_turn(self, work: Any, query: str, params: Any) -> Any:
        with self.turn or nullcontext():
            return work(query, params)


class DatabaseWrapper(base.DatabaseWrapper):
    _turn: Turn | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        self._drop_turn()
        if not self.is_in_memory_db():
            self._turn = Turn(f"{conn_params['database']}-queue")
        return connection

    def create_cursor(self, name: str | None = None) -> Cursor:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.turn = self._turn
        return cursor

    def turn(self) -> AbstractContextManager[None]:
        """Keeps all writers waiting; for work on the database that is no transaction."""
        self.ensure_connection()
        return self._turn or nullcontext()

    def _start_transaction_under_autocommit(self) -> None:
        turn = self._turn
        if turn is not None:
            turn.take()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            if turn is not None:
                turn.give()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            self._give_unless_open()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._give_unless_open()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._drop_turn()

    def _give_unless_open(self) -> None:
        """A COMMIT that failed leaves the transaction open; its ROLLBACK gives the turn back."""
        if self._turn is not None and not (self.connection is not None and self.connection.in_transaction):
            self._turn.give()

    def _drop_turn(self) -> None:
        if self._turn is not None:
            self._turn.close()
            self._turn = None
