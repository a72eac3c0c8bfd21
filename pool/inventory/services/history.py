"""Outages begin and end with the change of state that makes them, in its transaction."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from django.db.models import DateTimeField, F, Max, Value
from django.db.models.functions import Greatest

from pool.inventory.models import Outage
from pool.inventory.outages import Difference, of_devices, of_nodes

_AT_ONCE = 2_000
Proofs = Mapping[int, datetime | None]  # node -> its last proof of life, where one is known


def remember(
    at: datetime, *, nodes: Collection[int] = (), devices: Collection[int] = (), since: Proofs = MappingProxyType({})
) -> None:
    """Makes the history of these nodes and cards agree with their states, which were written just before.

    A node in `since` was out of reach from its last proof of life on, though that is known only `at`.
    Level-triggered: what history knows already is left alone. Call it inside the transaction of the change: on
    PostgreSQL the rows that were changed are then locked, so nobody else writes their history.
    """
    found = [row for part in _parts(nodes) for row in of_nodes(part)]
    found += [row for part in _parts(devices) for row in of_devices(part)]
    over = [row.outage_id for row in found if row.outage_id is not None]
    if over:
        # a clock that was set back makes an outage empty, never negative
        end = Greatest(Value(at, output_field=DateTimeField()), F("started_at"))
        Outage.objects.filter(pk__in=over, ended_at__isnull=True).update(ended_at=end)
    new = [row for row in found if row.outage_id is None]
    if new:
        starts = _unreachable_from(new, at, since)
        Outage.objects.bulk_create([_outage(row, starts.get(row.pk, at), at) for row in new])


def _outage(row: Difference, unreachable_from: datetime, at: datetime) -> Outage:
    start = unreachable_from if row.kind == Outage.Kind.UNREACHABLE else at
    if row.table == "node":
        return Outage(node_id=row.pk, kind=row.kind, reason=row.reason, started_at=start)
    return Outage(device_id=row.pk, kind=row.kind, reason=row.reason, started_at=start)


def _unreachable_from(new: Sequence[Difference], at: datetime, since: Proofs) -> dict[int, datetime]:
    """By node: the last proof of life, but not before the end of the outage before."""
    proofs = {row.pk: proof for row in new if row.table == "node" and (proof := since.get(row.pk))}
    if not proofs:
        return {}
    rows = Outage.objects.filter(node__in=proofs, kind=Outage.Kind.UNREACHABLE)
    ends = dict(rows.values_list("node").annotate(Max("ended_at")))
    return {pk: min(at, max(proof, ends.get(pk) or proof)) for pk, proof in proofs.items()}


def _parts(ids: Collection[int]) -> Iterator[list[int]]:
    rows = sorted(ids)
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]
