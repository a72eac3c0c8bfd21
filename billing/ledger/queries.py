"""Every read of the ledger, scoped by the actor."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum

from billing.ledger.chart import ORDER
from billing.ledger.models import Account, Entry, Posting
from billing.metering.queries.scope import tenants_for
from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Tenant


def accounts_for(actor: Actor) -> QuerySet[Account]:
    rows = Account.objects.select_related("tenant")
    if actor.sees_all_money:
        return rows
    return rows.filter(tenant__in=tenants_for(actor))


def account_for(actor: Actor, public_id: str) -> Account:
    """Raises NotFound for another's just as for none."""
    account = accounts_for(actor).filter(public_id=public_id).first()
    if account is None:
        raise NotFound(f"account {public_id!r} was not found")
    return account


def postings_for(actor: Actor) -> QuerySet[Posting]:
    """Newest first, with `moved`: the sum of its debits, in minor units."""
    rows = Posting.objects.select_related("tenant", "reverses").order_by("-pk")
    debits = Entry.objects.filter(posting=OuterRef("pk"), amount__gt=0).order_by().values("posting")
    rows = rows.annotate(moved=Subquery(debits.annotate(sum=Sum("amount")).values("sum")))
    if actor.sees_all_money:
        return rows
    return rows.filter(tenant__in=tenants_for(actor))


def posting_for(actor: Actor, public_id: str) -> Posting:
    posting = postings_for(actor).filter(public_id=public_id).first()
    if posting is None:
        raise NotFound(f"posting {public_id!r} was not found")
    return posting


def entries_of(posting: Posting) -> list[Entry]:
    """Debits first, each side in the order of the chart."""
    rows = posting.entries.select_related("account")
    return sorted(rows, key=lambda row: (row.amount < 0, ORDER.index(Account.Kind(row.account.kind))))


def statement(account: Account) -> QuerySet[Entry]:
    """What an account is made of, newest first."""
    return account.rows.select_related("posting", "account").order_by("-pk")


def balance_at(account: Account, entry: Entry) -> int:
    """What stood on the account once `entry` was booked, in minor units."""
    return account.rows.filter(pk__lte=entry.pk).aggregate(all=Sum("amount"))["all"] or 0


def about(kind: str, public_id: str) -> QuerySet[Posting]:
    """Postings that tell of one thing, such as ("invoice", "inv_…"), oldest first."""
    return Posting.objects.filter(about_type=kind, about_id=public_id).order_by("pk")


def moved_by(postings: QuerySet[Posting], kind: str) -> int:
    """What they left on accounts of one kind, in minor units."""
    rows = Entry.objects.filter(posting__in=postings, account__kind=kind)
    return rows.aggregate(all=Sum("amount"))["all"] or 0


@dataclass(frozen=True, slots=True)
class TrialRow:
    """Sums of one account of the chart in one currency, minor units, none negative."""

    currency: str
    kind: str
    debits: int
    credits: int

    @property
    def balance(self) -> int:
        """Debit positive."""
        return self.debits - self.credits

    @property
    def owed(self) -> int:
        return -self.balance

    @property
    def label(self) -> str:
        return str(Account.Kind(self.kind).label)


@dataclass(slots=True)
class Total:
    """Of one currency, minor units: sums of entries, and sums of balances by the side on which they stand."""

    currency: str
    debits: int = 0
    credits: int = 0
    debit_balances: int = 0
    credit_balances: int = 0

    def add(self, row: TrialRow) -> None:
        self.debits += row.debits
        self.credits += row.credits
        self.debit_balances += max(row.balance, 0)
        self.credit_balances += max(-row.balance, 0)


@dataclass(frozen=True, slots=True)
class TrialBalance:
    """`rows` in the order of currency and chart; `sums`, one a currency."""

    rows: list[TrialRow]
    sums: list[Total]

    @property
    def holds(self) -> bool:
        return all(total.debits == total.credits for total in self.sums)


def trial_balance(before: datetime | None = None, tenant: Tenant | None = None) -> TrialBalance:
    """Summed from entries, never from balances; what was booked before an instant, or all."""
    rows = Entry.objects.all()
    if before is not None:
        rows = rows.filter(posting__at__lt=before)
    if tenant is not None:
        rows = rows.filter(account__tenant=tenant)
    sums = rows.values(currency=F("account__currency"), kind=F("account__kind")).annotate(
        debits=Sum("amount", filter=Q(amount__gt=0), default=0),
        credits=Sum("amount", filter=Q(amount__lt=0), default=0),
    )
    found = [TrialRow(row["currency"], row["kind"], row["debits"], -row["credits"]) for row in sums.order_by()]
    found.sort(key=lambda row: (row.currency, ORDER.index(Account.Kind(row.kind))))
    totals: dict[str, Total] = {}
    for row in found:
        totals.setdefault(row.currency, Total(row.currency)).add(row)
    return TrialBalance(found, list(totals.values()))
