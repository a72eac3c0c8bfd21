"""Compiles the translations without gettext's own tools: `python -m console.embedded.translations`."""

from pathlib import Path

import polib

LOCALES = Path(__file__).resolve().parent.parent / "locale"


def compile_stale(folder: Path = LOCALES) -> list[Path]:
    """Writes each .mo whose .po is newer, whole or not at all; returns what was written."""
    written = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        draft = target.with_suffix(".mo.new")
        polib.pofile(str(source)).save_as_mofile(str(draft))
        draft.replace(target)
        written.append(target)
    return written


if __name__ == "__main__":
    for path in compile_stale():
        print(f"weir: compiled {path.relative_to(LOCALES.parent)}")
