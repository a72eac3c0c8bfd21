"""Double entry. Nothing here is ever edited: what was wrong is taken back by opposite entries.

Amounts are whole minor units of the currency (cents; yen have none), debit positive, credit negative: sums of them
are exact on every database. Triggers keep each account's balance, and refuse a posting that does not sum to zero.
"""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Account(models.Model):
    """A tenant's part of one account of the chart, in one currency.

    `balance` is a projection of the entries: a trigger moves it in the statement that adds one, so that its row lock
    makes writers wait for each other and the CHECK constraints below see what every one of them left.
    """

    class Kind(models.TextChoices):
        CASH = "cash", _("Cash")
        RECEIVABLE = "receivable", _("Receivable")
        PROMOTIONS = "promotions", _("Promotions")
        STORED = "stored_value", _("Stored value")
        CREDITS = "credits", _("Credits")
        DEFERRED = "deferred", _("Deferred revenue")
        TAX = "tax_payable", _("Tax payable")
        EARNED = "earned", _("Earned")
        BREAKAGE = "breakage", _("Breakage")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "acc"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    currency = models.CharField(max_length=3)
    balance = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)  # how many
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "kind", "currency"], name="ledger_account_once"),
            # what a tenant has cannot be spent twice, whoever writes at the same moment
            models.CheckConstraint(
                condition=~Q(kind="stored_value") | Q(balance__lte=0), name="ledger_stored_value_not_overdrawn"
            ),
            models.CheckConstraint(
                condition=~Q(kind="credits") | Q(balance__lte=0), name="ledger_credits_not_overdrawn"
            ),
            models.CheckConstraint(
                condition=~Q(kind="deferred") | Q(balance__lte=0), name="ledger_deferred_not_overdrawn"
            ),
            models.CheckConstraint(
                condition=~Q(kind="receivable") | Q(balance__gte=0), name="ledger_receivable_not_overpaid"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def grows_by_debit(self) -> bool:
        return self.kind in DEBIT_SIDE


# these grow by a debit, all others by a credit
DEBIT_SIDE = frozenset({Account.Kind.CASH, Account.Kind.RECEIVABLE, Account.Kind.PROMOTIONS})


class Posting(models.Model):
    """One fact of the books. Its entries are stored before it: with this row they are complete (triggers.py)."""

    class Kind(models.TextChoices):
        PAYMENT = "payment", _("Payment received")
        REFUND = "refund", _("Refund")
        GRANT = "grant", _("Credits granted")
        WITHDRAW = "withdraw", _("Credits withdrawn")
        CHARGE = "charge", _("Charge")
        PREPAY = "prepay", _("Prepayment")
        EARN = "earn", _("Prepayment earned")
        LAPSE = "lapse", _("Stored value lapsed")
        INVOICE = "invoice", _("Invoice")
        SETTLE = "settle", _("Invoice paid from the balance")
        REVERSAL = "reversal", _("Reversal")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "post"), editable=False)
    # made from facts, never random, and kept for ever: the same fact cannot be booked twice
    key = models.CharField(max_length=200, unique=True)
    digest = models.CharField(max_length=64)  # SHA-256 of what it says: equal key and another digest is a fault
    kind = models.CharField(max_length=12, choices=Kind.choices)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    at = models.DateTimeField()
    memo = models.CharField(max_length=200, blank=True, default="")
    about_type = models.CharField(max_length=20, blank=True, default="")  # such as "invoice"
    about_id = models.CharField(max_length=40, blank=True, default="")  # its public id
    reverses = models.OneToOneField("self", null=True, on_delete=models.PROTECT, related_name="reversed_by")
    actor_label = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["tenant", "-id"], name="ledger_posting_newest"),
            models.Index(fields=["about_id"], condition=~Q(about_id=""), name="ledger_posting_about"),
            models.Index(fields=["at"], name="ledger_posting_at"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def reference(self) -> str:
        """The key as a person gave it, without what makes it unique among tenants."""
        return self.key.split(":", 2)[2] if self.is_by_hand else self.key

    @property
    def is_by_hand(self) -> bool:
        return self.key.startswith("hand:")


class Entry(models.Model):
    """One side of a posting."""

    posting = models.ForeignKey(Posting, on_delete=models.PROTECT, related_name="entries", db_index=False)
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="rows", db_index=False)
    amount = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["posting", "account"], name="ledger_entry_once"),
            models.CheckConstraint(condition=~Q(amount=0), name="ledger_entry_not_nothing"),
        ]
        indexes = [models.Index(fields=["account", "-id"], name="ledger_entry_newest")]

    def __str__(self) -> str:
        return f"{self.posting_id}/{self.account_id}"

    @property
    def debit(self) -> int | None:
        return self.amount if self.amount > 0 else None

    @property
    def credit(self) -> int | None:
        return -self.amount if self.amount < 0 else None
