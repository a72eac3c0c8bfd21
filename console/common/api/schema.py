"""The OpenAPI description, from what the views declare."""

from typing import Any, Literal

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from console.common.api.problems import MEDIA_TYPE

_KEY = OpenApiParameter(
    name="Idempotency-Key",
    location=OpenApiParameter.HEADER,
    required=True,
    type=str,
    description="Makes a retry safe: the same key and body are answered from the store for 24 hours.",
)


class FieldProblem(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="path of the field, such as roles[0].gpu_fraction")
    message = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem details."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="stable; for programs")
    detail = serializers.CharField()
    errors = FieldProblem(many=True, required=False)  # type: ignore[assignment]
    request_id = serializers.CharField()


class RoomSchema(AutoSchema):
    """Adds the header of POSTs, the filters of lists and the problem answers that every operation has."""

    def get_override_parameters(self) -> list[Any]:
        if self.method == "POST":
            return [_KEY]
        filters = getattr(self.view, "filters", None)
        return [filters] if filters is not None and self.method == "GET" else []

    def _is_list_view(self, serializer: Any = None) -> bool:
        if self.method != "GET" or not hasattr(self.view, "filters"):
            return False
        # asked again for each answer: the problem answers of a list are no lists
        return serializer is None or isinstance(serializer, (dict, serializers.ListSerializer))

    def get_response_serializers(self) -> Any:
        row = getattr(self.view, "row", None)
        if self.method == "GET" and row is not None and hasattr(self.view, "filters"):
            return {200: row(many=True)}
        return super().get_response_serializers()

    def get_request_serializer(self) -> Any:
        return None if self.method == "GET" else super().get_request_serializer()

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        codes = [401, 403, 404, 422, 429] + ([400, 409, 413] if self.method == "POST" else [])
        for code in sorted(codes):
            bodies[str(code)] = self._get_response_for_code(  # type: ignore[no-untyped-call]
                Problem, str(code), [MEDIA_TYPE], direction
            )
        return bodies


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "console.tenants.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "weir_..."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "console.tenants.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
