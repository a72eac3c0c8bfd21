"""What operators do with a tenant: make it, set its quota, suspend, resume, ask to close it."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.common.signed_in import actor_of
from console.tenants import ports, queries, services
from console.tenants.closing import ask_to_close
from console.tenants.impact import Impact, impact_of
from console.tenants.models import Project, Tenant
from console.tenants.org_forms import LimitsForm, TenantForm
from console.tenants.org_pages import attempt, overview, project_page


@never_cache
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """With a project and the invitation of its first owner, whose link is in this answer and nowhere else."""
    actor = actor_of(request)
    if not actor.is_operator:
        raise NotAllowed("only an operator creates tenants")
    form = TenantForm(request.POST if request.method == "POST" else None)
    if request.method == "GET" or not form.is_valid():
        return render(request, "tenants/new.html", {"form": form}, status=422 if form.errors else 200)
    given = dict(form.cleaned_data)
    owner = given.pop("owner")
    try:
        tenant, invited = services.set_up_tenant(actor, owner=owner, **given)
    except (InvalidInput, Conflict) as refusal:
        return _refused(request, form, refusal)
    if invited is None:
        return redirect("people:tenant", tenant.public_id)
    row, secret = invited
    link = request.build_absolute_uri(reverse("invitation", args=[secret]))
    mailed = services.mail_invitation(row, link)
    return render(request, "tenants/made.html", {"tenant": tenant, "invited": row, "link": link, "mailed": mailed})


def _refused(request: HttpRequest, form: TenantForm, refusal: InvalidInput | Conflict) -> HttpResponse:
    errors = [(error.field, error.message) for error in getattr(refusal, "errors", ())]
    for field, message in errors or [("slug", refusal.message)]:
        form.add_error({"email": "owner"}.get(field, field) if field in (*form.fields, "email") else None, message)
    return render(request, "tenants/new.html", {"form": form}, status=refusal.status)


@require_POST
def change(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `action`: suspend (running, reason), resume, or close (reason: asks a second operator)."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if not actor.is_operator:
        raise NotAllowed("only an operator suspends, resumes and closes tenants")
    reason = request.POST.get("reason", "")
    acts: dict[str, tuple[Callable[[], object], str]] = {
        "suspend": (
            lambda: services.suspend_tenant(actor, tenant, request.POST.get("running", ""), reason),
            _("The tenant is suspended: nothing new starts."),
        ),
        "resume": (lambda: services.resume_tenant(actor, tenant), _("The tenant works again.")),
        "close": (
            lambda: ask_to_close(actor, tenant, reason),
            _("It is asked for: the tenant is closed once a second operator approves."),
        ),
    }
    act, told = acts.get(request.POST.get("action", ""), (_nothing, ""))
    refusal = attempt(act)
    if refusal is not None:
        return overview(request, queries.people_tenant_for(actor, public_id), refusal=refusal)
    messages.success(request, told)
    return redirect("people:tenant", public_id)


def _nothing() -> None:
    raise Conflict(_("there is no such action"))


@require_POST
def quota(request: HttpRequest, public_id: str) -> HttpResponse:
    """POST `cards`, `jobs`, and `project` for its part: first what it would do to what runs; with `sure` it is done."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    named = request.POST.get("project", "")
    found = queries.project_of(actor, tenant, named) if named else None
    if found is None and not actor.is_operator:
        raise NotAllowed("the quota of a tenant is set by operators; owners split it among projects")
    services.require_manager(actor, tenant)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _page(request, tenant, found, quota=form, status=422)
    limits = form.limits()
    if request.POST.get("sure") != "yes":
        told = impact_of(ports.use_of(found or tenant), limits)
        return _page(request, tenant, found, quota=form, impact=told, impact_text=_words(told))
    refusal = attempt(
        lambda: (
            services.set_project_limits(actor, found, **limits)
            if found is not None
            else services.set_tenant_limits(actor, tenant, **limits)
        )
    )
    if refusal is not None:
        return _page(request, tenant, found, refusal, quota=form)
    messages.success(request, _("The quota is set. What runs goes on."))
    if found is not None:
        return redirect("people:project", public_id, found.public_id)
    return redirect("people:tenant", public_id)


def _page(
    request: HttpRequest,
    tenant: Tenant,
    found: Project | None,
    refusal: InvalidInput | Conflict | None = None,
    **more: Any,
) -> HttpResponse:
    if found is not None:
        return project_page(request, found, refusal, **more)
    return overview(request, tenant, refusal=refusal, **more)


def _words(told: Impact) -> list[str]:
    use = told.use
    held = _("Running jobs: %(n)s, on this many cards: %(cards)s.")
    lines = [held % {"n": use.running_jobs, "cards": f"{use.share_bp / 10_000:g}"}]
    if not told.is_over:
        return [*lines, _("All of it is within the new quota.")]
    if told.over_bp:
        lines.append(_("Cards over the new quota: %(cards)s.") % {"cards": f"{told.over_bp / 10_000:g}"})
    if told.over_jobs:
        lines.append(_("Jobs over the new quota: %(n)s.") % {"n": told.over_jobs})
    return [*lines, _("What runs goes on; nothing more starts until it is below the quota again.")]
