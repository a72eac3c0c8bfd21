"""The shape of the repository: what lies at the top, how long files are, what no file may name."""

import re
import statistics
from pathlib import Path

from tests.repo.files import ROOT, text_of, tracked

TOP = {
    *("manage.py", "console", "pool", "billing", "templates", "static", "tests", "docs", "deploy"),
    *("requirements.txt", "requirements-dev.txt", "pyproject.toml", "Makefile"),
    *("README.md", "LICENSE", "NOTICE", ".gitignore", ".ci"),
}
LONGEST, MEDIAN = 400, 100  # lines
OF_OTHERS = {"LICENSE", "requirements.txt", "requirements-dev.txt"}
# put together from parts, so that this file does not name them either
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w./])/(?:work|root|home)/" + r"\w",
            r"(?<![\w./])/tmp/" + "weir/",
            r"pypi\.org|pythonhosted\.org|registry\." + r"npmjs|deb\.debian\.org|files\.python",
            r"\bcdn\." + "|unp" + "kg|jsde" + "livr",
        ]
    )
)


def sources() -> list[Path]:
    ours = [path for path in tracked() if path.suffix in {".py", ".js", ".css", ".html"}]
    return [path for path in ours if "migrations" not in path.parts]


def lines(path: Path) -> int:
    return text_of(path).count("\n")


def test_only_known_entries_at_the_top() -> None:
    assert {path.parts[0] for path in tracked()} <= TOP


def test_no_file_is_longer_than_a_person_reads() -> None:
    assert {str(path): lines(path) for path in sources() if lines(path) > LONGEST} == {}


def test_the_median_file_is_short() -> None:
    counts = [lines(path) for path in sources() if path.suffix == ".py" and lines(path)]
    assert statistics.median(counts) < MEDIAN


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {
        f"{path}:{number}": line.strip()[:100]
        for path in tracked()
        if str(path) not in OF_OTHERS and path.suffix not in {".csv", ".svg"}
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if FOREIGN.search(line)
    }
    assert found == {}


def test_pins_name_no_index() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        options = [line for line in (ROOT / name).read_text().splitlines() if line.startswith("--")]
        assert options == []


def test_every_pin_is_exact_and_hashed() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text().replace("\\\n", " ")
        pins = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
        assert len(pins) > 50
        assert [line for line in pins if "==" not in line or "--hash=sha256:" not in line] == []


def test_every_declared_package_is_pinned_alike() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["dev"]
    pinned = (ROOT / "requirements-dev.txt").read_text().lower()
    for requirement in declared:
        name, _, version = requirement.partition(";")[0].partition("==")
        plain = re.sub(r"\[.*\]", "", name).strip().lower().replace("_", "-")
        assert f"{plain}=={version.strip()}" in pinned, f"{requirement}: run `make pins`"
