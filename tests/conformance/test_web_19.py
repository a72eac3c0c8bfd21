"""Web 19: four processes write to one SQLite file at once; none sees OperationalError, nothing is lost."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.embedded.processes import ROOT

WRITERS, ROUNDS = 4, 100


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "WEIR_HOME": str(home), "DATABASE_URL": "", "WEIR_LOG_LEVEL": "ERROR"}


def test_four_writers_on_sqlite(tmp_path: Path) -> None:
    env = environment(tmp_path)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=env, check=True)
    path = tmp_path / "weir.sqlite3"
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        database.execute("INSERT INTO common_lease (name, holder, epoch) VALUES ('web-19', '', 0)")
    words = [sys.executable, "-m", "tests.conformance.web_19_writer", str(ROUNDS)]
    writers = [subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) for _ in range(WRITERS)]
    errors = [writer.communicate(timeout=120)[1] for writer in writers]
    assert errors == [""] * WRITERS
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT epoch FROM common_lease WHERE name = 'web-19'").fetchone() == (400,)
        assert database.execute("SELECT count(*) FROM audit_auditentry WHERE action = 'lease.count'").fetchone() == (
            400,
        )


def test_the_start_refuses_deferred(tmp_path: Path) -> None:
    (tmp_path / "deferred_settings.py").write_text(
        "from console.settings import *\nDATABASES['default']['OPTIONS']['transaction_mode'] = 'DEFERRED'\n"
    )
    env = {**environment(tmp_path), "DJANGO_SETTINGS_MODULE": "deferred_settings", "PYTHONPATH": str(tmp_path)}
    for words in (["manage.py", "check"], ["-c", "import console.asgi"]):
        done = subprocess.run([sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "SQLite must use transaction_mode IMMEDIATE, not DEFERRED" in done.stderr
