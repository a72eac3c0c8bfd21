"""简体中文 is whole: nothing fuzzy, nothing missing, nothing that the sources no longer say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest

from console.embedded.translations import compile_stale
from tests.repo.files import ROOT, tracked

LOCALE = ROOT / "console" / "locale" / "zh_Hans" / "LC_MESSAGES"
DOMAINS = ["django", "djangojs"]


def catalogue(domain: str) -> polib.POFile:
    path = LOCALE / f"{domain}.po"
    if domain == "djangojs" and not path.exists():
        return polib.POFile()
    return polib.pofile(str(path))


def wanting(entry: polib.POEntry) -> bool:
    texts = entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]
    return not all(texts)


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_is_fuzzy_or_missing(domain: str) -> None:
    entries = [entry for entry in catalogue(domain) if not entry.obsolete]
    assert [entry.msgid for entry in entries if entry.fuzzy] == []
    assert [entry.msgid for entry in entries if wanting(entry)] == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_placeholders_survive_translation(domain: str) -> None:
    import re

    mark = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
    wrong = [
        entry.msgid
        for entry in catalogue(domain)
        if not entry.obsolete
        and not entry.msgid_plural
        and set(mark.findall(entry.msgid)) != set(mark.findall(entry.msgstr))
    ]
    assert wrong == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_catalogue_holds_what_the_sources_say(domain: str, tmp_path: Path) -> None:
    """Runs makemessages over a copy of the sources and compares the message ids."""
    if not shutil.which("xgettext"):
        assert not os.environ.get("CI"), "CI must bring gettext"
        pytest.skip("xgettext is not installed (sudo apt-get install gettext)")
    for path in tracked():
        if path.suffix in {".py", ".html", ".txt", ".js", ".po"} and path.parts[0] not in {"tests", "docs"}:
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
    words = [sys.executable, "manage.py", "makemessages", "-l", "zh_Hans", "-d", domain, "--no-location"]
    env = {**os.environ, "WEIR_HOME": str(tmp_path / "var")}
    subprocess.run(words, cwd=tmp_path, env=env, check=True, capture_output=True)
    fresh = tmp_path / LOCALE.relative_to(ROOT) / f"{domain}.po"
    said = {entry.msgid for entry in polib.pofile(str(fresh)) if not entry.obsolete} if fresh.exists() else set()
    assert said - {entry.msgid for entry in catalogue(domain)} == set()


def test_stale_catalogues_are_compiled_once(tmp_path: Path) -> None:
    folder = tmp_path / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    book = polib.POFile()
    book.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    book.append(polib.POEntry(msgid="Node", msgstr="节点"))
    book.save(str(folder / "django.po"))
    assert [path.name for path in compile_stale(tmp_path)] == ["django.mo"]
    assert compile_stale(tmp_path) == []
    assert polib.mofile(str(folder / "django.mo")).find("Node").msgstr == "节点"
