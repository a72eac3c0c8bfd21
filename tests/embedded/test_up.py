"""`manage.py up` itself: all processes of the control plane, as a person starts them."""

import http.client
import os
import re
import signal
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path

import pytest

from tests.embedded.processes import Run, alive, command_line, descendants, until, up
from tests.ports import free_port

pytestmark = pytest.mark.processes

PROCESSES = {
    "valkey": "valkey-server",
    "web": "console.embedded.web",
    "gateway": "manage.py gateway",
    "scheduler": "manage.py scheduler",
    "worker": "worker@",
    "beat": "console beat",
}


def page(port: int, path: str) -> tuple[int, HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{port}"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture
def weir(tmp_path: Path, database_url: str) -> Iterator[tuple[Run, int]]:
    port = free_port()
    env = {"WEIR_GATEWAY_PORT": str(free_port()), "DATABASE_URL": database_url, "REDIS_URL": ""}
    with up(tmp_path, "--port", str(port), **env) as run:
        run.wait_for("Weir is ready")
        until(lambda: all(run.child(part) for part in PROCESSES.values()), "every process runs")
        yield run, port


def test_everything_starts_lives_and_ends(weir: tuple[Run, int], tmp_path: Path) -> None:
    """One start for many questions: a start costs seconds of both cores."""
    run, port = weir
    says_where_it_is(run, port)
    signs_in_once(run, port)
    keeps_secrets(run, tmp_path)
    for name in ("worker", "gateway", "valkey", "web"):
        starts_again(run, name)
    until(lambda: page_or_none(port) == 200, "the console answers again")
    ours = descendants(run.pid)
    run.end(signal.SIGKILL)
    until(lambda: not [pid for pid in ours if alive(pid)], "kill -9 of the supervisor leaves no orphan")


def page_or_none(port: int) -> int:
    try:
        return page(port, "/healthz")[0]
    except OSError:
        return 0


def says_where_it_is(run: Run, port: int) -> None:
    assert run.said(f"http://localhost:{port}")
    status, _, text = page(port, "/healthz")
    assert (status, text) == (200, '{"database": "ok", "valkey": "ok"}')
    assert page(port, "/accounts/login/")[0] == 200


def signs_in_once(run: Run, port: int) -> None:
    link = next(found[0] for line in run.lines if (found := re.search(r"/signin/[\w-]+/", line)))
    status, headers, _ = page(port, link)
    assert status == 302
    (session,) = [cookie for cookie in headers.get_all("Set-Cookie", []) if cookie.startswith("sessionid=")]
    assert "HttpOnly" in session
    assert page(port, link)[0] in {302, 404, 410}
    assert "sessionid=" not in str(page(port, link)[1])


def keeps_secrets(run: Run, home: Path) -> None:
    link = next(found[1] for line in run.lines if (found := re.search(r"/signin/([\w-]+)/", line)))
    logs = "".join(path.read_text() for path in (home / "log").iterdir())
    assert link not in (home / "log" / "prepare.log").read_text()
    assert (home / "secret.key").read_text() not in logs
    assert home.stat().st_mode & 0o077 == 0
    assert not [pid for pid in descendants(run.pid) if (home / "secret.key").read_text() in command_line(pid)]


def starts_again(run: Run, name: str) -> None:
    part = PROCESSES[name]
    before = run.child(part)
    os.kill(before, signal.SIGKILL)
    until(lambda: run.child(part) not in {0, before}, f"{name} runs again")
