"""Output of replicas: stored once however often it is sent, and never more than a cap for each replica."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count, Max, Sum
from django.db.models.functions import Length

from console.common import clock
from pool.agent.protocol import LogPiece
from pool.nodes.models import LogChunk
from pool.nodes.services.news import WrongNode
from pool.scheduling.models import Replica

SMALLEST = 512  # what a chunk counts for at least: rows cost more than their bytes
REMEMBERED = 4096


@dataclass(slots=True)
class Tail:
    """What is stored of a replica: its rows' key, the end of each stream, and the bytes that count for the cap."""

    replica_id: int
    node_id: int
    job: str
    ends: dict[str, int] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """Up to where output of a stream is stored now; `job`: whose page wants to know, "" for an unknown replica."""

    replica: str
    stream: str
    offset: int
    job: str


class LogBook:
    """Remembers the tails of replicas that write now. Used by one thread only."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._tails: OrderedDict[str, Tail] = OrderedDict()

    def store(self, node_id: int, pieces: Sequence[LogPiece]) -> list[Stored]:
        """One transaction for all pieces of one node. Raises WrongNode; then nothing is stored."""
        try:
            with transaction.atomic():
                return self._store(node_id, pieces)
        except Exception:
            # what we remember may be ahead of what was stored
            self._tails.clear()
            raise

    def _store(self, node_id: int, pieces: Sequence[LogPiece]) -> list[Stored]:
        rows, answers, at = [], [], clock.now()
        for piece in pieces:
            tail = self._tail(piece.replica)
            end = piece.offset + len(piece.data)
            answers.append(Stored(piece.replica, piece.stream, end, tail.job if tail else ""))
            if tail is None:
                continue
            if tail.node_id != node_id:
                raise WrongNode(f"replica {piece.replica} is not on this node")
            start = max(piece.offset, tail.ends.get(piece.stream, 0))
            data = piece.data[start - piece.offset :]
            if start >= end or not data:
                continue
            rows.append(LogChunk(replica_id=tail.replica_id, stream=piece.stream, offset=start, data=data, at=at))
            tail.ends[piece.stream] = end
            tail.size += max(len(data), SMALLEST)
        LogChunk.objects.bulk_create(rows, ignore_conflicts=True)
        for name in {piece.replica for piece in pieces}:
            self._cut(self._tails.get(name))
        return answers

    def _tail(self, replica: str) -> Tail | None:
        if replica in self._tails:
            self._tails.move_to_end(replica)
            return self._tails[replica]
        row = Replica.objects.filter(public_id=replica).values_list("pk", "node_id", "job__public_id").first()
        if row is None:
            return None
        tail = self._tails[replica] = _load(*row)
        if len(self._tails) > REMEMBERED:
            self._tails.popitem(last=False)
        return tail

    def _cut(self, tail: Tail | None) -> None:
        """Past the cap the middle goes: the oldest chunks after the first quarter, an eighth of the cap at a time."""
        if tail is None or tail.size <= self.most:
            return
        goal, passed, freed, doomed = tail.size - self.most + self.most // 8, 0, 0, []
        chunks = LogChunk.objects.filter(replica_id=tail.replica_id).order_by("pk")
        for pk, length in chunks.values_list("pk", Length("data")).iterator():
            cost = max(length, SMALLEST)
            if passed + cost <= self.most // 4:
                passed += cost
                continue
            doomed.append(pk)
            freed += cost
            if freed >= goal:
                break
        for first in range(0, len(doomed), 500):
            LogChunk.objects.filter(pk__in=doomed[first : first + 500]).delete()
        tail.size -= freed


def _load(replica_id: int, node_id: int, job: str) -> Tail:
    chunks = LogChunk.objects.filter(replica_id=replica_id)
    totals = chunks.aggregate(bytes=Sum(Length("data")), rows=Count("pk"))
    newest = chunks.values("stream").annotate(last=Max("offset")).values_list("stream", "last")
    ends = {}
    for stream, offset in newest:
        length = chunks.filter(stream=stream, offset=offset).values_list(Length("data"), flat=True).get()
        ends[stream] = offset + length
    size = max(totals["bytes"] or 0, SMALLEST * totals["rows"])
    return Tail(replica_id, node_id, job, ends, size)
