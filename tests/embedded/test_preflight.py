"""`manage.py up` that cannot start: one line, its exit code, nothing else."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from console.embedded import preflight
from console.embedded.refusal import BAD_SETTING, DISK_FULL, PORT_BUSY, PREPARE_FAILED, UNWRITABLE, Refusal
from tests.embedded.processes import ROOT, running, up
from tests.ports import free_port

UP = [sys.executable, str(ROOT / "manage.py"), "up"]


def refused(home: Path, *words: str, prefix: tuple[str, ...] = (), **env: str) -> tuple[int, list[str]]:
    with running([*prefix, *UP, *words], WEIR_HOME=str(home), **env) as run:
        code = run.popen.wait(120)
        run.end()
        return code, run.lines


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_busy_port(tmp_path: Path, address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if ":" in address and len(preflight.addresses("localhost")) < 2:
        address, family = "127.0.0.1", socket.AF_INET  # a machine without IPv6 has only one family to test
    with socket.socket(family) as other:
        other.bind((address, 0))
        other.listen(1)
        port = other.getsockname()[1]
        code, lines = refused(tmp_path, "--port", str(port))
    assert lines == [f"weir: Port {port} is in use by another program; stop it or choose another with --port."]
    assert code == PORT_BUSY


def test_busy_gateway_port(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        code, lines = refused(tmp_path, "--port", str(free_port()), WEIR_GATEWAY_PORT=str(port))
    assert lines == [
        f"weir: Port {port} is in use by another program; stop it or choose another with WEIR_GATEWAY_PORT."
    ]
    assert code == PORT_BUSY


def test_folder_without_write_permission(tmp_path: Path) -> None:
    # root may write anywhere while it has these capabilities
    as_anyone = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")
    prefix = as_anyone if os.geteuid() == 0 else ()
    home = tmp_path / "data"
    home.mkdir(mode=0o555)
    code, lines = refused(home, prefix=prefix)
    assert lines == [
        f"weir: Weir cannot write to its data folder {home} (permission denied); give this user write permission "
        "there or set WEIR_HOME to a folder that it owns."
    ]
    assert code == UNWRITABLE


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    code, lines = refused(tmp_path / "data")
    assert code == UNWRITABLE
    assert len(lines) == 1
    assert "(file exists)" in lines[0]


def test_too_little_disk_space(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free // preflight.MIB
    code, lines = refused(tmp_path, "--min-free-mib", str(free * 2))
    assert code == DISK_FULL
    assert len(lines) == 1
    assert f"Weir wants {free * 2} MiB; free some space or set WEIR_HOME elsewhere." in lines[0]


def private_mounts_work() -> bool:
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


def test_full_disk(tmp_path: Path) -> None:
    """A disk of 64 KiB with nothing left, mounted for this process alone."""
    if not private_mounts_work():
        pytest.skip("this user may not mount a tmpfs of its own (unshare -rm)")
    script = (
        f"mount -t tmpfs -o size=64k tmpfs {tmp_path} && mkdir -p {tmp_path}/data/log && "
        f'(cat /dev/zero > {tmp_path}/fill || true) 2>/dev/null; exec "$@"'
    )
    code, lines = refused(tmp_path / "data", prefix=("unshare", "-rm", "sh", "-c", script, "sh"))
    assert lines == [
        f"weir: The disk that holds {tmp_path / 'data'} is full; free some space or set WEIR_HOME elsewhere."
    ]
    assert code == DISK_FULL


def test_secret_key_is_made_once_and_private(tmp_path: Path) -> None:
    preflight.secret_key(tmp_path)
    path = tmp_path / "secret.key"
    first = path.read_text()
    preflight.secret_key(tmp_path)
    assert path.read_text() == first
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_address_that_is_not_ours() -> None:
    with pytest.raises(Refusal, match=r"--host 192\.0\.2\.1 is not an address of this machine"):
        preflight.addresses("192.0.2.1")


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    url = f"postgresql://weir@/weir?host={tmp_path}"
    words = ("--port", str(free_port()))
    with up(tmp_path / "data", *words, DATABASE_URL=url, WEIR_GATEWAY_PORT=str(free_port()), REDIS_URL="") as run:
        code = run.popen.wait(120)
        run.end()
    assert code == PREPARE_FAILED
    assert run.lines[-1].startswith("weir: Setting up failed: ")
    assert str(tmp_path) in run.lines[-1]
    assert not [line for line in run.lines if "Traceback" in line]


def test_a_valkey_that_does_not_answer(tmp_path: Path) -> None:
    port = free_port()
    words = ("--port", str(free_port()))
    urls = {"DATABASE_URL": "", "REDIS_URL": f"redis://127.0.0.1:{port}/0"}
    with up(tmp_path / "data", *words, WEIR_GATEWAY_PORT=str(free_port()), **urls) as run:
        code = run.popen.wait(120)
        run.end()
    assert code == PREPARE_FAILED
    assert run.lines[-1].startswith("weir: Setting up failed: ")
    assert f"127.0.0.1:{port}" in run.lines[-1]
    assert not [line for line in run.lines if "Traceback" in line]


@pytest.mark.parametrize(
    ("name", "url", "right"),
    [
        ("DATABASE_URL", "mysql://db/weir", "use postgresql://user:password@host:port/name"),
        ("DATABASE_URL", "postgresql://db:port/weir", "DATABASE_URL or REDIS_URL cannot be read"),
        ("REDIS_URL", "localhost:6379", "use redis://host:port/0, rediss://host:port/0 or unix:///path/to/socket"),
        ("REDIS_URL", "redis://", "use redis://host:port/0"),
        ("REDIS_URL", "unix://", "use redis://host:port/0"),
    ],
)
def test_a_url_that_names_no_server(tmp_path: Path, name: str, url: str, right: str) -> None:
    code, lines = refused(tmp_path / "data", **{"DATABASE_URL": "", "REDIS_URL": "", name: url})
    assert code == BAD_SETTING
    assert len(lines) == 1
    assert lines[0].startswith(f"weir: {name}") or lines[0].startswith("weir: DATABASE_URL or")
    assert right in lines[0]
    assert not (tmp_path / "data").exists()
