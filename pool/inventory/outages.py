"""Where the open outages and the present states of nodes and cards disagree: what history has still to learn."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db.models import FilteredRelation, Q, QuerySet

from pool.inventory.models import Device, Node, Outage

_NODE_STATES: dict[str, str] = {Node.State.CORDONED: Outage.Kind.CORDONED, Node.State.DRAINING: Outage.Kind.DRAINING}
_DEVICE_STATES: dict[str, str] = {Device.State.CORDONED: Outage.Kind.CORDONED, Device.State.FAULTY: Outage.Kind.FAULTY}


class Difference(NamedTuple):
    """`outage_id`: an open outage whose state is over; None: a state that holds and has no open outage."""

    table: str  # "node" or "device"
    pk: int
    public_id: str
    kind: str
    outage_id: int | None
    reason: str = ""


def of_nodes(ids: Collection[int] | None = None) -> Iterator[Difference]:
    """Of these nodes, or of all. One statement, so that state and history are of one moment."""
    worth = ~Q(state=Node.State.READY) | Q(reachable=False) | Q(open__id__isnull=False)
    rows = _chosen(Node.objects.annotate(open=_still_open()).filter(worth), ids)
    seen: dict[int, _Seen] = {}
    for pk, public_id, state, reachable, outage_id, kind in rows.values_list(
        "pk", "public_id", "state", "reachable", "open__id", "open__kind"
    ):
        holds: dict[str, str] = {_NODE_STATES[state]: ""} if state in _NODE_STATES else {}
        if not reachable:
            holds[Outage.Kind.UNREACHABLE] = ""
        seen.setdefault(pk, _Seen(public_id, holds, {})).note(kind, outage_id)
    yield from _differences("node", seen)


def of_devices(ids: Collection[int] | None = None) -> Iterator[Difference]:
    """Of these cards, or of all."""
    worth = ~Q(state=Device.State.READY) | Q(open__id__isnull=False)
    rows = _chosen(Device.objects.annotate(open=_still_open()).filter(worth), ids)
    seen: dict[int, _Seen] = {}
    for pk, public_id, state, reason, retired_at, outage_id, kind in rows.values_list(
        "pk", "public_id", "state", "state_reason", "retired_at", "open__id", "open__kind"
    ):
        # a card that is not there is nothing else: neither faulty nor cordoned
        what = Outage.Kind.RETIRED if retired_at else _DEVICE_STATES.get(state)
        holds: dict[str, str] = {what: reason} if what else {}
        seen.setdefault(pk, _Seen(public_id, holds, {})).note(kind, outage_id)
    yield from _differences("device", seen)


def _still_open() -> FilteredRelation:
    return FilteredRelation("outages", condition=Q(outages__ended_at__isnull=True))


class _Seen(NamedTuple):
    public_id: str
    holds: dict[str, str]  # kind -> reason
    open: dict[str, int]  # kind -> outage

    def note(self, kind: str | None, outage_id: int | None) -> None:
        if kind is not None and outage_id is not None:
            self.open[kind] = outage_id


def _chosen(rows: "QuerySet[Any]", ids: Collection[int] | None) -> "QuerySet[Any]":
    return rows if ids is None else rows.filter(pk__in=list(ids))


def _differences(table: str, seen: dict[int, _Seen]) -> Iterator[Difference]:
    for pk, row in seen.items():
        for kind, outage_id in row.open.items():
            if kind not in row.holds:
                yield Difference(table, pk, row.public_id, kind, outage_id)
        for kind, reason in row.holds.items():
            if kind not in row.open:
                yield Difference(table, pk, row.public_id, kind, None, reason)
