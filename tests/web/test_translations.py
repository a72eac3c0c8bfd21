"""Chinese is complete: no text untranslated, none fuzzy, placeholders kept, and the list of texts up to date."""

import re
import shutil
from pathlib import Path

import polib
import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils.translation import gettext, override

ROOT = Path(__file__).resolve().parents[2]
PO = ROOT / "console" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
SAME = {"MIG", "vGPU", "GPU", "Pod", "name@example.com", "p95 %(time)s"}  # the field's own words in both languages
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]")
IGNORED = [".venv", ".venv*", "var", "var*", "tests", "locale"]  # or makemessages writes into the real one


@pytest.fixture(scope="module")
def entries() -> list[polib.POEntry]:
    return [entry for entry in polib.pofile(str(PO)) if not entry.obsolete]


def _texts(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_nothing_is_untranslated_or_fuzzy(entries: list[polib.POEntry]) -> None:
    assert len(entries) > 500
    assert [entry.msgid for entry in entries if entry.fuzzy or not all(_texts(entry))] == []


def test_translations_are_chinese(entries: list[polib.POEntry]) -> None:
    latin = [e.msgid for e in entries if not re.search(r"[\u4e00-\u9fff]", "".join(_texts(e)))]
    words = [text for text in latin if re.search(r"[A-Za-z]{2}", PLACEHOLDER.sub("", text))]
    assert set(words) <= SAME, set(words) - SAME


def test_placeholders_are_kept(entries: list[polib.POEntry]) -> None:
    for entry in entries:
        wanted = set(PLACEHOLDER.findall(entry.msgid_plural or entry.msgid))
        for text in _texts(entry):
            assert set(PLACEHOLDER.findall(text)) == wanted, entry.msgid


def test_markup_is_kept(entries: list[polib.POEntry]) -> None:
    for entry in entries:
        for text in _texts(entry):
            assert sorted(re.findall(r"<[^>]+>", text)) == sorted(re.findall(r"<[^>]+>", entry.msgid)), entry.msgid


@pytest.mark.skipif(shutil.which("xgettext") is None, reason="gettext's tools are not installed")
def test_every_text_of_the_code_is_listed(
    entries: list[polib.POEntry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "zh_Hans").mkdir()
    with override_settings(LOCALE_PATHS=[tmp_path]):
        call_command("makemessages", locale=["zh_Hans"], ignore_patterns=IGNORED, verbosity=0)
    found = polib.pofile(str(tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"))
    known = {(entry.msgctxt, entry.msgid) for entry in entries}
    assert {(entry.msgctxt, entry.msgid) for entry in found} == known, "run makemessages and translate"


def test_the_compiled_file_speaks_chinese() -> None:
    if not PO.with_suffix(".mo").exists():
        pytest.skip("translations are compiled by `make setup`")
    with override("zh-hans"):
        assert gettext("Jobs") == "作业"
