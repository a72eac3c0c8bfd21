"""Reads the output of a replica: LogChunk rows, as text, from a byte offset on."""

import codecs
from typing import Any

from console.common.errors import NotFound
from pool.nodes.models import LogChunk
from pool.scheduling.models import Job, Replica

_BATCH = 32  # chunks in one round: what a slow browser makes us hold


def replica_for(job: Job, public_id: str = "") -> Replica | None:
    """The named replica of the job, else rank 0 of its newest attempt; None: nothing has run yet.

    Raises NotFound for a replica of another job.
    """
    replicas = Replica.objects.filter(job=job)
    if not public_id:
        return replicas.order_by("-attempt__number", "rank").first()
    found = replicas.filter(public_id=public_id).first()
    if found is None:
        raise NotFound(f"replica {public_id!r} was not found")
    return found


def last_bytes(replica: Replica, stream: str, count: int) -> int:
    """The offset at which the last `count` bytes of a stream begin (at the start of a chunk)."""
    chunks = LogChunk.objects.filter(replica=replica, stream=stream).order_by("-offset")
    newest = chunks.only("offset", "data").first()
    if newest is None:
        return 0
    wanted = max(0, newest.offset + len(newest.data) - count)
    start = chunks.filter(offset__lte=wanted).values_list("offset", flat=True).first()
    return start or 0


class Output:
    """One stream of one replica, read forward. Bytes that end inside a character wait for their rest."""

    def __init__(self, replica: Replica, stream: str, offset: int) -> None:
        self._replica = replica
        self._stream = stream
        self._at = self._begin = offset
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._first = True

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """(messages as job_stream describes them, whether there is more to read at once)."""
        chunks = self._chunks()
        messages = []
        for offset, data in chunks:
            if offset > self._at:
                messages.append(self._message("missing", self._at, offset))
                self._decoder.reset()
                self._at = self._begin = offset
            piece = data[self._at - offset :]
            if not piece:
                continue
            self._at += len(piece)
            if text := self._decoder.decode(piece):
                end = self._at - len(self._decoder.getstate()[0])
                messages.append({**self._message("log", self._begin, end), "text": text})
                self._begin = end
        return messages, len(chunks) == _BATCH

    def _chunks(self) -> list[tuple[int, bytes]]:
        rows = LogChunk.objects.filter(replica=self._replica, stream=self._stream)
        start = self._at
        if self._first:
            # a page may come back with an offset inside a chunk
            before = rows.filter(offset__lt=start).order_by("-offset").values_list("offset", "data").first()
            if before is not None and before[0] + len(before[1]) > start:
                start = before[0]
            self._first = False
        found = rows.filter(offset__gte=start).order_by("offset").values_list("offset", "data")[:_BATCH]
        return [(offset, bytes(data)) for offset, data in found]

    def _message(self, kind: str, begin: int, end: int) -> dict[str, Any]:
        return {
            "type": kind,
            "replica": self._replica.public_id,
            "stream": self._stream,
            "offset": begin,
            "next": end,
        }
