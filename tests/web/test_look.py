"""Promises of the look that a machine can check: contrast, one dark table, no inline script or style."""

import re
from pathlib import Path

import plotly
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOKENS = (ROOT / "static" / "css" / "tokens.css").read_text()
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def _blocks() -> list[dict[str, str]]:
    """Light, dark by choice, dark by the system."""
    found = [dict(re.findall(r"--([\w-]+):\s*([^;]+);", body)) for body in re.findall(r"\{([^{}]*)\}", TOKENS)]
    return [block for block in found if "ink" in block]


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_dark_table_stands_twice_and_is_the_same() -> None:
    light, chosen, system = _blocks()
    assert chosen == system
    assert set(chosen) <= set(light)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "grounds"),
    [
        ("ink", ["bg", "card", "hover", "wash"]),
        ("muted", ["bg", "card", "hover"]),
        ("accent", ["bg", "card", "hover", "wash"]),
        ("on-accent", ["accent"]),
        ("ok", ["card", "bg", "ok-wash"]),
        ("warn", ["card", "bg", "warn-wash"]),
        ("bad", ["card", "bg", "bad-wash"]),
    ],
)
def test_text_reaches_4_5_to_1(theme: int, text: str, grounds: list[str]) -> None:
    colours = _blocks()[theme]
    for ground in grounds:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_borders_of_inputs_reach_3_to_1(theme: int) -> None:
    colours = _blocks()[theme]
    assert contrast(colours["control"], colours["card"]) >= 3


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_no_template_needs_more_than_the_csp_allows(path: Path) -> None:
    text = re.sub(r"{%\s*comment.*?endcomment\s*%}", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"\sstyle=", text), "a style attribute"
    assert not re.search(r"\son[a-z]+=", text), "an event handler attribute"
    assert not re.search(r"hx-on|javascript:|js:", text), "script in an htmx attribute"
    assert not re.search(r'hx-trigger="[^"]*\[', text), "a trigger filter is evaluated as script"
    for tag in re.findall(r"<script\b[^>]*>", text):
        assert "src=" in tag or "application/json" in tag, tag
    assert "<style" not in text


def test_plotly_finds_the_stand_in_for_its_map_style() -> None:
    """A new plotly.js with another id would break the policy on every page with a chart: this fails first."""
    named = re.search(r'MAP_STYLE = "(\w+)"', (ROOT / "static" / "js" / "charts.js").read_text())
    assert named is not None
    bundle = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text()
    assert f'if(!document.getElementById("{named[1]}"))' in bundle
    assert bundle.count('createElement("style")') <= 2
