"""Signed-in clients, and jobs that the real scheduler placed."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from console.common import clock, lease
from pool.scheduling.models import Job
from pool.scheduling.scheduler import Scheduler, lease_name
from pool.scheduling.services import submit_job
from tests.conftest import Actors

As = Callable[[str], Client]


@pytest.fixture
def as_(actors: Actors) -> As:
    """`as_("member_a")`: a client that is signed in as this person."""

    def client(name: str) -> Client:
        found = Client()
        found.force_login(actors.users[name])
        return found

    return client


@pytest.fixture
def schedule(db: None) -> Callable[[], None]:
    """One sweep of the real scheduler over all that waits."""

    def sweep() -> None:
        epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
        assert epoch is not None
        scheduler = Scheduler(epoch)
        scheduler.sweep()

    return sweep


@pytest.fixture
def submit(actors: Actors) -> Callable[..., Job]:
    """Submits for tenant A as its member, through the real service."""

    def make(name: str = "train", **spec: object) -> Job:
        return submit_job(actors.member_a, {"name": name, "command": ["python", "train.py"], **spec})

    return make
