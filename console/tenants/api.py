"""API v1 of people: who am I, and my tokens. There is no login here: sessions come from allauth alone."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.actor import TenantRole
from console.common.api import params
from console.common.api.views import ApiView, ListView, idempotent
from console.common.exports import Column
from console.tenants import queries, services
from console.tenants.models import ApiToken, Project
from console.tenants.scopes import SCOPES
from console.tenants.services.tokens import MAX_DAYS


class TokenRow(serializers.ModelSerializer[ApiToken]):
    id = serializers.CharField(source="public_id")
    prefix = serializers.SerializerMethodField()
    tenant = serializers.CharField(source="tenant.slug", default=None, allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ApiToken
        fields = [
            "id",
            "name",
            "prefix",
            "tenant",
            "scopes",
            "created_at",
            "expires_at",
            "last_used_at",
            "revoked_at",
        ]

    def get_prefix(self, token: ApiToken) -> str:
        return f"weir_{token.prefix}"


class NewToken(TokenRow):
    token = serializers.CharField(help_text="the secret, shown this once")

    class Meta(TokenRow.Meta):
        fields = [*TokenRow.Meta.fields, "token"]


@extend_schema_serializer(component_name="Token")
class TokenRequest(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(child=serializers.CharField(), help_text=", ".join(SCOPES))
    tenant = serializers.CharField(required=False, allow_null=True, help_text="narrow it to one tenant")
    days = serializers.IntegerField(required=False, default=90, min_value=1, max_value=MAX_DAYS)


class MyTenant(serializers.Serializer[Any]):
    id = serializers.CharField()
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=[role.value for role in TenantRole])


class MeRow(serializers.Serializer[Any]):
    id = serializers.CharField()
    email = serializers.EmailField()
    platform_role = serializers.CharField(allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="null: a session")
    tenants = MyTenant(many=True)


class Me(ApiView):
    @extend_schema(responses={200: MeRow}, operation_id="me_retrieve")
    def get(self, request: Request) -> Response:
        """Who this session or token is, and what it may reach."""
        actor = self.actor
        mine = queries.tenants_for(actor).filter(pk__in=actor.tenants)
        tenants = [
            {"id": one.public_id, "slug": one.slug, "name": one.name, "role": actor.tenants[one.pk]} for one in mine
        ]
        body = {
            "id": actor.ident.removeprefix("user:"),
            "email": actor.label,
            "platform_role": actor.platform_role,
            "scopes": None if actor.scopes is None else sorted(actor.scopes),
            "tenants": tenants,
        }
        return Response(MeRow(body).data)


class Tokens(ListView):
    """Your API tokens, newest first."""

    room = "tokens"
    filters = params.Filters
    row = TokenRow
    columns = [
        Column("id", "public_id"),
        Column("name", "name"),
        Column("prefix", "prefix"),
        Column("tenant", "tenant.slug"),
        Column("scopes", lambda token: " ".join(token.scopes)),
        Column("created_at (UTC)", "created_at", "time"),
        Column("expires_at (UTC)", "expires_at", "time"),
        Column("last_used_at (UTC)", "last_used_at", "time"),
        Column("revoked_at (UTC)", "revoked_at", "time"),
    ]
    file_name = "tokens"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[ApiToken]:
        return queries.tokens_for(self.actor)

    @extend_schema(request=TokenRequest, responses={201: NewToken}, operation_id="tokens_create")
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a token. Its secret is in this answer and nowhere else."""
        given = params.body(TokenRequest, self.sent)
        slug = given.pop("tenant", None)
        tenant = queries.tenant_for(self.actor, slug) if slug else None
        token, secret = services.create_token(self.actor, tenant=tenant, **given)
        token.token = secret  # type: ignore[attr-defined]
        return Response(NewToken(token).data, status=status.HTTP_201_CREATED)


class TokenRevoke(ApiView):
    room = "tokens"

    @extend_schema(request=None, responses={200: TokenRow}, operation_id="tokens_revoke")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """End a token at once and for good."""
        params.body(serializers.Serializer, self.sent)
        token = services.revoke_token(self.actor, queries.revocable_token(self.actor, public_id))
        return Response(TokenRow(token).data)


class ProjectRow(serializers.ModelSerializer[Project]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")

    class Meta:
        model = Project
        fields = ["id", "tenant", "slug", "name", "created_at"]


class ProjectFilters(params.Filters):
    tenant = serializers.CharField(required=False, max_length=64)


class Projects(ListView):
    """Projects of your tenants."""

    room = "jobs"
    filters = ProjectFilters
    row = ProjectRow
    columns = [
        Column("id", "public_id"),
        Column("tenant", "tenant.slug"),
        Column("slug", "slug"),
        Column("name", "name"),
        Column("created_at (UTC)", "created_at", "time"),
    ]
    file_name = "projects"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Project]:
        rows = queries.projects_for(self.actor)
        return rows.filter(tenant__slug=wanted["tenant"]) if "tenant" in wanted else rows
