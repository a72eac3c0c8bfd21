"""Small JSON files that are either wholly there or not at all. Standard library only: the shim loads it."""

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, value: dict[str, Any]) -> None:
    """Replaces the file in one step; a reader, or a crash, sees the old one or the new one. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(value), encoding="utf-8")
    os.replace(beside, path)


def read(path: Path) -> dict[str, Any] | None:
    """None where there is no such file, or what is there is no JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
