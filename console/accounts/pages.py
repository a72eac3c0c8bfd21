"""Sign-in and security: one's own factors and sessions; for operators the policy and the failed sign-ins."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts import devices, policy, provider_pages, queries, services
from console.accounts.forms import LockFilter, PolicyForm
from console.accounts.models import Lock
from console.common import clock
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput
from console.common.exports import FORMATS, Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants.models import Membership, User

app_name = "accounts"

SESSION_COLUMNS = [
    Column("id", "public_id"),
    Column("device", "device"),
    Column("address", "address"),
    Column("method", "method"),
    Column("started_at (UTC)", "started_at", "time"),
    Column("last_seen_at (UTC)", "last_seen_at", "time"),
]
LOCK_COLUMNS = [
    Column("id", "public_id"),
    Column("kind", "kind"),
    Column("subject", "subject"),
    Column("failures", "failures", "number"),
    Column("since (UTC)", "since", "time"),
    Column("locked_until (UTC)", "locked_until", "time"),
]


@require_GET
def security(request: HttpRequest) -> HttpResponse:
    """One's own: password, second factors, codes left, and where one is signed in."""
    actor = actor_of(request)
    assert isinstance(request.user, User)
    page = page_of(queries.sessions_for(actor), request.GET)
    for row in page.rows:
        row.device_name = devices.name_of(row.device)  # type: ignore[attr-defined]
    factors = list(queries.factors_of(request.user.pk))
    context = {
        "page": page,
        "current": request.session.session_key,
        "factors": factors,
        "codes_left": queries.codes_left(request.user.pk),
        "required": not queries.required_roles().isdisjoint(policy.roles_of(actor)),
        "provider": queries.managed_by([request.user.pk]).get(request.user.pk, ""),
        "limits": policy.limits_of(policy.roles_of(actor)),
    }
    return render(request, "accounts/security.html", context)


@require_GET
def sessions_export(request: HttpRequest) -> HttpResponseBase:
    rows = queries.sessions_for(actor_of(request)).iterator(chunk_size=500)
    return export_response(_format(request), rows, SESSION_COLUMNS, "sessions")


@require_POST
def session_end(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    services.end_session(actor, queries.session_for(actor, public_id))
    messages.success(request, _("The session was ended."))
    return redirect("accounts:security")


@require_POST
def sessions_end_others(request: HttpRequest) -> HttpResponse:
    count = services.end_other_sessions(actor_of(request), str(request.session.session_key))
    text = ngettext("%(count)d other session was ended.", "%(count)d other sessions were ended.", count)
    messages.success(request, text % {"count": count})
    return redirect("accounts:security")


@require_http_methods(["GET", "POST"])
def sign_in_policy(request: HttpRequest) -> HttpResponse:
    """Who needs a second factor, how many have one, and how long sessions last. POST: one role, yes or no."""
    actor = actor_of(request)
    rows = queries.coverage(actor)
    if request.method == "POST":
        return _set_policy(request, actor)
    required = queries.required_roles()
    labels = dict([*User.Role.choices, *Membership.Role.choices])
    context = {
        "rows": [
            {
                "role": role,
                "label": labels.get(role, role),
                "people": people,
                "having": having,
                "required": role in required,
                "fixed": role in settings.WEIR_SECOND_FACTOR_ROLES,
                "limits": policy.limits_of([role]),
            }
            for role, people, having in rows
        ],
        "length": _password_length(),
        "own_list": bool(_password_option("BreachedPasswordValidator", "path")),
    }
    return render(request, "accounts/policy.html", context)


def _set_policy(request: HttpRequest, actor: Actor) -> HttpResponse:
    form = PolicyForm(request.POST)
    if not form.is_valid():
        raise InvalidInput([FieldError(name, " ".join(map(str, errors))) for name, errors in form.errors.items()])
    change = services.require_factor if form.cleaned_data["required"] == "yes" else services.stop_requiring_factor
    change(actor, form.cleaned_data["role"])
    messages.success(request, _("The sign-in policy was changed."))
    return redirect("accounts:policy")


def _password_option(validator: str, option: str) -> Any:
    listed: Any = settings.AUTH_PASSWORD_VALIDATORS
    rules = {rule["NAME"].rpartition(".")[2]: rule.get("OPTIONS", {}) for rule in listed}
    return rules.get(validator, {}).get(option)


def _password_length() -> int:
    return int(_password_option("MinimumLengthValidator", "min_length"))


@require_GET
def locks(request: HttpRequest) -> HttpResponseBase:
    """Failed sign-ins by account and address."""
    actor = actor_of(request)
    form = LockFilter(request.GET)
    rows = _narrowed(queries.locks_for(actor), form)
    if request.GET.get("format") in FORMATS:
        return export_response(request.GET["format"], rows.iterator(chunk_size=500), LOCK_COLUMNS, "failed-sign-ins")
    context = {
        "page": page_of(rows, request.GET),
        "now": clock.now(),
        "filters": _filters(form),
        "filtered": any(request.GET.get(name) for name in form.fields),
        "errors": form.errors,
    }
    return render(request, "accounts/locks.html", context, status=200 if form.is_valid() else 422)


@require_POST
def unlock(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    lock = queries.lock_for(actor, public_id)
    services.unlock(actor, lock)
    messages.success(request, _("%(subject)s was unlocked.") % {"subject": lock.subject})
    return redirect("accounts:locks")


def _narrowed(rows: QuerySet[Lock], form: LockFilter) -> QuerySet[Lock]:
    if not form.is_valid():
        return rows.none()
    wanted = form.cleaned_data
    if wanted["kind"]:
        rows = rows.filter(kind=wanted["kind"])
    if wanted["subject"]:
        rows = rows.filter(subject__icontains=wanted["subject"])
    return rows.filter(locked_until__gt=clock.now()) if wanted["state"] == "locked" else rows


def _filters(form: LockFilter) -> list[dict[str, Any]]:
    def one(name: str, label: str, kind: str = "text", **more: Any) -> dict[str, Any]:
        return {"name": name, "label": label, "kind": kind, "value": form.data.get(name, ""), **more}

    return [
        one("subject", _("Account or address")),
        one("kind", _("Kind"), "select", options=Lock.Kind.choices),
        one("state", _("State"), "select", options=[("locked", _("locked"))]),
    ]


def _format(request: HttpRequest) -> str:
    wanted = request.GET.get("format", "csv")
    if wanted not in FORMATS:
        raise InvalidInput([FieldError("format", f"must be one of {', '.join(FORMATS)}")])
    return wanted


urlpatterns: list[URLPattern] = [
    *provider_pages.urlpatterns,
    path("security/", security, name="security"),
    path("security/browsers/export/", sessions_export, name="sessions_export"),
    path("security/browsers/end-others", sessions_end_others, name="sessions_end_others"),
    path("security/browsers/<str:public_id>/end", session_end, name="session_end"),
    path("access/", sign_in_policy, name="policy"),
    path("access/failed/", locks, name="locks"),
    path("access/failed/<str:public_id>/unlock", unlock, name="unlock"),
]
