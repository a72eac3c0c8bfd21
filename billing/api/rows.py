"""How rows of this room read in answers."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from billing.catalog.models import Price
from billing.format import rounded
from billing.invoices import booking
from billing.invoices.models import Invoice, InvoiceLine
from billing.metering.models import UsageRecord
from billing.rating.amounts import digits

API = "/api/v1"


class PriceRow(serializers.ModelSerializer[Price]):
    id = serializers.CharField(source="public_id")
    currency = serializers.CharField(source="book.currency")
    model = serializers.CharField(source="model_name")
    valid_to = serializers.DateTimeField(allow_null=True, help_text="null: holds on")

    class Meta:
        model = Price
        fields = ["id", "currency", "model", "isolation", "per_card_hour", "valid_from", "valid_to", "assumed", "note"]


class UsageRow(serializers.ModelSerializer[UsageRecord]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    project = serializers.CharField(source="project.slug")
    queue = serializers.CharField(source="queue.name")
    site = serializers.CharField(source="site.name")
    job = serializers.CharField(source="interval.job.public_id")
    job_name = serializers.CharField(source="interval.job.name")
    model = serializers.CharField(source="model_name")
    share_num = serializers.IntegerField(source="charge_num", help_text="share of a card that is charged")
    share_den = serializers.IntegerField(source="charge_den")
    per_card_hour = serializers.DecimalField(
        18, 6, source="price.per_card_hour", default=None, allow_null=True, help_text="null: no price held then"
    )
    currency = serializers.CharField(source="price.book.currency", default=None, allow_null=True)
    microseconds = serializers.IntegerField(help_text="negative in a correction")

    class Meta:
        model = UsageRecord
        fields = [
            "id",
            "kind",
            "tenant",
            "project",
            "queue",
            "site",
            "job",
            "job_name",
            "model",
            "isolation",
            "starts_at",
            "ends_at",
            "day",
            "microseconds",
            "share_num",
            "share_den",
            "per_card_hour",
            "currency",
        ]


def _payable(amount: Decimal, currency: str) -> str:
    """With the digits that the currency has: 30.00 CNY, 30 JPY."""
    return str(rounded(amount, digits(currency)))


class InvoiceRow(serializers.ModelSerializer[Invoice]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    total = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()

    class Meta:
        model = Invoice
        fields = [
            "id",
            "tenant",
            "month",
            "state",
            "year",
            "number",
            "currency",
            "total",
            "time_zone",
            "tenant_name",
            "seller_name",
            "built_at",
            "issued_at",
            "links",
        ]

    def get_total(self, invoice: Invoice) -> str:
        return _payable(invoice.total, invoice.currency)

    def get_links(self, invoice: Invoice) -> dict[str, str]:
        base = f"{API}/invoices/{invoice.public_id}"
        return {"self": base, "pdf": f"{base}/pdf", "csv": f"{base}/lines?format=csv"}


class LineRow(serializers.ModelSerializer[InvoiceLine]):
    id = serializers.CharField(source="public_id")
    project = serializers.CharField(source="project_name")
    model = serializers.CharField(source="model_name")
    amount = serializers.SerializerMethodField()

    class Meta:
        model = InvoiceLine
        fields = [
            "id",
            "position",
            "project",
            "model",
            "isolation",
            "unit_price",
            "held_microseconds",
            "card_hours",
            "exact_amount",
            "amount",
        ]

    def get_amount(self, line: InvoiceLine) -> str:
        return _payable(line.amount, line.invoice.currency)


class InvoiceDetail(InvoiceRow):
    open = serializers.SerializerMethodField(help_text="what is still to be paid; 0 of a draft")
    lines = serializers.SerializerMethodField()

    class Meta(InvoiceRow.Meta):
        fields = [*InvoiceRow.Meta.fields, "open", "lines"]

    def get_open(self, invoice: Invoice) -> str:
        return _payable(booking.open_amount(invoice), invoice.currency)

    @extend_schema_field(LineRow(many=True))
    def get_lines(self, invoice: Invoice) -> Any:
        rows = invoice.lines.select_related("invoice").order_by("position")
        return LineRow(rows, many=True).data


class Money(serializers.Serializer[Any]):
    currency = serializers.CharField()
    amount = serializers.CharField()


class SumRow(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]
    held_hours = serializers.CharField()
    card_hours = serializers.CharField()
    unrated_hours = serializers.CharField(help_text="of the held hours: no price held then")
    amounts = Money(many=True)


class Summary(serializers.Serializer[Any]):
    by = serializers.CharField()
    first = serializers.DateField()
    last = serializers.DateField()
    rows = SumRow(many=True)
    total = SumRow()
