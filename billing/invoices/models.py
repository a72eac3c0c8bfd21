"""Invoices. A draft may be rebuilt at will; once issued, the database itself refuses any change."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from billing.catalog.models import PRICE_DIGITS, PRICE_PLACES, PRODUCTS
from console.common import ids

# up to 999,999,999,999.999: three digits are what the currencies with the smallest units need
AMOUNT = {"max_digits": 15, "decimal_places": 3}


class InvoiceCounter(models.Model):
    """The last number given in a year. A conditional UPDATE inside the issuing transaction: no gap, no twin."""

    year = models.PositiveSmallIntegerField(primary_key=True)
    last = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.year}: {self.last}"


class Invoice(models.Model):
    """One tenant, one month of its billing time zone."""

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        ISSUED = "issued", _("Issued")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "inv"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="invoices")
    month = models.DateField()  # its first day
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    revision = models.PositiveIntegerField(default=0)  # raised by each rebuild and by the issue
    currency = models.CharField(max_length=3)
    total = models.DecimalField(**AMOUNT, default=0)  # type: ignore[arg-type]
    # as they were when the invoice was built: a renamed tenant keeps its old invoices
    tenant_name = models.CharField(max_length=200)
    seller_name = models.CharField(max_length=200)
    time_zone = models.CharField(max_length=64)
    year = models.PositiveSmallIntegerField(null=True)
    number = models.PositiveIntegerField(null=True)  # within the year of issue, from 1, no gap
    built_at = models.DateTimeField()
    issued_at = models.DateTimeField(null=True)
    issued_by_label = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "month"], name="invoice_once_per_month"),
            models.UniqueConstraint(fields=["year", "number"], name="invoice_number_once_per_year"),
            models.CheckConstraint(
                condition=Q(state="draft", number__isnull=True, year__isnull=True, issued_at__isnull=True)
                | Q(state="issued", number__gte=1, year__isnull=False, issued_at__isnull=False),
                name="invoice_issued_has_number",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "-id"], name="invoice_tenant_newest")]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """`INV-2026-000001`, or the public id of a draft."""
        if self.number is None:
            return self.public_id
        return f"INV-{self.year}-{self.number:06d}"

    @property
    def is_issued(self) -> bool:
        return self.state == self.State.ISSUED


class InvoiceLine(models.Model):
    """One project x product x price version."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "line"), editable=False)
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="+")
    project_name = models.CharField(max_length=200)
    model_name = models.CharField(max_length=64)
    isolation = models.CharField(max_length=12, choices=PRODUCTS)
    price = models.ForeignKey("catalog.Price", on_delete=models.PROTECT, related_name="+")
    unit_price = models.DecimalField(max_digits=PRICE_DIGITS, decimal_places=PRICE_PLACES)  # per card-hour
    held_microseconds = models.BigIntegerField()
    card_hours = models.DecimalField(max_digits=15, decimal_places=6)  # as shown; the amount is from exact time
    exact_amount = models.CharField(max_length=60)  # 12 decimals, before the one rounding
    amount = models.DecimalField(**AMOUNT)  # type: ignore[arg-type]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["invoice", "position"], name="line_position_once"),
            models.UniqueConstraint(
                fields=["invoice", "project", "model_name", "isolation", "price"], name="line_product_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.invoice_id}/{self.position}"


class BilledUsage(models.Model):
    """Which invoice a usage record is on. The primary key is the record: the database refuses to bill it twice.

    Its line is the one of the record's project, product and price.
    """

    record = models.OneToOneField(
        "metering.UsageRecord", primary_key=True, on_delete=models.PROTECT, related_name="billed"
    )
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="billed_usage")

    def __str__(self) -> str:
        return f"{self.record_id} on {self.invoice_id}"
