"""Invoices in the ledger: booked when they are issued, paid from what the tenant has."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from billing.invoices.models import Invoice
from billing.ledger import chart, checking, queries
from billing.ledger.checking import Fault
from billing.ledger.models import Account, Posting
from billing.ledger.services import Wanted, check_finance, post
from console.common.actor import Actor
from console.common.errors import Conflict

A = Account.Kind
_CHUNK = 500


def key_of(invoice: Invoice) -> str:
    return f"invoice:{invoice.public_id}"


def book(actor: Actor, invoice: Invoice, now: datetime | None = None) -> Posting | None:
    """What an issued invoice asks for. Idempotent; None where it asks for nothing.

    One that gives back more than it asks for (corrections of earlier months) becomes stored value: no invoice is
    ever owed to the tenant.
    """
    units = chart.minor(invoice.total, invoice.currency)
    if not units:
        return None
    owed = A.RECEIVABLE if units > 0 else A.STORED
    return post(actor, _wanted(invoice, Posting.Kind.INVOICE, key_of(invoice), {owed: units, A.EARNED: -units}), now)


def open_units(invoice: Invoice) -> int:
    """What is still to be paid, in minor units."""
    return queries.moved_by(queries.about("invoice", invoice.public_id), A.RECEIVABLE)


def open_amount(invoice: Invoice) -> Decimal:
    return chart.major(open_units(invoice), invoice.currency)


def settle(actor: Actor, invoice: Invoice, now: datetime | None = None) -> Posting:
    """Pays what is open from credits first, then from stored value, as far as they go.

    Two at once are one: the key counts what was paid before. Raises NotAllowed, or Conflict: nothing is open, or there
    is nothing to pay it from.
    """
    check_finance(actor)
    before = queries.about("invoice", invoice.public_id).filter(kind=Posting.Kind.SETTLE).count()
    left = open_units(invoice)
    if left <= 0:
        raise Conflict(_("nothing of this invoice is open"), code="nothing_open")
    credits = min(left, _has(invoice, A.CREDITS))
    stored = min(left - credits, _has(invoice, A.STORED))
    if not credits + stored:
        raise Conflict(_("the tenant has neither credits nor stored value"), code="balance_too_low")
    entries = {A.CREDITS: credits, A.STORED: stored, A.RECEIVABLE: -credits - stored}
    key = f"settle:{invoice.public_id}:{before + 1}"
    return post(actor, _wanted(invoice, Posting.Kind.SETTLE, key, entries), now)


def book_missing(actor: Actor) -> int:
    """Books what was issued before there was a ledger; returns how many invoices."""
    booked = 0
    for row, units in _issued():
        if units is None and row.total and book(actor, row, row.issued_at):
            booked += 1
    return booked


def faults() -> Iterator[Fault]:
    """Issued invoices that the ledger does not know, or knows with another amount."""
    for row, units in _issued():
        said = chart.minor(row.total, row.currency)
        if said != (units or 0):
            yield Fault("invoice", row.public_id, str(units or 0), str(said))


def quick_faults() -> Iterator[Fault]:
    """What a page can compare: balances, postings, invoices."""
    yield from checking.balances()
    yield from checking.postings()
    yield from faults()


def every_fault() -> Iterator[Fault]:
    """All that can be wrong with the books: the same, and what each posting says against its digest."""
    yield from quick_faults()
    yield from checking.digests()


def _issued() -> Iterator[tuple[Invoice, int | None]]:
    """Each issued invoice with what the ledger booked for it, None where nothing."""
    last = 0
    while True:
        rows = Invoice.objects.filter(state=Invoice.State.ISSUED, pk__gt=last).select_related("tenant").order_by("pk")
        batch = list(rows[:_CHUNK])
        if not batch:
            return
        earned = Posting.objects.filter(key__in=[key_of(row) for row in batch], entries__account__kind=A.EARNED)
        known = dict(earned.values_list("key", "entries__amount"))
        for row in batch:
            amount = known.get(key_of(row))
            yield row, None if amount is None else -amount
        last = batch[-1].pk


def _has(invoice: Invoice, kind: str) -> int:
    rows = Account.objects.filter(tenant_id=invoice.tenant_id, currency=invoice.currency, kind=kind)
    return -(rows.values_list("balance", flat=True).first() or 0)


def _wanted(invoice: Invoice, kind: str, key: str, entries: dict[A, int]) -> Wanted:
    return Wanted(
        key=key,
        kind=kind,
        tenant=invoice.tenant,
        currency=invoice.currency,
        entries={str(account): amount for account, amount in entries.items() if amount},
        memo=invoice.label,
        about=("invoice", invoice.public_id),
    )
