"""A replica's output over plain HTTP: the tail in the page, polling where a websocket cannot pass, download."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotFound
from console.common.exports import Download
from console.common.signed_in import actor_of
from pool.scheduling import queries
from pool.scheduling.models import Job, Replica
from pool.scheduling.pages import reads

STREAMS = ("stdout", "stderr")
TAIL_BYTES = 48 * 1024
BATCH_BYTES = 256 * 1024
_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one chunk. `next` is the byte offset after it."""

    stream: str
    at: datetime
    offset: int
    next: int
    text: str


def replica_of(actor: Actor, job: Job, public_id: str) -> Replica | None:
    """The named replica, or rank 0 of the newest attempt; None before anything ran. Raises NotFound."""
    rows = queries.replicas_for(actor).filter(job=job)
    if not public_id:
        return rows.order_by("-attempt__number", "rank").first()
    found = rows.filter(public_id=public_id).first()
    if found is None:
        raise NotFound("this job has no such replica")
    return found


def tail(replica: Replica) -> tuple[list[Piece], dict[str, int]]:
    """The last 48 KiB of each stream in the order of arrival, and where each stream goes on."""
    pieces: list[Piece] = []
    ends = {}
    for stream in STREAMS:
        last = replica.log_chunks.filter(stream=stream).order_by("-offset").first()
        end = last.offset + len(last.data) if last else 0
        found, ends[stream] = read(replica, stream, _chunk_start(replica, stream, max(0, end - TAIL_BYTES)))
        pieces += found
    return sorted(pieces, key=lambda piece: piece.at), ends


def _chunk_start(replica: Replica, stream: str, offset: int) -> int:
    rows = replica.log_chunks.filter(stream=stream, offset__lte=offset).order_by("-offset")
    return rows.values_list("offset", flat=True).first() or 0


def read(replica: Replica, stream: str, start: int, most: int = BATCH_BYTES) -> tuple[list[Piece], int]:
    """Pieces from byte `start` on, and the offset to ask for next. A character cut in two waits for its rest."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces: list[Piece] = []
    begin = at = start
    rows = replica.log_chunks.filter(stream=stream, offset__gte=_chunk_start(replica, stream, start))
    for chunk in rows.order_by("offset")[:_CHUNKS]:
        data = bytes(chunk.data)
        if chunk.offset + len(data) <= at:
            continue
        if chunk.offset > at:  # bytes were lost on the way: go on behind the gap
            decoder.reset()
            begin = at = chunk.offset
        piece = data[at - chunk.offset :]
        text = decoder.decode(piece)
        at += len(piece)
        end = at - len(decoder.getstate()[0])
        if text:
            pieces.append(Piece(stream, chunk.at, begin, end, text))
        begin = end
        if at - start >= most:
            break
    return pieces, begin


@require_GET
def poll(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """`?replica=&stdout=<bytes>&stderr=<bytes>`: what is new, as the websocket sends it.

    {"messages": [{"type": "log", "replica", "stream", "offset", "next", "text"}], "state", "final"}.
    """
    actor = actor_of(request)
    job = queries.job_for(actor, public_id)
    replica = replica_of(actor, job, request.GET.get("replica", ""))
    found: list[dict[str, Any]] = []
    for stream in STREAMS if replica else ():
        pieces, _next = read(replica, stream, _offset(request, stream))  # type: ignore[arg-type]
        found += [_message(replica, piece) for piece in pieces]  # type: ignore[arg-type]
    response = JsonResponse({"messages": found, "state": job.state, "final": reads.is_final(job)})
    response["Cache-Control"] = "private, no-store"
    return response


def _offset(request: HttpRequest, stream: str) -> int:
    text = request.GET.get(stream, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidInput([FieldError(stream, "must be a byte offset of 0 or more")])
    return int(text)


def _message(replica: Replica, piece: Piece) -> dict[str, Any]:
    return {
        "type": "log",
        "replica": replica.public_id,
        "stream": piece.stream,
        "offset": piece.offset,
        "next": piece.next,
        "text": piece.text,
    }


@require_GET
def download(request: HttpRequest, public_id: str, stream: str) -> HttpResponseBase:
    """A whole stream of a replica as a text file, byte for byte."""
    if stream not in STREAMS:
        raise Http404
    actor = actor_of(request)
    job = queries.job_for(actor, public_id)
    replica = replica_of(actor, job, request.GET.get("replica", ""))
    name = f"{job.public_id}-{replica.rank if replica else 0}-{stream}.txt"
    return Download(_bytes(replica, stream), name, "text/plain; charset=utf-8")


def _bytes(replica: Replica | None, stream: str) -> Iterator[bytes]:
    if replica is None:
        return
    rows = replica.log_chunks.filter(stream=stream).order_by("offset").values_list("data", flat=True)
    for data in rows.iterator(chunk_size=50):
        yield bytes(data)
