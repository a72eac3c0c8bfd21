"""Static files: hashed names that browsers keep for good, compressed beforehand, sent in pieces.

`Statics` stands before Django in the ASGI application: a file needs no session, and WhiteNoise's own middleware would
read it whole into memory under ASGI. `collect` fills STATIC_ROOT; it looks at nothing but names, sizes and times while
nothing has changed.
"""

import asyncio
import fcntl
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import django
import structlog
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

log = structlog.get_logger(__name__)
Scope = dict[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[..., Awaitable[Any]]

PIECE = 65_536
# what wheels bring along and no page of ours asks for
UNUSED = [
    "rest_framework",
    "redoc",
    "*.map",
    "htmx-4*",
    "htmax*",
    "htmx-2.js",
    "ext",
    "oauth2-redirect*",
    "*-es-bundle*",
]
_MODULES = CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1]
_ADDRESS = (r'(?P<matched>new URL\("(?P<url>[./][^"]*)", import\.meta\.url\))', 'new URL("%(url)s", import.meta.url)')


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names carry a hash of the content, also where our modules and styles name each other."""

    keep_only_hashed_files = True
    # ours only: what others built names nothing, and 5 MB of it take long to search
    patterns: ClassVar[tuple[Any, ...]] = (
        ("css/*.css", CompressedManifestStaticFilesStorage.patterns[0][1][:2]),
        ("js/*.js", (*_MODULES, _ADDRESS)),
    )

    def read_manifest(self) -> str | None:
        """None also where the folder cannot be read: see `collect`."""
        try:
            return super().read_manifest()  # type: ignore[no-any-return]
        except OSError:
            return None

    def url(self, name: str, force: bool = False) -> str:
        """The plain name as long as nothing was collected (commands, tests): the finders serve it."""
        if not self.hashed_files:
            return str(super(CompressedManifestStaticFilesStorage, self)._url(lambda name: name, name))
        return str(super().url(name, force))


class Statics:
    """ASGI: answers for the files under STATIC_URL, and passes everything else on to `app`."""

    def __init__(self, app: App) -> None:
        self.app = app
        collect()
        self.files = WhiteNoiseMiddleware(lambda request: None)

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        path = scope["path"]
        found = None
        if path.startswith(settings.STATIC_URL):
            found = self.files.find_file(path) if self.files.autorefresh else self.files.files.get(path)
        if found is None:
            await self.app(scope, receive, send)
            return
        answer = found.get_response(scope["method"], _environ(scope))
        headers = [(name.encode("latin1"), value.encode("latin1")) for name, value in answer.headers]
        headers.append((b"x-content-type-options", b"nosniff"))
        await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
        if answer.file is not None:
            with answer.file as file:
                while piece := await asyncio.to_thread(file.read, PIECE):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _environ(scope: Scope) -> dict[str, str]:
    """The request's headers by the names that WSGI gives them."""
    names = ((name.decode("latin1").upper().replace("-", "_"), value) for name, value in scope["headers"])
    return {f"HTTP_{name}": value.decode("latin1") for name, value in names}


def collect() -> bool:
    """Brings STATIC_ROOT up to date; True if there was something to do. Processes that start together wait in turn.

    Where the folder cannot be written the plain files are served instead, uncompressed.
    """
    if settings.DEBUG:
        return False
    root = Path(settings.STATIC_ROOT)
    stamp = root.with_suffix(".stamp")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with stamp.open("a+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            held.seek(0)
            wanted = _fingerprint()
            if held.read() == wanted and (root / HashedStorage.manifest_name).exists():
                return False
            call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED)
            held.truncate(0)
            held.write(wanted)
    except OSError as error:
        log.warning("statics_not_collected", folder=str(root), error=str(error))
        return False
    return True


def _fingerprint() -> str:
    """Of every file that would be collected, and of what makes the names."""
    digest = hashlib.sha256(f"1 {django.VERSION}".encode())
    for path in _sources():
        facts = path.stat()
        digest.update(f"\n{path} {facts.st_size} {facts.st_mtime_ns}".encode())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for finder in finders.get_finders():
        for name, storage in finder.list(UNUSED):
            yield Path(storage.path(name))
