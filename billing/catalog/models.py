"""The price book: what a card-hour of each product costs, and since when."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q

from console.common import ids
from pool.scheduling.models.allocation import Isolation

# 15 significant digits are what SQLite keeps of a decimal without loss
PRICE_DIGITS, PRICE_PLACES = 15, 10
PRODUCTS = [choice for choice in Isolation.choices if choice[0] != Isolation.HOST]


class PriceBook(models.Model):
    """One a currency. `fence` is raised by each price change and each metering batch, by a conditional UPDATE,
    so that no usage is rated with prices that changed meanwhile."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "book"), editable=False)
    currency = models.CharField(max_length=3, unique=True)
    fence = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.currency


class Price(models.Model):
    """A version: holds from `valid_from` until the next version of the same product begins, if any.

    With one start a version and no end of its own, two versions cannot overlap on any database; and a change
    adds a row and edits none (triggers refuse UPDATE), so that the past keeps its price.
    """

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "price"), editable=False)
    book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="prices")
    model_name = models.CharField(max_length=64)
    isolation = models.CharField(max_length=12, choices=PRODUCTS)
    per_card_hour = models.DecimalField(  # null: no longer sold from then on
        max_digits=PRICE_DIGITS, decimal_places=PRICE_PLACES, null=True
    )
    valid_from = models.DateTimeField()
    assumed = models.BooleanField(default=False)  # from the seeded table, until finance sets its own
    note = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["book", "model_name", "isolation", "valid_from"], name="price_one_version_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(per_card_hour__isnull=True) | Q(per_card_hour__gte=0), name="price_not_negative"
            ),
            models.CheckConstraint(condition=~Q(model_name=""), name="price_has_model"),
        ]

    def __str__(self) -> str:
        return f"{self.model_name} {self.isolation} {self.per_card_hour} from {self.valid_from:%Y-%m-%d}"
