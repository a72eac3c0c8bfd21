"""API v1 of tenants: members, invitations, projects with their parts of the quota."""

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.views import ApiView, ListView, idempotent
from console.common.exports import Column
from console.tenants import queries, services
from console.tenants.api import ProjectRow
from console.tenants.models import Invitation, Membership, Project, Tenant
from console.tenants.org_pages import MEMBER_COLUMNS, TENANT_COLUMNS
from console.tenants.services.invitations import MAX_DAYS


class TenantRow(serializers.ModelSerializer[Tenant]):
    id = serializers.CharField(source="public_id")
    state = serializers.CharField(help_text="active, suspended or closed")

    class Meta:
        model = Tenant
        fields = ["id", "slug", "name", "state", "currency", "time_zone", "limit_share_bp", "limit_running_jobs"]


class Tenants(ListView):
    """Your tenants; all of them for operators and auditors."""

    room = "people"
    filters = params.Filters
    row = TenantRow
    columns = TENANT_COLUMNS
    file_name = "tenants"
    order = ("slug",)

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Tenant]:
        return queries.people_tenants_for(self.actor)


class MemberRow(serializers.ModelSerializer[Membership]):
    id = serializers.CharField(source="user.public_id")
    email = serializers.EmailField(source="user.email")
    role = serializers.CharField(help_text="owner, member, viewer or billing")
    projects = serializers.SerializerMethodField(help_text="roles in projects, by their short names")

    class Meta:
        model = Membership
        fields = ["id", "email", "role", "created_at", "granted_by", "projects"]

    def get_projects(self, member: Membership) -> dict[str, str]:
        return {one.project.slug: one.role for one in member.project_roles.all()}


class Members(ListView):
    """People of a tenant, by e-mail."""

    room = "people"
    filters = params.Filters
    row = MemberRow
    columns = MEMBER_COLUMNS
    file_name = "members"
    order = ("user__email",)

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Membership]:
        tenant = queries.people_tenant_for(self.actor, self.kwargs["public_id"])
        return queries.members_of(self.actor, tenant)


class InvitationRow(serializers.ModelSerializer[Invitation]):
    id = serializers.CharField(source="public_id")
    role = serializers.CharField(help_text="owner, member, viewer or billing")
    invited_by = serializers.CharField(source="invited_by_label")

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "invited_by", "created_at", "expires_at", "accepted_at", "revoked_at"]


class NewInvitation(InvitationRow):
    link = serializers.CharField(help_text="to hand over; shown this once")

    class Meta(InvitationRow.Meta):
        fields = [*InvitationRow.Meta.fields, "link"]


@extend_schema_serializer(component_name="Invitation")
class InvitationRequest(serializers.Serializer[Any]):
    email = serializers.EmailField()
    role = serializers.CharField(help_text="owner, member, viewer or billing")
    days = serializers.IntegerField(required=False, default=7, min_value=1, max_value=MAX_DAYS)


class Invitations(ListView):
    """Invitations to a tenant, newest first; none for those who do not manage it."""

    room = "people"
    filters = params.Filters
    row = InvitationRow
    columns = [
        Column("id", "public_id"),
        Column("email", "email"),
        Column("role", "role"),
        Column("invited_by", "invited_by_label"),
        Column("created_at (UTC)", "created_at", "time"),
        Column("expires_at (UTC)", "expires_at", "time"),
        Column("accepted_at (UTC)", "accepted_at", "time"),
        Column("revoked_at (UTC)", "revoked_at", "time"),
    ]
    file_name = "invitations"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Invitation]:
        return queries.invitations_of(self.actor, queries.people_tenant_for(self.actor, self.kwargs["public_id"]))

    @extend_schema(request=InvitationRequest, responses={201: NewInvitation}, operation_id="invitations_create")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Invite a person. The link is in this answer; it is not mailed: the caller hands it over."""
        tenant = queries.people_tenant_for(self.actor, public_id)
        services.require_manager(self.actor, tenant)
        row, secret = services.invite(self.actor, tenant, **params.body(InvitationRequest, self.sent))
        row.link = request.build_absolute_uri(reverse("invitation", args=[secret]))  # type: ignore[attr-defined]
        return Response(NewInvitation(row).data, status=status.HTTP_201_CREATED)


class InvitationRevoke(ApiView):
    room = "people"

    @extend_schema(request=None, responses={200: InvitationRow}, operation_id="invitations_revoke")
    @idempotent
    def post(self, request: Request, public_id: str, invitation_id: str) -> Response:
        """End an invitation that was not accepted, at once and for good."""
        params.body(serializers.Serializer, self.sent)
        tenant = queries.people_tenant_for(self.actor, public_id)
        services.require_manager(self.actor, tenant)
        row = services.revoke_invitation(self.actor, queries.invitation_for(self.actor, tenant, invitation_id))
        return Response(InvitationRow(row).data)


class LimitedProjectRow(ProjectRow):
    class Meta(ProjectRow.Meta):
        fields = [*ProjectRow.Meta.fields, "limit_share_bp", "limit_running_jobs", "archived_at"]


class ProjectRequest(serializers.Serializer[Any]):
    slug = serializers.CharField(max_length=64)
    name = serializers.CharField(max_length=200)


class ProjectCreate(ApiView):
    room = "people"

    @extend_schema(request=ProjectRequest, responses={201: LimitedProjectRow}, operation_id="projects_create")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Add a project to a tenant."""
        tenant = queries.people_tenant_for(self.actor, public_id)
        services.require_manager(self.actor, tenant)
        row = services.create_project(self.actor, tenant, **params.body(ProjectRequest, self.sent))
        return Response(LimitedProjectRow(row).data, status=status.HTTP_201_CREATED)


@extend_schema_serializer(component_name="ProjectLimits")
class LimitsRequest(serializers.Serializer[Any]):
    limit_share_bp = serializers.IntegerField(allow_null=True, min_value=0, help_text="basis points of a card")
    limit_running_jobs = serializers.IntegerField(allow_null=True, min_value=0)


class ProjectLimits(ApiView):
    room = "people"

    @extend_schema(request=LimitsRequest, responses={200: LimitedProjectRow}, operation_id="projects_limits")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Set a project's part of its tenant's quota; null: no limit of its own."""
        found = self._project(public_id)
        row = services.set_project_limits(self.actor, found, **params.body(LimitsRequest, self.sent))
        return Response(LimitedProjectRow(row).data)

    def _project(self, public_id: str) -> Project:
        found = queries.managed_project_for(self.actor, public_id)
        services.require_manager(self.actor, found.tenant)
        return found


class ProjectArchive(ProjectLimits):
    @extend_schema(request=None, responses={200: LimitedProjectRow}, operation_id="projects_archive")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Take no new work in this project; its past stays."""
        params.body(serializers.Serializer, self.sent)
        return Response(LimitedProjectRow(services.set_archived(self.actor, self._project(public_id), True)).data)


class ProjectReopen(ProjectLimits):
    @extend_schema(request=None, responses={200: LimitedProjectRow}, operation_id="projects_reopen")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Take new work again."""
        params.body(serializers.Serializer, self.sent)
        return Response(LimitedProjectRow(services.set_archived(self.actor, self._project(public_id), False)).data)
