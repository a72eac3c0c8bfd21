"""What was used, in whole microseconds, and at which price."""

from functools import partial

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from billing.catalog.models import PRODUCTS
from console.common import ids


class UsageRecord(models.Model):
    """A piece of one interval within one price version and one local day. Append-only.

    The amount is price x charge_num / charge_den x microseconds / 3.6e9, and is never stored: sums of
    microseconds by price and share are whole numbers on every database, sums of decimals are not.
    """

    class Kind(models.TextChoices):
        USAGE = "usage", _("Usage")
        # takes back time that a running interval was metered for, when its true end turns out to be earlier
        CORRECTION = "correction", _("Correction")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "use"), editable=False)
    interval = models.ForeignKey(
        "scheduling.Interval", on_delete=models.PROTECT, related_name="usage_records", db_index=False
    )
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.USAGE)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    microseconds = models.BigIntegerField()  # negative in a correction
    day = models.DateField()  # in the tenant's billing time zone
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False)
    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="+")
    queue = models.ForeignKey("scheduling.Queue", on_delete=models.PROTECT, related_name="+", db_index=False)
    site = models.ForeignKey("inventory.Site", on_delete=models.PROTECT, related_name="+", db_index=False)
    model_name = models.CharField(max_length=64)
    isolation = models.CharField(max_length=12, choices=PRODUCTS)
    charge_num = models.PositiveIntegerField()  # the share of a card that is charged
    charge_den = models.PositiveIntegerField()
    # null: no price held then; rated when one is set, and an invoice is refused until then
    price = models.ForeignKey("catalog.Price", null=True, on_delete=models.PROTECT, related_name="usage_records")
    digest = models.CharField(max_length=64)  # SHA-256 of all of the above, canonical
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["interval", "starts_at", "kind"], name="usage_piece_once"),
            models.CheckConstraint(
                condition=Q(kind="usage", microseconds__gt=0) | Q(kind="correction", microseconds__lt=0),
                name="usage_sign_by_kind",
            ),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="usage_not_empty"),
            models.CheckConstraint(
                condition=Q(charge_den__gt=0, charge_num__lte=F("charge_den")), name="usage_share_at_most_one"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "day"], name="usage_tenant_day"),
            models.Index(fields=["day"], name="usage_day"),
            models.Index(fields=["starts_at"], name="usage_starts"),
            models.Index(fields=["tenant"], condition=Q(price__isnull=True), name="usage_unrated"),
        ]

    def __str__(self) -> str:
        return self.public_id


class Metered(models.Model):
    """How far an interval has been metered. Moves in the transaction that adds the records."""

    interval = models.OneToOneField(
        "scheduling.Interval", primary_key=True, on_delete=models.PROTECT, related_name="metered"
    )
    until = models.DateTimeField()
    settled = models.BooleanField(default=False)  # the interval is closed and all of it is in records

    def __str__(self) -> str:
        return f"{self.interval_id} until {self.until}"
