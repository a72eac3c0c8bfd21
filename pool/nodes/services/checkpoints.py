"""When replicas last saved their state, as their nodes tell."""

from datetime import datetime

from console.common import sql


def keep_checkpoint(replica: int, at: datetime, now: datetime) -> None:
    """Notes it unless a later one is known: told twice, or late, it changes nothing. In a transaction."""
    sql.execute(_KEEP, replica, at, now)


_KEEP = (
    "INSERT INTO nodes_checkpoint (replica_id, at, told_at) VALUES (%s, %s, %s) ON CONFLICT (replica_id)"
    " DO UPDATE SET at = excluded.at, told_at = excluded.told_at WHERE nodes_checkpoint.at < excluded.at"
)
