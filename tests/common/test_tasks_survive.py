"""Every Celery task, killed at one statement after another and then run twice: the end is that of a run in peace (I7).

A task without a scenario here fails. The killed process is a fork that sends SIGKILL to itself before a statement.
"""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from celery import Task
from django.contrib.sessions.models import Session
from django.db import connection, connections

from billing.catalog.services import set_price
from billing.invoices import booking
from billing.invoices import services as invoices
from billing.invoices.models import BilledUsage, Invoice, InvoiceLine
from billing.ledger.models import Account, Posting
from billing.metering import services as metering
from billing.metering.models import Metered, UsageRecord
from billing.metering.queries import reconcile
from console.audit.models import AuditEntry
from console.celery import app
from console.common import clock
from console.common.actor import system
from console.common.models import IdempotencyKey, Lease
from console.tenants.models import Tenant
from console.tenants.queries import actor_for_user
from pool.nodes.models import JoinToken, LogChunk, NodeRollup
from pool.scheduling.models import (
    DefragPlan,
    FragmentationSample,
    Job,
    NodeCommand,
    QueueSample,
    Replica,
    UseHour,
)
from pool.scheduling.services.budgets import set_budget
from tests import factories
from tests.billing import build

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.usefixtures("live")]
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)
OLD, NEW = NOW - timedelta(days=90), NOW - timedelta(minutes=5)
HOUR = timedelta(hours=1)
ROWS = 3  # of each kind that is to go, and of each that is to stay

app.loader.import_default_modules()
TASKS: dict[str, Task[Any, Any]] = {
    name: task for name, task in app.tasks.items() if name.split(".")[0] in {"pool", "billing", "console"}
}


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    # what a task hands on in a message is done at once, so that its death half-way includes that
    monkeypatch.setattr("billing.invoices.tasks.send", lambda task, *args, expires: task(*args))


def keys() -> None:
    for at in (OLD, NOW + HOUR):
        for number in range(ROWS):
            name = f"{at:%Y}{at:%m}-{number}"
            IdempotencyKey.objects.create(caller="user:1", key=name, fingerprint="f", expires_at=at)
            Session.objects.create(session_key=name, session_data="", expire_date=at)


def keys_left() -> Any:
    return IdempotencyKey.objects.count(), Session.objects.count()


def _ended(at: datetime) -> Replica:
    card, job = build.device(), build.job(factories.make_tenant())
    build.interval(card, job, at - HOUR, at)
    Job.objects.filter(pk=job.pk).update(state="succeeded", finished_at=at)
    return Replica.objects.get(job=job)


def old_rows() -> None:
    for at in (OLD, NEW):
        replica = _ended(at)
        for number in range(ROWS):
            LogChunk.objects.create(replica=replica, stream="stdout", offset=number, data=b"x", at=at)
            NodeRollup.objects.create(
                node=replica.node, period_s=60, starts_at=at + number * timedelta(minutes=1), payload=b"\0" * 10
            )
            site = factories.make_site()
            JoinToken.objects.create(site=site, digest=f"{at}{number}", created_at=at, expires_at=at, uses_left=1)


def old_rows_left() -> Any:
    return LogChunk.objects.count(), NodeRollup.objects.count(), JoinToken.objects.count()


def commands() -> None:
    for at in (OLD, NEW):
        for state in ("done", "failed", "obsolete"):
            replica = _ended(at)
            facts = {"replica": replica, "node": replica.node, "kind": "stop", "payload": {}, "epoch": 1}
            NodeCommand.objects.create(state=state, created_at=at, **facts)
            QueueSample.objects.create(queue=replica.job.queue, at=at, used_bp=0, wanted_bp=0, entitled_bp=0)


def commands_left() -> Any:
    return NodeCommand.objects.count(), QueueSample.objects.count()


def usage() -> None:
    set_price(system("f"), model_name="H100-80GB", isolation="exclusive", per_card_hour="30", valid_from=T0, now=T0)
    card = build.device()
    for number, tenant in enumerate([factories.make_tenant(), factories.make_tenant()]):
        job = build.job(tenant)
        for hour in range(ROWS):
            at = NOW - timedelta(hours=40 - 10 * number - 2 * hour)
            build.interval(card, job, at, at + HOUR)


def usage_metered() -> Any:
    length = sum(UsageRecord.objects.values_list("microseconds", flat=True))
    held = reconcile(NOW - timedelta(days=3), NOW)
    return length, UsageRecord.objects.count(), Metered.objects.filter(settled=True).count(), held.holds


def bills() -> None:
    usage()
    metering.meter_closed(NOW)


def bills_drafted() -> Any:
    """By tenant: (month, total, lines, records on it)."""
    rows = Invoice.objects.order_by("tenant").values_list("pk", "month", "total")
    return [
        (month, total, InvoiceLine.objects.filter(invoice=pk).count(), BilledUsage.objects.filter(invoice=pk).count())
        for pk, month, total in rows
    ]


def unbooked() -> None:
    """Two invoices that were issued before there was a ledger."""
    bills()
    for number, tenant in enumerate(Tenant.objects.filter(pk__in=UsageRecord.objects.values("tenant")), 1):
        draft = invoices.refresh(system("f"), tenant, date(2026, 11, 1), NOW)
        Invoice.objects.filter(pk=draft.pk).update(state="issued", year=2026, number=number, issued_at=NOW)


def booked() -> Any:
    faults = [fault.kind for fault in booking.every_fault()]
    return Posting.objects.count(), sorted(Account.objects.values_list("kind", "balance")), faults


def held_hours() -> None:
    """Three hours of a card, in a queue that may use two a month."""
    card, job = build.device(), build.job(factories.make_tenant())
    for hour in range(ROWS):
        build.interval(card, job, NOW - (ROWS - hour) * HOUR, NOW - (ROWS - hour - 1) * HOUR)
    set_budget(
        actor_for_user(factories.make_user("o@example.test", "operator")), job.queue, {"hours": Decimal(ROWS - 1)}
    )


def hours_copied() -> Any:
    told = AuditEntry.objects.filter(action="budget.spent").count()
    return sorted(UseHour.objects.values_list("share_s", flat=True)), told


def free_cards() -> None:
    factories.make_node(devices=2)


def measured() -> Any:
    return FragmentationSample.objects.count(), list(DefragPlan.objects.values_list("state", flat=True))


def minute_later() -> None:
    """The lease of whoever died has run out."""
    Lease.objects.filter(name__startswith="defrag.").update(expires_at=OLD)


AFTER_DEATH: dict[str, Callable[[], None]] = {"pool.scheduling.tasks.defragment": minute_later}


# (what is there, what to look at, what it must say in the end, the arguments of the task)
Scenario = tuple[Callable[[], None], Callable[[], Any], Any, Callable[[], tuple[Any, ...]]]


METERED = (2 * ROWS * 3_600_000_000, 2 * ROWS, 2 * ROWS, True)
BOOKED = (2, [("earned", -3000 * ROWS)] * 2 + [("receivable", 3000 * ROWS)] * 2, [])
DRAFTED = [(date(2026, 11, 1), Decimal(30 * ROWS), 1, ROWS)] * 2


def nothing() -> tuple[Any, ...]:
    return ()


def one_draft() -> tuple[Any, ...]:
    return UsageRecord.objects.order_by("tenant_id").values_list("tenant_id", flat=True)[0], "2026-11-01"


SCENARIOS: dict[str, Scenario] = {
    "console.common.tasks.prune": (keys, keys_left, (ROWS, ROWS), nothing),
    "pool.nodes.tasks.prune": (old_rows, old_rows_left, (ROWS, ROWS, ROWS), nothing),
    "pool.scheduling.tasks.prune": (commands, commands_left, (ROWS, ROWS), nothing),
    "pool.scheduling.tasks.fold_use": (held_hours, hours_copied, ([10_000 * 3_600] * ROWS, 1), nothing),
    "pool.scheduling.tasks.defragment": (free_cards, measured, (1, ["empty"]), nothing),
    "billing.metering.tasks.sweep": (usage, usage_metered, METERED, nothing),
    "billing.metering.tasks.wake": (usage, usage_metered, METERED, nothing),
    "billing.invoices.tasks.draft_last_month": (bills, bills_drafted, DRAFTED, nothing),
    "billing.invoices.tasks.draft": (bills, bills_drafted, DRAFTED[:1], one_draft),
    "billing.invoices.tasks.check_books": (unbooked, booked, BOOKED, nothing),
}


class Death:
    """Counts statements; before number `at` the process kills itself."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.seen = at, 0

    def __call__(self, execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen += 1
        return execute(statement, params, many, context)


def run(task: Any, args: tuple[Any, ...], death: Death) -> None:
    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(death))
        task(*args)


def killed(task: Any, args: tuple[Any, ...], at: int) -> bool:
    """Whether a process of its own, with connections of its own, died by its own hand."""
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(task, args, Death(at))
            code = 0
        finally:
            os._exit(code)  # no fixture of the parent may run its end here
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_every_task_has_a_scenario() -> None:
    assert set(TASKS) == set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_run_twice_it_does_the_same_once(name: str) -> None:
    prepare, outcome, expected, words = SCENARIOS[name]
    prepare()
    args = words()
    assert outcome() != expected, "the scenario gives it something to do"
    for _ in range(2):
        run(TASKS[name], args, Death())
        assert outcome() == expected


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_before_one_statement_after_another_it_ends_as_in_peace(name: str) -> None:
    """What one death leaves behind, the next run goes on with, and dies one statement later."""
    prepare, outcome, expected, words = SCENARIOS[name]
    prepare()
    args, deaths = words(), 0
    while killed(TASKS[name], args, deaths):
        deaths += 1
        AFTER_DEATH.get(name, lambda: None)()
        assert deaths < 500, "it never comes to its end"
    assert deaths > 1
    assert outcome() == expected, "the run that lived finished what the dead ones had begun"
    run(TASKS[name], args, Death())
    assert outcome() == expected
