"""Double entry: each fact once, balances that follow, and a database that lets nobody edit the books."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from billing.catalog.models import Price
from billing.invoices import booking, services, tasks
from billing.invoices.models import Invoice
from billing.ledger import chart, checking, queries
from billing.ledger.models import Account, Entry, Posting
from billing.ledger.services import Wanted, move, post, reverse
from billing.metering import services as metering
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants.models import Tenant
from pool.inventory.models import Device
from tests import factories
from tests.billing import build
from tests.conftest import Actors

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
AFTER = datetime(2026, 11, 30, 17, tzinfo=UTC)
F = system("f")
MOVED = ("payment", "grant", "refund", "withdraw", "charge", "prepay", "earn", "lapse")


def balances(tenant: Tenant) -> dict[str, int]:
    """As a bookkeeper reads them, those that are not nothing."""
    rows = Account.objects.filter(tenant=tenant).exclude(balance=0)
    return {row.kind: chart.natural(row.kind, row.balance) for row in rows}


def pay_in(tenant: Tenant, amount: str = "10", reference: str = "bank-1") -> Posting:
    return move(F, tenant, "payment", amount, reference)


def issued(actors: Actors, hours: int = 1) -> Invoice:
    card = build.device()
    build.interval(card, build.job(actors.a), T0, T0 + hours * HOUR)
    metering.meter_closed(AFTER)
    draft = services.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER)
    return services.issue(actors.finance, draft, AFTER)


def right() -> bool:
    return not list(booking.every_fault()) and queries.trial_balance().holds


def test_each_movement_is_between_its_two_accounts() -> None:
    tenant = factories.make_tenant()
    for i, (kind, amount) in enumerate(zip(MOVED, ("100", "20", "10", "5", "30", "24", "8", "1.5"), strict=True)):
        move(F, tenant, kind, amount, f"r{i}")
    assert balances(tenant) == {
        "cash": 9000,
        "promotions": 1500,
        "stored_value": 3450,
        "credits": 1500,
        "deferred": 1600,
        "earned": 3800,
        "breakage": 150,
    }
    assert right()


def test_the_same_reference_is_the_same_posting_and_another_fact_is_refused() -> None:
    tenant, other = factories.make_tenant(), factories.make_tenant()
    first = pay_in(tenant)
    assert pay_in(tenant, "10.00") == first
    with pytest.raises(Conflict, match="booked already, with other facts"):
        pay_in(tenant, "11")
    assert pay_in(other) != first
    assert balances(tenant) == {"cash": 1000, "stored_value": 1000}
    assert AuditEntry.objects.filter(action="ledger.payment").count() == 2


@pytest.mark.parametrize("kind", ["refund", "withdraw", "charge", "prepay", "earn", "lapse"])
def test_nothing_goes_below_zero(kind: str) -> None:
    tenant = factories.make_tenant()
    with pytest.raises(Conflict, match="less than that") as refusal:
        move(F, tenant, kind, "0.01", "r")
    assert refusal.value.code == "balance_too_low"
    assert not Posting.objects.exists()


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("amount", {"amount": "NaN"}),
        ("amount", {"amount": "0"}),
        ("amount", {"amount": "-1"}),
        ("amount", {"amount": "1.001"}),
        ("amount", {"amount": "1e30"}),
        ("amount", {"amount": "ten"}),
        ("kind", {"kind": "invoice"}),
        ("reference", {"reference": " "}),
        ("reference", {"reference": "x" * 101}),
        ("reference", {"reference": "a\0"}),
        ("memo", {"memo": "x" * 201}),
    ],
)
def test_what_makes_no_sense_is_named_and_changes_nothing(field: str, more: dict[str, str]) -> None:
    given = {"kind": "payment", "amount": "1", "reference": "r"} | more
    with pytest.raises(InvalidInput) as refusal:
        move(F, factories.make_tenant(), **given)
    assert [error.field for error in refusal.value.errors] == [field]
    assert not Account.objects.exists()


def test_yen_have_no_decimals_and_dinars_three() -> None:
    for currency, units in (("JPY", 5), ("KWD", 5000)):
        tenant = factories.make_tenant(currency=currency)
        move(F, tenant, "payment", "5", "r")
        assert balances(tenant)["cash"] == units
        assert chart.major(units, currency) == 5
    with pytest.raises(InvalidInput, match="at most 0 decimals"):
        move(F, factories.make_tenant(currency="JPY"), "payment", "5.5", "r")


def test_only_finance_writes(actors: Actors) -> None:
    for actor in (actors.operator, actors.auditor, actors.owner_a, actors.billing_a):
        with pytest.raises(NotAllowed):
            move(actor, actors.a, "payment", "1", "r")
    posting = move(actors.finance, actors.a, "payment", "1", "r")
    with pytest.raises(NotAllowed):
        reverse(actors.operator, posting)


def test_a_reversal_is_the_opposite_once_and_for_good() -> None:
    tenant = factories.make_tenant()
    posting = pay_in(tenant)
    taken = reverse(F, posting, "wrong tenant")
    assert balances(tenant) == {}
    assert reverse(F, posting, "wrong tenant") == taken
    assert (taken.reverses, posting.reversed_by) == (posting, taken)
    with pytest.raises(Conflict, match="anew"):
        reverse(F, taken)
    assert right()


def test_what_is_spent_cannot_be_reversed() -> None:
    tenant = factories.make_tenant()
    posting = pay_in(tenant)
    move(F, tenant, "charge", "1", "r2")
    with pytest.raises(Conflict, match="less than that"):
        reverse(F, posting)
    assert balances(tenant) == {"cash": 1000, "stored_value": 900, "earned": 100}


def test_the_database_refuses_to_edit_the_books() -> None:
    tenant = factories.make_tenant()
    posting = pay_in(tenant)
    entry = posting.entries.first()
    assert entry is not None
    account = entry.account
    changes = [
        lambda: Posting.objects.update(memo="x"),
        lambda: Posting.objects.all()._raw_delete("default"),
        lambda: Entry.objects.update(amount=1),
        lambda: Entry.objects.all()._raw_delete("default"),
        lambda: Entry.objects.create(posting=posting, account=Account.objects.create(**_fresh(tenant)), amount=5),
        lambda: Account.objects.filter(pk=account.pk).update(balance=0),
        lambda: Account.objects.filter(pk=account.pk).update(entries=7),
        lambda: Account.objects.filter(pk=account.pk).update(currency="USD"),
        lambda: Account.objects.filter(pk=account.pk)._raw_delete("default"),
        lambda: Account.objects.create(**_fresh(tenant), balance=-5),
    ]
    for change in changes:
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    assert right()


def _fresh(tenant: Tenant) -> dict[str, object]:
    return {"tenant": tenant, "kind": "tax_payable", "currency": "CNY"}


@pytest.mark.parametrize(
    "entries",
    [
        {"cash": 100, "stored_value": -99},
        {"cash": 100},
        {},
    ],
)
def test_a_posting_that_does_not_sum_to_zero_is_refused(entries: dict[str, int]) -> None:
    wanted = Wanted("k", "payment", factories.make_tenant(), "CNY", entries)
    with pytest.raises(IntegrityError, match="debits equal its credits"):
        post(F, wanted)
    assert not Entry.objects.exists()


def test_another_tenants_or_currencys_account_is_refused() -> None:
    tenant, other = factories.make_tenant(), factories.make_tenant()
    own = Account.objects.create(tenant=tenant, kind="cash", currency="CNY")
    for strange in (
        Account.objects.create(tenant=other, kind="earned", currency="CNY"),
        Account.objects.create(tenant=tenant, kind="earned", currency="USD"),
    ):
        with pytest.raises(IntegrityError, match="own tenant and currency"), transaction.atomic():
            book_raw(tenant, own, strange)


def book_raw(tenant: Tenant, debit: Account, credit: Account) -> None:
    """Without the service."""
    Entry.objects.bulk_create([Entry(posting_id=99, account=a, amount=n) for a, n in ((debit, 5), (credit, -5))])
    Posting.objects.create(id=99, key="k", digest="d", kind="charge", tenant=tenant, currency="CNY", at=T0)


def test_entries_without_a_posting_never_commit() -> None:
    account = Account.objects.create(**_fresh(factories.make_tenant()))
    Entry.objects.create(posting_id=99, account=account, amount=5)
    with pytest.raises(IntegrityError), transaction.atomic():
        connection.check_constraints()
    transaction.set_rollback(True)


def test_an_issued_invoice_is_booked_and_paid_from_credits_first(actors: Actors, price: Price) -> None:
    invoice = issued(actors)
    assert balances(actors.a) == {"receivable": 3000, "earned": 3000}
    assert booking.open_amount(invoice) == Decimal("30.00")
    with pytest.raises(Conflict, match="neither credits nor stored value"):
        booking.settle(F, invoice)
    move(F, actors.a, "grant", "12", "goodwill")
    move(F, actors.a, "payment", "10", "bank-1")
    first = booking.settle(F, invoice)
    assert balances(actors.a) == {"receivable": 800, "earned": 3000, "cash": 1000, "promotions": 1200}
    move(F, actors.a, "payment", "10", "bank-2")
    booking.settle(F, invoice)
    assert booking.open_amount(invoice) == 0
    with pytest.raises(Conflict, match="nothing of this invoice is open"):
        booking.settle(F, invoice)
    reverse(F, first)
    assert booking.open_amount(invoice) == Decimal("22.00")
    booking.settle(F, invoice)
    assert booking.open_amount(invoice) == 0
    assert right()


def test_an_invoice_is_not_reversed_and_booked_once(actors: Actors, price: Price) -> None:
    invoice = issued(actors)
    posting = booking.book(F, invoice, AFTER)
    assert posting is not None
    assert Posting.objects.count() == 1
    with pytest.raises(Conflict, match="credit note"):
        reverse(F, posting)


def test_an_invoice_that_gives_back_becomes_stored_value(actors: Actors) -> None:
    invoice = Invoice(
        public_id="inv_x", tenant=actors.a, month=date(2026, 11, 1), currency="CNY", total=Decimal("-4.20")
    )
    booking.book(F, invoice, AFTER)
    assert balances(actors.a) == {"stored_value": 420, "earned": -420}
    assert booking.open_units(invoice) == 0


def test_the_check_finds_what_differs_and_books_what_is_missing(
    actors: Actors, price: Price, card: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before_the_ledger:
        before_the_ledger.setattr(services.booking, "book", lambda *a: None)
        invoice = issued(actors)
    assert [(fault.kind, fault.public_id, fault.said) for fault in booking.faults()] == [
        ("invoice", invoice.public_id, "3000")
    ]
    assert tasks.check_books() == 0
    assert Posting.objects.get().at == AFTER
    assert tasks.check_books() == 0
    assert Posting.objects.count() == 1


def test_the_check_names_a_falsified_row(capsys: pytest.CaptureFixture[str]) -> None:
    tenant = factories.make_tenant()
    posting = pay_in(tenant)
    call_command("check_books")
    assert "the books are right" in capsys.readouterr().out
    _falsify("UPDATE ledger_account SET balance = balance - 5 WHERE kind = 'stored_value'")
    _falsify("UPDATE ledger_posting SET memo = 'another'")
    _falsify("UPDATE ledger_entry SET amount = amount + 7 WHERE amount > 0")
    account = Account.objects.get(kind="stored_value")
    cash = Account.objects.get(kind="cash")
    assert {(fault.kind, fault.public_id) for fault in booking.every_fault()} == {
        ("balance", account.public_id),
        ("balance", cash.public_id),
        ("posting", posting.public_id),
        ("digest", posting.public_id),
    }
    with pytest.raises(SystemExit):
        call_command("check_books")
    assert tasks.check_books() == 4
    assert AuditEntry.objects.filter(action="ledger.check", result="failed").count() == 4
    assert not queries.trial_balance().holds
    assert list(checking.postings())


def _falsify(statement: str) -> None:
    """As somebody who owns the database would: triggers off for that moment."""
    table = statement.split()[1]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(statement)
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        kept = cursor.fetchall()
        for name, _ in kept:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute(statement)
        for _, sql in kept:
            cursor.execute(sql)


def test_the_trial_balance_is_of_a_time_and_of_a_tenant() -> None:
    a, b = factories.make_tenant(), factories.make_tenant(currency="USD")
    move(F, a, "payment", "10", "r", now=T0)
    move(F, a, "charge", "4", "s", now=T0 + HOUR)
    move(F, b, "payment", "7", "r", now=T0)
    rows = [(row.currency, row.kind, row.debits, row.credits) for row in queries.trial_balance().rows]
    assert rows == [
        ("CNY", "cash", 1000, 0),
        ("CNY", "stored_value", 400, 1000),
        ("CNY", "earned", 0, 400),
        ("USD", "cash", 700, 0),
        ("USD", "stored_value", 0, 700),
    ]
    assert sums(queries.trial_balance(before=T0 + HOUR)) == [("CNY", 1000, 1000), ("USD", 700, 700)]
    assert sums(queries.trial_balance(tenant=b)) == [("USD", 700, 700)]
    total = queries.trial_balance().sums[0]
    assert (total.debits, total.debit_balances, total.credit_balances) == (1400, 1000, 1000)


def sums(found: queries.TrialBalance) -> list[tuple[str, int, int]]:
    assert found.holds
    return [(total.currency, total.debits, total.credits) for total in found.sums]
