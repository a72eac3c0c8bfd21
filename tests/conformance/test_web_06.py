"""Web 6: a long countdown ran four times. Nothing of ours has one: due times are rows that sweeps look at."""

import re
from pathlib import Path

from console.celery import app

ROOT = Path(__file__).parents[2]


def test_no_task_is_sent_with_a_delay():
    delayed = re.compile(r"\b(countdown|eta)\s*=")
    sources = [path for room in ("console", "pool", "billing") for path in (ROOT / room).rglob("*.py")]
    assert sources
    assert [path for path in sources if delayed.search(path.read_text())] == []


def test_a_message_is_seen_again_only_after_the_longest_task():
    assert app.conf.task_time_limit < app.conf.broker_transport_options["visibility_timeout"]


def test_tasks_are_acknowledged_late_and_taken_one_by_one():
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
