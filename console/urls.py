"""All routes."""

from django.urls import include, path
from django.urls.resolvers import URLPattern, URLResolver
from django.views.i18n import JavaScriptCatalog

from console.embedded.health import healthz
from console.tenants.access_pages import review
from console.tenants.invitation_pages import invitation
from console.tenants.pages import sign_in

ROOMS = [
    ("", "console.web.pages"),
    ("", "pool.scheduling.pages"),
    ("", "pool.inventory.pages"),
    ("billing/", "billing.pages"),
    ("settings/", "console.tenants.pages"),
    ("tenants/", "console.tenants.org_urls"),
    ("settings/", "console.accounts.pages"),
    ("audit/", "console.audit.pages"),
    ("approvals/", "console.approvals.pages"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *[path(prefix, include(module)) for prefix, module in ROOMS],
    path("healthz", healthz, name="healthz"),
    path("signin/<str:token>/", sign_in, name="sign_in_link"),
    path("access/", review, name="access_review"),
    path("invitation/<str:token>/", invitation, name="invitation"),
    path("accounts/", include("console.accounts.allauth_pages")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("i18n/js/", JavaScriptCatalog.as_view(), name="javascript-catalog"),
    path("api/v1/", include("console.api_urls")),
]

handler400 = "console.web.errors.bad_request"
handler403 = "console.web.errors.forbidden"
handler404 = "console.web.errors.not_found"
handler500 = "console.web.errors.server_error"
