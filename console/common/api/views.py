"""Base views of the API: a list that pages and exports, and POSTs that happen once."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.http.response import HttpResponse, HttpResponseBase
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from console.common import idempotency
from console.common.actor import Actor
from console.common.api import params
from console.common.api.paging import KeysetPagination
from console.common.api.schema import RoomSchema
from console.common.exports import FORMATS, Column, export_response
from console.common.listing import NEWEST_FIRST
from console.common.models import IdempotencyKey

_CHUNK = 500
_REPLAYED = "Idempotency-Replayed"


class JsonOnly(BaseContentNegotiation):
    """JSON whatever `Accept` says; `?format=` is ours, for exports."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return JSONRenderer(), "application/json"


class ApiView(APIView):
    """`room` names the scopes that a token needs: `<room>:read` to look, `<room>:write` to change."""

    room: ClassVar[str] = ""
    content_negotiation_class = JsonOnly
    schema = RoomSchema()

    @property
    def actor(self) -> Actor:
        return self.request._request.actor  # type: ignore[no-any-return, attr-defined]

    @property
    def sent(self) -> dict[str, Any]:
        """The body; StrictJSONParser lets only objects through."""
        return cast(dict[str, Any], self.request.data)


class ListView(ApiView):
    """GET: the rows that the actor may see, narrowed by typed `filters`, paged; `?format=csv|xlsx` exports all."""

    filters: ClassVar[type[params.Filters]]
    row: ClassVar[type[BaseSerializer[Any]]]
    columns: list[Column]
    file_name: ClassVar[str]
    order: ClassVar[Sequence[str]] = NEWEST_FIRST
    pagination_class = KeysetPagination

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Any]:
        """The scoped, filtered query; `wanted` holds the filters that were given."""
        raise NotImplementedError

    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        wanted = params.read(self.filters, request.query_params)
        rows = self.rows(wanted)
        if wanted.get("format", "json") in FORMATS:
            ordered = rows.order_by(*self.order).iterator(chunk_size=_CHUNK)
            return export_response(wanted["format"], ordered, self.columns, self.file_name)
        pages = KeysetPagination()
        found = pages.paginate_queryset(rows, request, self)
        return pages.get_paginated_response(self.row(found, many=True, context={"actor": self.actor}).data)


Row = Callable[[Response], IdempotencyKey]
Post = Callable[..., HttpResponse]


def idempotent(function: Callable[..., Response]) -> Post:
    """Marks a `post` of an ApiView: it needs an Idempotency-Key and happens once (console.common.idempotency).

    The handler and the storing of its answer are one transaction.
    """
    return _once(function, "around")


def idempotent_answer(function: Callable[..., Response]) -> Post:
    """The same for a handler that changes nothing: no transaction is held while it works."""
    return _once(function, "after")


def idempotent_inside(function: Callable[..., None]) -> Post:
    """The same for a service with a short transaction of its own.

    The handler takes a further argument `row`: it makes the row that keeps a Response, which the service inserts.
    """

    @wraps(function)
    def post(view: ApiView, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        def work(keep: Callable[[idempotency.Answer], IdempotencyKey]) -> None:
            function(view, request, *args, **kwargs, row=lambda response: keep(_answer(response)))

        return _response(idempotency.run_inside(*_call(view, request), work))

    post.idempotent = True  # type: ignore[attr-defined]
    return post


def _once(function: Callable[..., Response], mode: idempotency.Mode) -> Post:
    @wraps(function)
    def post(view: ApiView, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        def work() -> idempotency.Answer:
            return _answer(function(view, request, *args, **kwargs))

        return _response(idempotency.run(*_call(view, request), work, mode))

    post.idempotent = True  # type: ignore[attr-defined]
    return post


def _call(view: ApiView, request: Request) -> tuple[str, str, str]:
    """Whose request it is, its key, and what it asks for."""
    key = idempotency.read_key(request.headers)
    print_ = idempotency.fingerprint("POST", request.get_full_path(), request._request.body)
    return f"{view.actor.ident} {view.actor.via}", key, print_


def _answer(response: Response) -> idempotency.Answer:
    body = JSONRenderer().render(response.data) if response.data is not None else b""
    headers = {"Location": response["Location"]} if response.has_header("Location") else {}
    return idempotency.Answer(response.status_code, body, headers)


def _response(answer: idempotency.Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    for name, value in answer.headers.items():
        response[name] = value
    if answer.replayed:
        response[_REPLAYED] = "true"
    return response
