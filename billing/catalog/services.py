"""Every change of the price book."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

import structlog
from django.db import transaction
from django.db.models import F

from billing import config
from billing.catalog import queries
from billing.catalog.defaults import CURRENCY, PER_CARD_HOUR
from billing.catalog.models import PRICE_DIGITS, PRICE_PLACES, PRODUCTS, Price, PriceBook
from billing.rating.pieces import Timeline
from console.audit import services as audit
from console.common import clock
from console.common.actor import Actor
from console.common.errors import Conflict, FieldError, InvalidInput, NotAllowed
from pool.inventory.known_models import KNOWN

log = structlog.get_logger("weir.billing")
ISOLATIONS: Final = frozenset(value for value, _ in PRODUCTS)
LARGEST: Final = Decimal(10) ** (PRICE_DIGITS - PRICE_PLACES)
# assumed prices cover imported history too
SEED_FROM: Final = datetime(2020, 1, 1, tzinfo=UTC)


def book_of(currency: str) -> PriceBook:
    """The book of a currency; made when it is first needed."""
    return PriceBook.objects.get_or_create(currency=currency)[0]


def advance_fence(book_id: int, fence: int) -> bool:
    """Inside a transaction: True once this writer, and no other, may act on what it read at `fence`."""
    return bool(PriceBook.objects.filter(pk=book_id, fence=fence).update(fence=F("fence") + 1))


def set_price(
    actor: Actor,
    *,
    model_name: str,
    isolation: str,
    per_card_hour: Decimal | str | None,
    valid_from: datetime | None = None,
    note: str = "",
    currency: str = "",
    now: datetime | None = None,
    approved: bool = False,
) -> Price:
    """Adds a version. `per_card_hour` None: no longer sold from then on. `valid_from` None: from now on.

    A version may begin in the past only where nothing was sold since: time that had a price keeps it. `approved`: a
    second person allowed another price for it (backdating.py); what is rated keeps its own even then.
    Raises NotAllowed (only finance), InvalidInput, or Conflict where a version begins at that very instant or
    usage after it is rated already.
    """
    check_may_set(actor)
    now = now or clock.now()
    begin = valid_from or now
    amount = _checked_amount(per_card_hour)
    _check_product(model_name, isolation, begin, note)
    with transaction.atomic():
        book = book_of(currency or config.currency())
        # takes the row, so that no metering batch commits between the checks and the new version
        PriceBook.objects.filter(pk=book.pk).update(fence=F("fence") + 1)
        timeline = queries.load(book).of(model_name, isolation)
        _check_start(book, model_name, isolation, timeline, begin, now, approved)
        price = Price.objects.create(
            book=book,
            model_name=model_name,
            isolation=isolation,
            per_card_hour=amount,
            valid_from=begin,
            note=note,
            created_by_id=actor.user_id,
        )
        held = timeline.at(begin)
        audit.record(
            actor,
            "price.set",
            price,
            before={"per_card_hour": str(held.price) if held else None},
            after=_facts(price),
        )
    log.info("price set", price=price.public_id, model=model_name, isolation=isolation)
    return price


def check_backdated(
    actor: Actor,
    *,
    model_name: str,
    isolation: str,
    per_card_hour: Decimal | str | None,
    valid_from: datetime,
    note: str = "",
    currency: str = "",
) -> None:
    """Raises what set_price would raise for an approved change back in time; changes nothing."""
    check_may_set(actor)
    _checked_amount(per_card_hour)
    _check_product(model_name, isolation, valid_from, note)
    book = book_of(currency or config.currency())
    timeline = queries.load(book).of(model_name, isolation)
    _check_start(book, model_name, isolation, timeline, valid_from, clock.now(), True)


def cancel_price(actor: Actor, price: Price, now: datetime | None = None) -> None:
    """Takes back a version that has not begun. Raises Conflict for one that has: it is part of the past."""
    check_may_set(actor)
    now = now or clock.now()
    with transaction.atomic():
        PriceBook.objects.filter(pk=price.book_id).update(fence=F("fence") + 1)
        if price.valid_from <= now:
            raise Conflict("this price holds already; set a new one instead", code="price_holds")
        audit.record(actor, "price.cancel", price, before=_facts(price))
        deleted, _ = Price.objects.filter(pk=price.pk, valid_from__gt=now).delete()
        if not deleted:
            raise Conflict("this price was already cancelled", code="price_gone")


def seed_default_prices(actor: Actor) -> int:
    """Adds the assumed price of every known product that has never had one; returns how many.

    Idempotent. Nothing is added where the platform's currency is not that of the table.
    """
    check_may_set(actor)
    if config.currency() != CURRENCY:
        log.info("no assumed prices in this currency", currency=config.currency())
        return 0
    with transaction.atomic():
        book = book_of(CURRENCY)
        PriceBook.objects.filter(pk=book.pk).update(fence=F("fence") + 1)
        known = set(book.prices.values_list("model_name", "isolation"))
        # last first, so that the newest-first list begins with A
        rows = [
            Price(
                book=book,
                model_name=model,
                isolation=isolation,
                per_card_hour=price,
                valid_from=SEED_FROM,
                assumed=True,
                created_by_id=actor.user_id,
            )
            for model, isolation, price in reversed(_assumed())
            if (model, isolation) not in known
        ]
        Price.objects.bulk_create(rows)
        if rows:
            products = sorted(f"{row.model_name} {row.isolation}" for row in rows)
            audit.record(actor, "price.seed", book, after={"products": products})
    return len(rows)


def _assumed() -> list[tuple[str, str, Decimal]]:
    """(model, isolation, price); MIG only for cards that have it."""
    entry = config.entry()
    table = {model: Decimal(text) for model, text in PER_CARD_HOUR.items()}
    if entry.currency == CURRENCY:
        table[entry.model] = entry.per_card_hour
    return [
        (model, isolation, price)
        for model, price in sorted(table.items())
        for isolation in sorted(ISOLATIONS)
        if isolation != "mig" or (model in KNOWN and KNOWN[model].mig_family)
    ]


def check_may_set(actor: Actor) -> None:
    # separate powers: an operator may read prices, not change them
    if not actor.is_finance:
        raise NotAllowed("only a finance officer changes prices")


def _checked_amount(given: Decimal | str | None) -> Decimal | None:
    if given is None:
        return None
    try:
        amount = Decimal(given)
    except (InvalidOperation, ValueError, TypeError):
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount < LARGEST:
        raise _invalid("per_card_hour", f"must be a number from 0 to below {LARGEST}, such as 31.25")
    if amount != amount.quantize(Decimal(1).scaleb(-PRICE_PLACES)):
        raise _invalid("per_card_hour", f"must have at most {PRICE_PLACES} decimals")
    return amount


def _check_product(model_name: str, isolation: str, begin: datetime, note: str) -> None:
    checks: list[tuple[bool, str, str]] = [
        (bool(model_name.strip()) and len(model_name) <= 64, "model_name", "give a model, at most 64 characters"),
        (isolation in ISOLATIONS, "isolation", f"must be one of {', '.join(sorted(ISOLATIONS))}"),
        (begin.tzinfo is not None, "valid_from", "must be a time with its zone, such as 2026-12-01T00:00+08:00"),
        (len(note) <= 200, "note", "must have at most 200 characters"),
        ("\0" not in model_name + note, "note", "must not contain the NUL character"),
    ]
    errors = [FieldError(field, message) for holds, field, message in checks if not holds]
    if errors:
        raise InvalidInput(errors)


def _check_start(
    book: PriceBook,
    model_name: str,
    isolation: str,
    timeline: Timeline,
    begin: datetime,
    now: datetime,
    approved: bool,
) -> None:
    if begin in timeline.starts:
        raise Conflict("a price of this product begins at that very time; cancel it or choose another time")
    sold = [version for version in timeline.versions if version.price is not None]
    if not approved and begin < now and (timeline.at(begin) or any(begin < v.valid_from <= now for v in sold)):
        raise _invalid("valid_from", _keeps(now))
    # the fence is ours: what is rated now is all that can be
    product = Price.objects.filter(book=book, model_name=model_name, isolation=isolation)
    if product.filter(usage_records__ends_at__gt=begin).exists():
        raise Conflict("usage after that time is rated already; choose a later time", code="usage_rated")


def _keeps(now: datetime) -> str:
    return f"the past keeps its price; begin at {now.isoformat()} or later, or ask a second person to allow it"


def _facts(price: Price) -> dict[str, str | None]:
    amount = price.per_card_hour
    return {
        "product": f"{price.model_name} {price.isolation}",
        "per_card_hour": None if amount is None else str(amount),
        "currency": price.book.currency,
        "valid_from": price.valid_from.isoformat(),
    }


def _invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(field, message)])
