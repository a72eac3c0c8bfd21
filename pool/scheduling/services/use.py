"""The copy of what was held, hour by hour: made from intervals, and made again for hours in which one ended late."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, Min

from pool.scheduling.models import Interval, UseHour
from pool.scheduling.sharing.use import HOUR, hour_of, share_seconds

AGAIN = timedelta(hours=2)  # ends that were heard of since then are looked for in each run
AT_ONCE = timedelta(days=2)  # of a long history that is copied for the first time
MOST_DAYS = 400


def fold_use(now: datetime) -> int:
    """Brings the copy up to date; returns how many hours were made anew. Run twice, or by two at once: the same rows.

    A run that was killed or missed is made up for by the next: it begins at the newest hour there is.
    """
    start = _from(now)
    if start is None:
        return 0
    hours = 0
    while start <= now:
        until = min(start + AT_ONCE, now)
        hours += _copy(start, until)
        start = hour_of(until) + HOUR if until == now else until
    return hours


def _from(now: datetime) -> datetime | None:
    """The first hour that may differ from its copy; None where nothing was ever held."""
    # by key, not by time: no index leads to the earliest of all, and keys follow it closely enough
    oldest = Interval.objects.order_by("pk").values_list("started_at", flat=True).first()
    if oldest is None:
        return None
    newest = UseHour.objects.aggregate(at=Max("at"))["at"]
    known = hour_of(now) - HOUR if newest is None else min(newest, hour_of(now) - HOUR)
    ended = Interval.objects.filter(closed_at__gte=known - AGAIN).aggregate(at=Min("ended_at"))["at"]
    firsts = [known] if newest is not None else [hour_of(oldest)]
    firsts += [hour_of(ended)] if ended is not None else []
    return max(min(firsts), hour_of(oldest), hour_of(now) - timedelta(days=MOST_DAYS))


def _copy(start: datetime, until: datetime) -> int:
    fresh = share_seconds(start, until)
    rows = {
        (at, queue, project, model): UseHour(at=at, queue_id=queue, project_id=project, model_name=model, share_s=share)
        for (at, (queue, project, model)), share in fresh.items()
    }
    with transaction.atomic():
        known = UseHour.objects.filter(at__gte=start, at__lt=until)
        for row in known:  # what nobody held after all
            key = (row.at, row.queue_id, row.project_id, row.model_name)
            if key not in rows:
                row.share_s = 0
                rows[key] = row
        UseHour.objects.bulk_create(
            [
                UseHour(
                    at=row.at,
                    queue_id=row.queue_id,
                    project_id=row.project_id,
                    model_name=row.model_name,
                    share_s=row.share_s,
                )
                for _key, row in sorted(rows.items())
            ],
            batch_size=500,
            update_conflicts=True,
            unique_fields=["at", "queue", "project", "model_name"],
            update_fields=["share_s"],
        )
    return len({at for at, *_ in rows})
