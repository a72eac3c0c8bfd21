"""简体中文 is whole: nothing fuzzy, nothing missing, nothing that the sources no longer say, all of it Chinese."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest
from django.utils.translation import gettext, override

from console.embedded.translations import compile_stale
from tests.repo.files import ROOT, tracked

LOCALE = ROOT / "console" / "locale" / "zh_Hans" / "LC_MESSAGES"
DOMAINS = ["django", "djangojs"]
SAME = {"MIG", "vGPU", "GPU", "Pod", "name@example.com", "p95 %(time)s"}  # the field's own words in both languages
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
MARKUP = re.compile(r"<[^>]+>")


def catalogue(domain: str) -> list[polib.POEntry]:
    path = LOCALE / f"{domain}.po"
    if domain == "djangojs" and not path.exists():
        return []
    return [entry for entry in polib.pofile(str(path)) if not entry.obsolete]


def texts(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_there_is_a_catalogue() -> None:
    assert len(catalogue("django")) > 500


@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_is_fuzzy_or_missing(domain: str) -> None:
    assert [entry.msgid for entry in catalogue(domain) if entry.fuzzy or not all(texts(entry))] == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_translations_are_chinese(domain: str) -> None:
    latin = [entry.msgid for entry in catalogue(domain) if not re.search(r"[\u4e00-\u9fff]", "".join(texts(entry)))]
    words = {text for text in latin if re.search(r"[A-Za-z]{2}", PLACEHOLDER.sub("", text))}
    assert words <= SAME, words - SAME


@pytest.mark.parametrize("domain", DOMAINS)
def test_placeholders_and_markup_survive_translation(domain: str) -> None:
    for entry in catalogue(domain):
        source = entry.msgid_plural or entry.msgid
        for text in texts(entry):
            assert set(PLACEHOLDER.findall(text)) == set(PLACEHOLDER.findall(source)), entry.msgid
            assert sorted(MARKUP.findall(text)) == sorted(MARKUP.findall(entry.msgid)), entry.msgid


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_catalogue_holds_what_the_sources_say(domain: str, tmp_path: Path) -> None:
    """Runs makemessages over a copy of the sources and compares the message ids."""
    if not shutil.which("xgettext"):
        assert not os.environ.get("CI"), "CI must bring gettext"
        pytest.skip("xgettext is not installed (sudo apt-get install gettext)")
    for path in tracked():
        if path.suffix in {".py", ".html", ".txt", ".js"} and path.parts[0] not in {"tests", "docs"}:
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
    (tmp_path / LOCALE.relative_to(ROOT)).mkdir(parents=True)  # empty: what is found is what the sources say
    words = [sys.executable, "manage.py", "makemessages", "-l", "zh_Hans", "-d", domain, "--no-location"]
    env = {**os.environ, "WEIR_HOME": str(tmp_path / "var")}
    subprocess.run(words, cwd=tmp_path, env=env, check=True, capture_output=True)
    fresh = tmp_path / LOCALE.relative_to(ROOT) / f"{domain}.po"
    said = {(entry.msgctxt, entry.msgid) for entry in polib.pofile(str(fresh))} if fresh.exists() else set()
    known = {(entry.msgctxt, entry.msgid) for entry in catalogue(domain)}
    assert [text for _, text in said - known] == [], "run makemessages and translate"
    assert [text for _, text in known - said] == [], "no source says this any more"


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


def test_the_compiled_catalogue_speaks_chinese() -> None:
    if not (LOCALE / "django.mo").exists():
        assert not os.environ.get("CI"), "the set-up must compile the translations"
        pytest.skip("translations are compiled by `make setup`")
    with override("zh-hans"):
        assert gettext("Jobs") == "作业"
