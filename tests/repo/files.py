"""The files that git knows, for tests about the repository itself."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def tracked() -> list[Path]:
    """Paths relative to the root: tracked, or new and not ignored."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    names = [Path(name) for name in done.stdout.decode().split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    """The content, or "" of what is no text."""
    data = (ROOT / path).read_bytes()
    return "" if b"\0" in data else data.decode(errors="replace")
