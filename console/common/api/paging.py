"""Lists of the API: `{"results": [...], "next": cursor or null}`, paged by keyset."""

from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from console.common import listing

if TYPE_CHECKING:  # DRF reads this module while it imports its own views
    from rest_framework.views import APIView


class KeysetPagination(BasePagination):
    """`?limit=` (1 to 500, default 50) and `?cursor=`, which is `next` or `previous` of another page."""

    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[Any], request: Request, view: "APIView | None" = None
    ) -> list[Any]:
        size = listing.page_size(request.query_params.get("limit", ""))
        order = getattr(view, "order", listing.NEWEST_FIRST)
        self.page = listing.keyset(queryset, request.query_params.get("cursor", ""), size, order)
        return self.page.rows

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.page.after or None, "previous": self.page.before or None})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        cursor = {"type": "string", "nullable": True, "description": "give it as `cursor`"}
        return {
            "type": "object",
            "required": ["results", "next", "previous"],
            "properties": {
                "results": schema,
                "next": cursor,
                "previous": cursor,
            },
        }

    def get_schema_operation_parameters(self, view: "APIView") -> list[dict[str, Any]]:
        return [
            _parameter("cursor", {"type": "string"}, "`next` or `previous` of an earlier page"),
            _parameter("limit", {"type": "integer", "minimum": 1, "maximum": listing.MAX_SIZE}, "rows a page"),
        ]


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}
