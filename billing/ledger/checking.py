"""Whether the books are right: everything that is kept twice is computed again and compared."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce

from billing.ledger.models import Account, Posting
from billing.ledger.services import digest_of

_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Fault:
    """`kind`: balance, posting, digest or invoice; what is kept, and what the entries (or the invoice) say."""

    kind: str
    public_id: str
    kept: str
    said: str


def balances() -> Iterator[Fault]:
    """Accounts whose balance is not the sum of their entries."""
    rows = Account.objects.annotate(said=Coalesce(Sum("rows__amount"), 0), number=Count("rows")).order_by("pk")
    for row in rows.exclude(Q(balance=F("said")) & Q(entries=F("number"))):
        yield Fault("balance", row.public_id, str(row.balance), str(row.said))


def postings() -> Iterator[Fault]:
    """Postings whose debits and credits differ."""
    rows = Posting.objects.annotate(said=Coalesce(Sum("entries__amount"), 0)).exclude(said=0)
    for row in rows.order_by("pk"):
        yield Fault("posting", row.public_id, "0", str(row.said))


def digests() -> Iterator[Fault]:
    """Postings that say something else than when they were booked. Reads the whole ledger, in constant memory."""
    rows = Posting.objects.select_related("tenant", "reverses").prefetch_related("entries__account").order_by("pk")
    for row in rows.iterator(chunk_size=_CHUNK):
        said = digest_of(row, {entry.account.kind: entry.amount for entry in row.entries.all()})
        if said != row.digest:
            yield Fault("digest", row.public_id, row.digest, said)
