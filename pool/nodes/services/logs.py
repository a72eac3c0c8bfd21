"""Output of replicas: stored once however often it is sent, and never more than a cap for each replica."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models.functions import Length

from console.common import clock, sql
from pool.agent.protocol import LogPiece
from pool.nodes.models import LogChunk
from pool.nodes.services.news import WrongNode
from pool.nodes.services.short import write_at_once

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
        """All pieces of one node in one statement, after all reading. Raises WrongNode; then nothing is stored."""
        try:
            return self._store(node_id, pieces)
        except Exception:
            # what we remember may be ahead of what was stored
            self._tails.clear()
            raise

    def _store(self, node_id: int, pieces: Sequence[LogPiece]) -> list[Stored]:
        values: list[Any] = []
        answers, at = [], connection.ops.adapt_datetimefield_value(clock.now())
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
            values += (tail.replica_id, piece.stream, start, data, at)
            tail.ends[piece.stream] = end
            tail.size += max(len(data), SMALLEST)
        if values:
            rows = ", ".join(["(%s, %s, %s, %s, %s)"] * (len(values) // 5))
            write_at_once("store_output", _INSERT.format(rows=rows), values)
        for name in {piece.replica for piece in pieces}:
            self._cut(self._tails.get(name))
        return answers

    def _tail(self, replica: str) -> Tail | None:
        if replica in self._tails:
            self._tails.move_to_end(replica)
            return self._tails[replica]
        rows = sql.fetch(_SELECT, replica)
        if not rows:
            return None
        tail = self._tails[replica] = _tail_of(rows)
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


_INSERT = 'INSERT INTO nodes_logchunk (replica_id, stream, "offset", data, at) VALUES {rows} ON CONFLICT DO NOTHING'
_SELECT = (
    'SELECT r.id, r.node_id, j.public_id, c.stream, MAX(c."offset" + LENGTH(c.data)), SUM(LENGTH(c.data)), COUNT(c.id)'
    " FROM scheduling_replica r JOIN scheduling_job j ON j.id = r.job_id"
    " LEFT JOIN nodes_logchunk c ON c.replica_id = r.id"
    " WHERE r.public_id = %s GROUP BY r.id, r.node_id, j.public_id, c.stream"
)


def _tail_of(rows: list[tuple[Any, ...]]) -> Tail:
    """A row a stream; one without a stream where nothing is stored."""
    replica_id, node_id, job, *_ = rows[0]
    streams = [(stream, end, size, count) for *_, stream, end, size, count in rows if stream is not None]
    size = max(sum(size for *_, size, _ in streams), SMALLEST * sum(count for *_, count in streams))
    return Tail(replica_id, node_id, job, {stream: end for stream, end, *_ in streams}, size)
