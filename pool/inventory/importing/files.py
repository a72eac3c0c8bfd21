"""Opens a fleet file and finds out what it is."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pool.inventory.importing import openb, yaml_fleet
from pool.inventory.importing.drafts import FleetDraft
from pool.inventory.importing.problems import refuse

LARGEST_FILE = 32 * 1024 * 1024


def read_fleet(path: Path, site: str = "", models: Mapping[str, int] | None = None) -> FleetDraft:
    """The draft of a fleet file: our YAML inventory, or an openb node list (told by its header).

    `site` names the site of an openb list, which knows none (default "openb"); a YAML file names its own.
    `models`: MiB of one card of each model that is known beside those of `known_models`.
    Raises InvalidInput with one FieldError a problem; the field is "line N: path of the field".
    """
    data = _bytes(path)
    text = _text(data)
    if openb.looks_like(text):
        draft = openb.read(text, site or openb.DEFAULT_SITE)
    elif path.suffix.lower() == ".csv":
        raise refuse("line 1", f"is not the header of an openb node list; expected {','.join(openb.COLUMNS)}")
    elif site:
        raise refuse("site", "is for openb node lists only; a YAML inventory names its sites itself")
    else:
        draft = yaml_fleet.read(text, models or {})
    return replace(draft, name=path.name, digest=hashlib.sha256(data).hexdigest())


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise refuse("file", f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE:
        raise refuse("file", f"is larger than {LARGEST_FILE // 1024**2} MiB; import it in parts")
    return data


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(f"line {line}", "is not UTF-8 text") from error
    if "\0" in text:
        raise refuse(f"line {text.count(chr(10), 0, text.index(chr(0))) + 1}", "holds a NUL character")
    if not text.strip():
        raise refuse("file", "is empty")
    return text
