"""Routes of tenants, their people, projects and service accounts, under /tenants/."""

from django.urls import path
from django.urls.resolvers import URLPattern

from console.tenants import org_pages, service_pages, state_pages

app_name = "people"
_TENANT = "<str:public_id>/"

urlpatterns: list[URLPattern] = [
    path("", org_pages.tenant_list, name="list"),
    path("new/", state_pages.new, name="new"),
    path(f"{_TENANT}state", state_pages.change, name="state"),
    path(f"{_TENANT}quota", state_pages.quota, name="quota"),
    path(_TENANT, org_pages.tenant_detail, name="tenant"),
    path(f"{_TENANT}people/", org_pages.people, name="people"),
    path(f"{_TENANT}people/invite", org_pages.invite, name="invite"),
    path(f"{_TENANT}people/<str:user_id>/role", org_pages.member_role, name="member_role"),
    path(f"{_TENANT}invitations/<str:invitation_id>/revoke", org_pages.invitation_revoke, name="invitation_revoke"),
    path(f"{_TENANT}projects/new", org_pages.project_create, name="project_create"),
    path(f"{_TENANT}projects/<str:project_id>/", org_pages.project, name="project"),
    path(f"{_TENANT}projects/<str:project_id>/change", org_pages.project_change, name="project_change"),
    path(f"{_TENANT}services/", service_pages.service_accounts, name="services"),
    path(f"{_TENANT}services/token", service_pages.service_token, name="service_token"),
    path(f"{_TENANT}services/tokens/<str:token_id>/revoke", service_pages.service_token_revoke, name="service_revoke"),
    path(f"{_TENANT}services/<str:account_id>/close", service_pages.service_close, name="service_close"),
]
