"""API v1 of this room: what the processes of a job wrote."""

from collections.abc import Iterator
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.views import ApiView
from pool.nodes import output
from pool.nodes.models import LogChunk
from pool.scheduling import queries
from pool.scheduling.models import Replica

_MOST = 256 * 1024  # bytes an answer


class LogFilters(serializers.Serializer[Any]):
    replica = serializers.CharField(required=False, max_length=40, help_text="id; else rank 0 of the newest attempt")
    stream = serializers.ChoiceField(choices=["stdout", "stderr"], required=False, default="stdout")
    offset = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**62, help_text="byte to read from: `next` of an answer"
    )
    tail = serializers.IntegerField(
        required=False, min_value=1, max_value=_MOST, help_text="begin about so many bytes before the end"
    )


class LogText(serializers.Serializer[Any]):
    replica = serializers.CharField(allow_null=True, help_text="null: nothing has run yet")
    stream = serializers.CharField()
    offset = serializers.IntegerField(help_text="byte at which `text` begins")
    next = serializers.IntegerField(help_text="byte to ask for next")
    text = serializers.CharField()
    more = serializers.BooleanField(help_text="there is more to read now")
    missing = serializers.IntegerField(help_text="bytes before `offset` that were asked for and are gone")


class JobLogs(ApiView):
    room = "jobs"

    @extend_schema(parameters=[LogFilters], responses={200: LogText}, operation_id="jobs_logs")
    def get(self, request: Request, public_id: str) -> HttpResponseBase:
        """Output of one process, at most 256 KiB from a byte on."""
        wanted = params.read(LogFilters, request.query_params)
        job = queries.job_for(self.actor, public_id)
        replica = output.replica_for(job, wanted.get("replica", ""))
        return Response(LogText(_read(replica, wanted)).data)


def _read(replica: Replica | None, wanted: dict[str, Any]) -> dict[str, Any]:
    stream, start = wanted["stream"], wanted["offset"]
    if replica is None:
        empty = {"replica": None, "stream": stream, "offset": start, "next": start, "text": ""}
        return {**empty, "more": False, "missing": 0}
    if "tail" in wanted:
        start = output.last_bytes(replica, stream, wanted["tail"])
    begin, end, missing = start, start, 0
    parts: list[str] = []
    for message in _messages(output.Output(replica, stream, start)):
        if message["type"] == "missing" and parts:
            break  # the next call begins at the gap and tells of it
        if message["type"] == "missing":
            missing, begin = message["next"] - message["offset"], message["next"]
        else:
            parts.append(message["text"])
        end = message["next"]
        if end - begin >= _MOST:
            break
    return {
        "replica": replica.public_id,
        "stream": stream,
        "offset": begin,
        "next": end,
        "text": "".join(parts),
        "more": LogChunk.objects.filter(replica=replica, stream=stream, offset__gte=end).exists(),
        "missing": missing,
    }


def _messages(reader: output.Output) -> Iterator[dict[str, Any]]:
    more = True
    while more:
        messages, more = reader.read()
        yield from messages
