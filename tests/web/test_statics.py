"""Static files as the ASGI application serves them: hashed, compressed, kept for good, sent in pieces."""

import gzip
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.templatetags.static import static

from console.web.statics import PIECE, Statics, collect

Answer = tuple[int, dict[str, str], list[bytes]]


async def passed_on(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"from Django"})


async def ask(app: Statics, path: str, method: str = "GET", **headers: str) -> Answer:
    """(status, headers by lower-case name, pieces of the body)."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await app({"type": "http", "path": path, "method": method, "headers": pairs}, None, send)
    names = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], names, [message["body"] for message in sent[1:]]


@pytest.fixture
def root(settings: Any, tmp_path: Path) -> Path:
    settings.STATIC_ROOT = tmp_path / "staticfiles"
    return tmp_path / "staticfiles"


@pytest.fixture
def app(root: Path) -> Statics:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Statics(passed_on)


async def test_a_hashed_name_is_kept_for_good(app: Statics) -> None:
    path = static("js/shell.js")
    assert re.fullmatch(r"/static/js/shell\.[0-9a-f]{12}\.js", path)
    status, headers, _ = await ask(app, path)
    assert status == 200
    assert headers["cache-control"] == "max-age=315360000, public, immutable"
    assert headers["content-type"].startswith("text/javascript")
    assert headers["x-content-type-options"] == "nosniff"
    assert "cookie" not in headers.get("vary", "").lower()


async def test_the_largest_file_goes_out_compressed_and_in_pieces(app: Statics) -> None:
    path = static("vendor/plotly.min.js")
    _, plain, whole = await ask(app, path)
    _, small, pieces = await ask(app, path, accept_encoding="gzip, br")
    assert (plain.get("content-encoding"), small["content-encoding"]) == (None, "gzip")
    assert gzip.decompress(b"".join(pieces)) == b"".join(whole)
    assert int(small["content-length"]) == sum(map(len, pieces)) < int(plain["content-length"]) / 3
    assert max(map(len, whole)) <= PIECE
    assert small["vary"] == "Accept-Encoding"


async def test_what_a_browser_has_is_not_sent_again(app: Statics) -> None:
    path = static("css/base.css")
    _, headers, _ = await ask(app, path)
    status, _, body = await ask(app, path, if_none_match=headers["etag"])
    assert (status, b"".join(body)) == (304, b"")
    status, head, body = await ask(app, path, "HEAD")
    assert (status, b"".join(body)) == (200, b"")
    assert head["content-length"] == headers["content-length"]
    assert (await ask(app, path, "POST"))[0] == 405


@pytest.mark.parametrize("path", ["/", "/static/no-such.js", "/static/../manage.py", "/static/js/", "/jobs/static/"])
async def test_all_else_is_passed_on(app: Statics, path: str) -> None:
    assert (await ask(app, path))[2] == [b"from Django"]


async def test_modules_name_each_other_by_hashed_names_that_are_there(app: Statics, root: Path) -> None:
    seen = 0
    for module in (root / "js").rglob("*.js"):
        for name in re.findall(r'(?:from |import |new URL\()"(\.[^"]+)"', module.read_text()):
            assert re.search(r"\.[0-9a-f]{12}\.js$", name), f"{module.name}: {name}"
            assert (module.parent / name).resolve().exists(), f"{module.name}: {name}"
            seen += 1
    assert seen > 10


def test_files_are_collected_when_one_has_changed(root: Path, settings: Any, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "js").mkdir(parents=True)
    (own / "js" / "a.js").write_text("export const a = 1;\n")
    settings.STATICFILES_DIRS = [own]
    assert collect() is True
    assert collect() is False
    first = static("js/a.js")
    (own / "js" / "a.js").write_text("export const a = 22;\n")
    assert collect() is True
    assert static("js/a.js") != first
    # pages that are open still find what they name
    assert {path.name for path in (root / "js").glob("a.*.js")} == {Path(first).name, Path(static("js/a.js")).name}


async def test_without_a_folder_to_write_plain_files_are_served(settings: Any, root: Path) -> None:
    root.parent.joinpath("staticfiles").write_text("a file is in the way")
    app = Statics(passed_on)
    assert static("js/shell.js") == "/static/js/shell.js"
    status, headers, _ = await ask(app, "/static/js/shell.js")
    assert status == 200
    assert "immutable" not in headers["cache-control"]
