"""Leases with a fencing epoch, by conditional UPDATE: they hold on both databases."""

from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Q

from console.common import clock, sql
from console.common.models import Lease


def acquire(name: str, holder: str, ttl: timedelta, now: datetime) -> int | None:
    """Take or renew the lease. Returns the epoch while `holder` has it, None while another does.

    The epoch rises at each change of holder, also when a holder comes back after its lease ran out.
    """
    if connection.vendor == "postgresql" and (epoch := _renewed(name, holder, ttl, now)) is not None:
        return epoch
    with transaction.atomic():
        # SQLite may have made us wait for its write lock: the lease counts from when we have it
        at = max(now, clock.now())
        expires = at + ttl
        renewed = Lease.objects.filter(name=name, holder=holder, expires_at__gt=at).update(expires_at=expires)
        if not renewed and not _take(name, holder, expires, at):
            return None
        # read back under the holder's name: whoever took over in between shows as another holder
        row = Lease.objects.filter(name=name, holder=holder).first()
        return row.epoch if row else None


def _renewed(name: str, holder: str, ttl: timedelta, now: datetime) -> int | None:
    """What mostly happens, in one statement and its own transaction."""
    row = sql.first(
        "UPDATE common_lease SET expires_at = %s WHERE name = %s AND holder = %s AND expires_at > %s RETURNING epoch",
        now + ttl,
        name,
        holder,
        now,
    )
    return int(row[0]) if row else None


def release(name: str, holder: str) -> None:
    """Give the lease back at once, so that a standby need not wait for its end."""
    Lease.objects.filter(name=name, holder=holder).update(expires_at=None)


def _take(name: str, holder: str, expires: datetime, now: datetime) -> bool:
    Lease.objects.get_or_create(name=name)
    free = Q(expires_at__isnull=True) | Q(expires_at__lte=now)
    return bool(Lease.objects.filter(free, name=name).update(holder=holder, epoch=F("epoch") + 1, expires_at=expires))


def hold(name: str, epoch: int) -> sql.Asked:
    """The fence inside a writer's transaction: a row while `epoch` is the newest, none any more.

    The UPDATE keeps the row locked until commit, so that a take-over waits for this transaction or this
    transaction sees the take-over.
    """
    return sql.ask("UPDATE common_lease SET epoch = epoch WHERE name = %s AND epoch = %s RETURNING epoch", name, epoch)
