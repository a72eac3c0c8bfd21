"""Reads of the price book. Prices are public to every signed-in actor; only finance may change them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from billing.catalog.models import Price, PriceBook
from billing.rating.pieces import Timeline, Version
from console.common.actor import Actor
from console.common.errors import NotFound

Product = tuple[str, str]  # (model name, isolation)
NEVER_SOLD = Timeline()


@dataclass(frozen=True, slots=True)
class Prices:
    """All prices of one currency, and the fence that they were read at."""

    book_id: int
    currency: str
    fence: int
    timelines: dict[Product, Timeline]

    def of(self, model_name: str, isolation: str) -> Timeline:
        return self.timelines.get((model_name, isolation), NEVER_SOLD)


def load(book: PriceBook) -> Prices:
    """One query for the rows; the fence is the one of `book`, so read the book first."""
    versions: dict[Product, list[Version]] = defaultdict(list)
    rows = book.prices.order_by("valid_from").values_list(
        "model_name", "isolation", "id", "valid_from", "per_card_hour"
    )
    for model_name, isolation, ident, valid_from, price in rows:
        versions[model_name, isolation].append(Version(ident, valid_from, price))
    timelines = {product: Timeline(tuple(found)) for product, found in versions.items()}
    return Prices(book.pk, book.currency, book.fence, timelines)


def load_currency(currency: str) -> Prices | None:
    """None while no book of that currency exists."""
    book = PriceBook.objects.filter(currency=currency).first()
    return load(book) if book else None


def amounts(price_ids: Iterable[int]) -> dict[int, tuple[Decimal, str]]:
    """Price id -> (price of a card-hour, currency)."""
    rows = Price.objects.filter(pk__in=set(price_ids)).values_list("pk", "per_card_hour", "book__currency")
    # only what is sold is ever recorded as a price
    return {pk: (price or Decimal(0), currency) for pk, price, currency in rows}


def prices_for(actor: Actor) -> QuerySet[Price]:
    """Every version, newest first, with `valid_to` (None: open). The list is the same for every actor."""
    following = Price.objects.filter(
        book=OuterRef("book"),
        model_name=OuterRef("model_name"),
        isolation=OuterRef("isolation"),
        valid_from__gt=OuterRef("valid_from"),
    ).order_by("valid_from")
    return (
        Price.objects.annotate(valid_to=Subquery(following.values("valid_from")[:1]))
        .select_related("book")
        .order_by("-pk")
    )


def valid_at(prices: QuerySet[Price], instant: datetime) -> QuerySet[Price]:
    """Of `prices_for`: the versions that hold at `instant`."""
    return prices.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=instant), valid_from__lte=instant)


def ended_by(prices: QuerySet[Price], instant: datetime) -> QuerySet[Price]:
    """Of `prices_for`: the versions that another has followed by `instant`."""
    return prices.filter(Q(valid_to__lte=instant))


def price_for(actor: Actor, public_id: str) -> Price:
    price = prices_for(actor).filter(public_id=public_id).first()
    if price is None:
        raise NotFound(f"price {public_id!r} was not found")
    return price


def model_names() -> list[str]:
    """Models that the fleet has or the book prices, by name."""
    from pool.inventory.models import DeviceModel

    names = set(DeviceModel.objects.values_list("name", flat=True))
    return sorted(names | set(Price.objects.values_list(F("model_name"), flat=True).distinct()))
