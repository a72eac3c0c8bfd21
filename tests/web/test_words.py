"""Every kind that the scheduler and the engine store has words, so that no page shows a bare code."""

import re
from pathlib import Path

import pytest

from console.web.tones import TONES
from pool.engine.funnel import FILTERS
from pool.scheduling.models import JobState, ReplicaState
from pool.scheduling.pages import reasons, words
from pool.scheduling.states import StopReason

ROOM = Path(__file__).resolve().parents[2] / "pool" / "scheduling"


def test_every_event_has_a_sentence() -> None:
    source = "\n".join(path.read_text() for path in ROOM.rglob("*.py") if "pages" not in path.parts)
    calls = [
        call
        for call in re.findall(r"\bnote(?:_where)?\((.*?)\)\n", source, re.DOTALL)
        if not call.startswith("job: Job")
    ]
    kinds = {word for call in calls for word in re.findall(r'(?<![=\w])"(\w+)"(?!:)', call)}
    services = "\n".join(path.read_text() for path in (ROOM / "services").glob("*.py"))
    kinds |= set(re.findall(r'\bkind="(\w+)"', services))  # events that are stored in batches
    assert {"submitted", "placed", "started", "finished", "cancelled"} <= kinds
    assert kinds <= set(words._EVENTS), kinds - set(words._EVENTS)


def test_every_filter_of_the_engine_has_words() -> None:
    assert set(FILTERS) == set(reasons.FILTERS)


def test_every_change_of_the_engine_has_words() -> None:
    source = "".join((ROOM.parent / "engine" / name).read_text() for name in ("changes.py", "loosened.py"))
    kinds = set(re.findall(r'(?:yield |Change\(|_amount\()"(\w+)"', source))
    assert {"cpu_milli", "min_member", "models", "required_topology_level", "affinity", "vendors"} <= kinds
    assert kinds <= set(reasons.FIELDS)


@pytest.mark.parametrize("word", [*StopReason.values, "succeeded", "failed", "lost"])
def test_every_outcome_has_words(word: str) -> None:
    assert words.outcome(word) != word


@pytest.mark.parametrize("state", [*JobState.values, *ReplicaState.values])
def test_every_state_has_an_icon_and_a_tone(state: str) -> None:
    assert state in TONES
