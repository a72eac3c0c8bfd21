"""Columns of the ledger's exports. Amounts are in the currency, not in its minor units."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from billing.ledger import chart
from billing.ledger.models import Entry
from console.common.exports import Column


@dataclass(frozen=True, slots=True)
class Side:
    """An entry of a statement; `stood`: minor units on the account after it, as a bookkeeper reads them."""

    entry: Entry
    stood: int

    @property
    def debit(self) -> int | None:
        return self.entry.debit

    @property
    def credit(self) -> int | None:
        return self.entry.credit


def natural(account: Any) -> Decimal:
    """The balance of an account as a bookkeeper reads it."""
    return chart.major(chart.natural(account.kind, account.balance), account.currency)


def _major(amount: int | None, currency: str) -> Decimal | None:
    return None if amount is None else chart.major(amount, currency)


ACCOUNTS = [
    Column(_("Id"), "public_id"),
    Column(_("Tenant"), "tenant.slug"),
    Column(pgettext_lazy("ledger", "Account"), "kind"),
    Column(_("Currency"), "currency"),
    Column(_("Balance"), natural, "number"),
    Column(_("Entries"), "entries", "number"),
]
ENTRIES = [
    Column(_("Time (UTC)"), "posting.at", "time"),
    Column(_("Posting"), "posting.public_id"),
    Column(_("Kind"), "posting.kind"),
    Column(_("Reference"), "posting.reference"),
    Column(_("Note"), "posting.memo"),
    Column(_("Debit"), lambda row: _major(row.debit, row.account.currency), "number"),
    Column(_("Credit"), lambda row: _major(row.credit, row.account.currency), "number"),
    Column(_("Currency"), "account.currency"),
]
POSTINGS = [
    Column(_("Time (UTC)"), "at", "time"),
    Column(_("Id"), "public_id"),
    Column(_("Tenant"), "tenant.slug"),
    Column(_("Kind"), "kind"),
    Column(_("Reference"), "reference"),
    Column(_("Note"), "memo"),
    Column(_("Amount"), lambda row: chart.major(row.moved, row.currency), "number"),
    Column(_("Currency"), "currency"),
    Column(_("Takes back"), "reverses.public_id"),
]
TRIAL = [
    Column(_("Currency"), "currency"),
    Column(pgettext_lazy("ledger", "Account"), "kind"),
    Column(_("Debits"), lambda row: chart.major(row.debits, row.currency), "number"),
    Column(pgettext_lazy("ledger", "Credits"), lambda row: chart.major(row.credits, row.currency), "number"),
    Column(_("Debit balance"), lambda row: chart.major(max(row.balance, 0), row.currency), "number"),
    Column(_("Credit balance"), lambda row: chart.major(max(-row.balance, 0), row.currency), "number"),
]
