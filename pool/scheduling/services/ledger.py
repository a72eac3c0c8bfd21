"""Begins chains of the ledger, and forgets old ones."""

from datetime import datetime

from django.db import transaction

from console.common import bulk
from pool.engine.fleet import Fleet
from pool.scheduling.ledger.journal import Journal, content_of
from pool.scheduling.ledger.version import engine_version
from pool.scheduling.models import LedgerBase, LedgerSegment


def begin(fleet: Fleet, epoch: int, now: datetime) -> Journal:
    """A new chain that begins with this fleet. Of an earlier one of this scheduler that nothing was decided in,
    nothing is kept."""
    content, digest = content_of(fleet)
    with transaction.atomic():
        idle = LedgerBase.objects.filter(epoch=epoch, segments=None, plans=None).order_by("-pk").first()
        if idle is not None:
            idle.delete()
        base = LedgerBase.objects.create(
            epoch=epoch, began_at=now, engine=engine_version(), digest=digest, content=content
        )
    return Journal(base.pk, digest)


def write_down(journal: Journal) -> None:
    """What happened so far, without a decision: so that it does not gather in memory without end."""
    segment = journal.segment()
    if segment is not None:
        with transaction.atomic():
            bulk.insert([segment])
        journal.stored(segment)


def prune_ledger(before: datetime, most: int = 500) -> int:
    """Deletes segments of chains that ended before then, at most `most` and the chains that have none left; returns
    how many rows. A chain has ended when a later one began. Run twice: the rest."""
    newer = LedgerBase.objects.filter(began_at__gte=before).order_by("pk").first()
    last = newer or LedgerBase.objects.order_by("-pk").first()
    if last is None:
        return 0
    # the chain before the first newer one went on after `before`, and is kept with it
    kept = LedgerBase.objects.filter(pk__lt=last.pk).order_by("-pk").first() if newer else last
    if kept is None:
        return 0
    ended = LedgerBase.objects.filter(pk__lt=kept.pk)
    oldest = LedgerSegment.objects.filter(base__in=ended).order_by("pk").values_list("pk", flat=True)[:most]
    segments, _ = LedgerSegment.objects.filter(pk__in=list(oldest)).delete()
    if segments:
        return segments
    empty = list(ended.order_by("pk").values_list("pk", flat=True)[:most])
    return LedgerBase.objects.filter(pk__in=empty).delete()[0] if empty else 0
