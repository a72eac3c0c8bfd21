"""Every write of the ledger. A posting happens once, however often and by however many it is asked for."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

import structlog
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from billing.ledger import chart
from billing.ledger.models import Account, Entry, Posting
from console.audit import services as audit
from console.common import bulk, clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed, WeirError
from console.tenants.models import Tenant

log = structlog.get_logger("weir.billing")
_FOR_GOOD = {Posting.Kind.INVOICE, Posting.Kind.REVERSAL}


@dataclass(frozen=True, slots=True)
class Wanted:
    """`entries`: kind of account -> minor units, debit positive; their sum is zero. `key` is made from facts."""

    key: str
    kind: str
    tenant: Tenant
    currency: str
    entries: Mapping[str, int]
    memo: str = ""
    about: tuple[str, str] = ("", "")
    reverses: Posting | None = None


def post(actor: Actor, wanted: Wanted, now: datetime | None = None) -> Posting:
    """Books it, or returns what the same key has booked already.

    Raises Conflict: the key says something else (posting_differs), or an account has not that much (balance_too_low).
    """
    digest = _digest(wanted)
    known = Posting.objects.filter(key=wanted.key).first()
    if known is None:
        try:
            with transaction.atomic():
                return _store(actor, wanted, digest, now or clock.now())
        except IntegrityError as error:
            known = Posting.objects.filter(key=wanted.key).first()
            if known is None:
                raise _refusal(wanted, error) from error
    if known.digest != digest:
        text = _("%(key)s is booked already, with other facts; a new fact needs a reference of its own")
        raise Conflict(text % {"key": wanted.key}, code="posting_differs")
    return known


def move(
    actor: Actor,
    tenant: Tenant,
    kind: str,
    amount: Decimal | str,
    reference: str,
    memo: str = "",
    now: datetime | None = None,
) -> Posting:
    """One of `chart.MOVES`, by hand, in the tenant's currency. `reference` names the fact, such as a bank's number.

    The same reference of the same tenant again is the same posting. Raises NotAllowed, InvalidInput, Conflict.
    """
    check_finance(actor)
    units = _checked(tenant, kind, amount, reference, memo)
    between = chart.MOVES[kind]
    wanted = Wanted(
        key=f"hand:{tenant.public_id}:{reference.strip()}",
        kind=kind,
        tenant=tenant,
        currency=tenant.currency,
        entries={between.debit: units, between.credit: -units},
        memo=memo.strip(),
    )
    return post(actor, wanted, now)


def reverse(actor: Actor, posting: Posting, memo: str = "", now: datetime | None = None) -> Posting:
    """Opposite entries of what was booked, once. Raises NotAllowed, or Conflict where it cannot be taken back."""
    check_finance(actor)
    _check_text("memo", memo)
    if not may_be_reversed(posting):
        text = _("an invoice is taken back by a credit note, and a reversal by booking the fact anew")
        raise Conflict(text, code="not_reversible")
    rows = posting.entries.select_related("account")
    wanted = Wanted(
        key=f"reverse:{posting.public_id}",
        kind=Posting.Kind.REVERSAL,
        tenant=posting.tenant,
        currency=posting.currency,
        entries={row.account.kind: -row.amount for row in rows},
        memo=memo.strip(),
        about=(posting.about_type, posting.about_id),
        reverses=posting,
    )
    return post(actor, wanted, now)


def may_be_reversed(posting: Posting) -> bool:
    return posting.kind not in _FOR_GOOD


def check_finance(actor: Actor) -> None:
    # separate powers: an operator may read the books, not write in them
    if not actor.is_finance:
        raise NotAllowed(_("only a finance officer writes in the ledger"))


def digest_of(posting: Posting, entries: Mapping[str, int]) -> str:
    """SHA-256 of what a stored posting says, for the check of the books."""
    return _hash(
        posting.key,
        posting.kind,
        posting.tenant.public_id,
        posting.currency,
        entries,
        posting.memo,
        (posting.about_type, posting.about_id),
        posting.reverses.public_id if posting.reverses else "",
    )


def _digest(wanted: Wanted) -> str:
    reverses = wanted.reverses.public_id if wanted.reverses else ""
    head = (wanted.key, wanted.kind, wanted.tenant.public_id, wanted.currency)
    return _hash(*head, wanted.entries, wanted.memo, wanted.about, reverses)


def _hash(
    key: str,
    kind: str,
    tenant: str,
    currency: str,
    entries: Mapping[str, int],
    memo: str,
    about: tuple[str, str],
    reverses: str,
) -> str:
    sides = sorted((str(account), amount) for account, amount in entries.items())
    body = [key, str(kind), tenant, currency, sides, memo, list(about), reverses]
    return hashlib.sha256(json.dumps(body, ensure_ascii=False).encode()).hexdigest()


def _store(actor: Actor, wanted: Wanted, digest: str, now: datetime) -> Posting:
    """Entries first, in the order of their accounts, so that two writers never wait for each other in a ring."""
    posting = Posting(
        key=wanted.key,
        digest=digest,
        kind=wanted.kind,
        tenant=wanted.tenant,
        currency=wanted.currency,
        at=now,
        memo=wanted.memo,
        about_type=wanted.about[0],
        about_id=wanted.about[1],
        reverses=wanted.reverses,
        actor_label=actor.label[:200],
    )
    accounts = [(_account(wanted, kind), amount) for kind, amount in sorted(wanted.entries.items()) if amount]
    bulk.Keys({Posting: 1}).number([[posting]])
    accounts.sort(key=lambda pair: pair[0].pk)
    Entry.objects.bulk_create(
        [Entry(posting_id=posting.pk, account=account, amount=amount) for account, amount in accounts]
    )
    posting.save(force_insert=True)
    audit.record(actor, f"ledger.{wanted.kind}", posting, tenant_id=wanted.tenant.pk, after=_told(wanted))
    log.info("posted", posting=posting.public_id, kind=str(wanted.kind), key=wanted.key)
    return posting


def _account(wanted: Wanted, kind: str) -> Account:
    return Account.objects.get_or_create(tenant=wanted.tenant, kind=kind, currency=wanted.currency)[0]


def _told(wanted: Wanted) -> dict[str, object]:
    amounts = {str(kind): str(chart.major(amount, wanted.currency)) for kind, amount in wanted.entries.items()}
    return {"key": wanted.key, "currency": wanted.currency, "entries": amounts}


def _refusal(wanted: Wanted, error: IntegrityError) -> WeirError | IntegrityError:
    """What the database refused, in words; a fault of ours stays what it is."""
    names = {
        "ledger_stored_value_not_overdrawn": _("the stored value of %(tenant)s is less than that"),
        "ledger_credits_not_overdrawn": _("the credits of %(tenant)s are less than that"),
        "ledger_deferred_not_overdrawn": _("what %(tenant)s has prepaid is less than that"),
        "ledger_receivable_not_overpaid": _("%(tenant)s owes less than that"),
    }
    for name, text in names.items():
        if name in str(error):
            return Conflict(text % {"tenant": wanted.tenant.slug}, code="balance_too_low")
    return error


def _checked(tenant: Tenant, kind: str, amount: Decimal | str, reference: str, memo: str) -> int:
    if kind not in chart.MOVES:
        raise InvalidInput([FieldError("kind", _("must be one of: %s") % ", ".join(chart.MOVES))])
    try:
        exact = Decimal(amount)
    except (InvalidOperation, ValueError, TypeError):
        exact = Decimal("NaN")
    units = chart.minor(exact, tenant.currency)
    if units <= 0:
        raise InvalidInput([FieldError("amount", _("must be more than nothing"))])
    if not reference.strip() or len(reference.strip()) > 100 or "\0" in reference:
        raise InvalidInput([FieldError("reference", _("must name the fact, in at most 100 characters"))])
    _check_text("memo", memo)
    return units


def _check_text(field: str, text: str) -> None:
    if len(text) > 200 or "\0" in text:
        raise InvalidInput([FieldError(field, _("must have at most 200 characters"))])
