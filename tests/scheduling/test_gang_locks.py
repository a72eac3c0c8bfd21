"""A gang that loses a member is stopped on all its nodes: these are locked in one order, before anything is held."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction

from console.common import clock
from pool.nodes.models import Agent
from pool.nodes.services.news import News, apply_news
from pool.scheduling import services
from pool.scheduling.models import Allocation, Job, NodeCommand, Replica
from tests import factories
from tests.inventory.test_lock_order import LOCK, blocked
from tests.nodes.work import Bench
from tests.scheduling.concurrency import run, session

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer"),
]


@pytest.fixture
def last(transactional_db: None) -> Replica:
    """The member of a running gang of two on the node that comes last; the other's start is still on its way."""
    for name in ("n1", "n2"):
        node = factories.make_node(name, devices=1)
        Agent.objects.create(node=node, credential_digest=name, session=1)
    Bench().run(["sleep", "60"], gpu_fraction=1, replicas=2)
    return Replica.objects.order_by("node_id")[1]


def lose(last: Replica) -> None:
    now = clock.now()
    services.replicas_lost(last.node_id, last_proof_at=now, now=now, reason="gone")


def fail(last: Replica) -> None:
    ended = {"received_at": clock.now(), "age_us": 0, "exit_code": 1, "detail": "", "result": "failed"}
    services.replica_ended(last.public_id, **ended)


def tell(last: Replica) -> None:
    """What the gateway does with a batch of news."""
    message = {"type": "exited", "replica": last.public_id, "exit_code": 1, "cause": "exit", "detail": "", "age_us": 0}
    apply_news([News(last.node_id, 1, message, clock.now(), None)])


@pytest.mark.parametrize("end", [lose, fail, tell])
def test_it_waits_for_the_first_node_and_holds_none(last: Replica, end: Callable[[Replica], None]) -> None:
    first = Replica.objects.order_by("node_id")[0]
    assert first.node_id < last.node_id
    failures: list[BaseException] = []

    def stop() -> None:
        try:
            end(last)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    with session() as other:
        run(other, "BEGIN")
        run(other, LOCK, (first.node_id,))
        thread = threading.Thread(target=stop)
        thread.start()
        blocked(other)
        run(other, LOCK, (last.node_id,))  # refused at once where the other has taken it already
        run(other, "UPDATE inventory_node SET labels = labels WHERE id = %s", (last.node_id,))
        run(other, "COMMIT")
        thread.join(120)
    assert not thread.is_alive()
    assert failures == []
    assert not Allocation.objects.filter(released_at=None).exists()
    assert not NodeCommand.objects.filter(kind="start", state="pending").exists()
    assert Job.objects.get().state in {"queued", "failed"}


def test_a_member_that_succeeds_holds_its_own_node_only(last: Replica) -> None:
    with session() as other:
        first = Replica.objects.order_by("node_id")[0]
        run(other, "BEGIN")
        run(other, LOCK, (first.node_id,))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            ended = {"age_us": 0, "exit_code": 0, "detail": "", "result": "succeeded"}
            assert services.replica_ended(last.public_id, received_at=clock.now() + timedelta(seconds=1), **ended)
        run(other, "COMMIT")
    last.refresh_from_db()
    assert last.state == "succeeded"
