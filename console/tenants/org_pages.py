"""Tenants with their people and projects: the same pages for operators and in the tenant's own portal."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from console.accounts.queries import managed_by
from console.common import clock
from console.common.actor import ProjectRole
from console.common.errors import Conflict, InvalidInput
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from console.tenants import queries, services
from console.tenants.models import Membership, Project, ProjectMembership, Tenant
from console.tenants.org_forms import InviteForm, LimitsForm, ProjectForm, cards_of

MEMBER_COLUMNS = [
    Column(gettext_lazy("E-mail address"), "user.email"),
    Column(gettext_lazy("Role"), "role"),
    Column(gettext_lazy("Since (UTC)"), "created_at", "time"),
    Column(gettext_lazy("Given by"), "granted_by"),
    Column(
        gettext_lazy("Roles in projects"),
        lambda member: " ".join(f"{one.project.slug}:{one.role}" for one in member.project_roles.all()),
    ),
]
TENANT_COLUMNS = [
    Column(gettext_lazy("Id"), "public_id"),
    Column(gettext_lazy("Short name"), "slug"),
    Column(gettext_lazy("Name"), "name"),
    Column(gettext_lazy("State"), "state"),
    Column(gettext_lazy("Currency"), "currency"),
    Column(gettext_lazy("Cards at once"), lambda one: _cards(one.limit_share_bp), "number"),
    Column(gettext_lazy("Running jobs"), "limit_running_jobs", "number"),
    Column(gettext_lazy("Since (UTC)"), "created_at", "time"),
]


@require_GET
def tenant_list(request: HttpRequest) -> HttpResponseBase:
    """Filters: state, text; `format` exports exactly what is filtered."""
    actor = actor_of(request)
    state, text = request.GET.get("state", ""), request.GET.get("text", "").strip()[:64]
    rows = queries.people_tenants_for(actor)
    if state in Tenant.State.values:
        rows = rows.filter(state=state)
    if text:
        rows = rows.filter(name__icontains=text.replace("\0", ""))
    if wanted := request.GET.get("format"):
        return export_response(wanted, rows.iterator(chunk_size=500), TENANT_COLUMNS, "tenants")
    states = [("", _("All")), *Tenant.State.choices]
    tabs = [{"label": name, "url": f"?state={one}" if one else "?", "current": one == state} for one, name in states]
    filters = [{"name": "text", "label": _("Name"), "kind": "text", "value": text}]
    context = {"page": page_of(rows, request.GET, order=("slug",)), "tabs": tabs, "filters": filters}
    return render(request, "tenants/list.html", context | {"filtered": bool(text), "operates": actor.is_operator})


@require_GET
def tenant_detail(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    return overview(request, queries.people_tenant_for(actor, public_id))


def overview(
    request: HttpRequest,
    tenant: Tenant,
    form: ProjectForm | None = None,
    refusal: InvalidInput | Conflict | None = None,
    **more: Any,
) -> HttpResponse:
    rows = tenant.projects.order_by("slug")[:500]
    form = form or ProjectForm()
    context = {"projects": rows, "form": form, "quota": LimitsForm(initial=cards_of(tenant)), **more}
    return answer(request, "tenants/tenant.html", tenant, context, refusal, form)


@require_POST
def project_create(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    form = ProjectForm(request.POST)
    given = {"slug": request.POST.get("slug", ""), "name": request.POST.get("name", "")}
    refusal = attempt(lambda: services.create_project(actor, tenant, **given))
    if refusal is not None:
        return overview(request, tenant, form, refusal)
    return redirect("people:tenant", public_id)


@require_GET
def people(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """Members by e-mail, with roles in projects; `format` exports them."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    if wanted := request.GET.get("format"):
        rows = queries.members_of(actor, tenant).order_by("user__email").iterator(chunk_size=500)
        return export_response(wanted, rows, MEMBER_COLUMNS, f"people-{tenant.slug}")
    return _people(request, tenant, InviteForm())


def _people(
    request: HttpRequest,
    tenant: Tenant,
    form: InviteForm,
    refusal: InvalidInput | Conflict | None = None,
    **more: Any,
) -> HttpResponse:
    actor = actor_of(request)
    page = page_of(queries.members_of(actor, tenant), request.GET, order=("user__email",))
    context = {
        "page": page,
        "providers": managed_by([row.user_id for row in page.rows], seen_from=tenant.pk),
        "invitations": list(queries.invitations_of(actor, tenant)[:50]),
        "roles": Membership.Role.choices,
        "me": actor.user_id,
        "now": clock.now(),
        "form": form,
        **more,
    }
    return answer(request, "tenants/people.html", tenant, context, refusal, form)


@never_cache
@require_POST
def invite(request: HttpRequest, public_id: str) -> HttpResponse:
    """The link is in this answer and in the mail, and nowhere else."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    form = InviteForm(request.POST)
    services.require_manager(actor, tenant)
    if not form.is_valid():
        return _people(request, tenant, form)
    made: list[Any] = []
    refusal = attempt(lambda: made.extend(services.invite(actor, tenant, **form.cleaned_data)))
    if refusal is not None:
        return _people(request, tenant, form, refusal)
    row, secret = made
    link = request.build_absolute_uri(reverse("invitation", args=[secret]))
    mailed = services.mail_invitation(row, link)
    return _people(request, tenant, InviteForm(), link=link, mailed=mailed, invited=row)


@require_POST
def invitation_revoke(request: HttpRequest, public_id: str, invitation_id: str) -> HttpResponse:
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    services.require_manager(actor, tenant)
    services.revoke_invitation(actor, queries.invitation_for(actor, tenant, invitation_id))
    return redirect("people:people", public_id)


@require_POST
def member_role(request: HttpRequest, public_id: str, user_id: str) -> HttpResponse:
    """POST `role`; empty: the person leaves the tenant."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    user = queries.member_for(actor, tenant, user_id)
    role = request.POST.get("role", "")
    if role:
        refusal = attempt(lambda: services.add_member(actor, tenant, user, role))
    else:
        refusal = attempt(lambda: services.remove_member(actor, tenant, user))
    if refusal is not None:
        return _people(request, tenant, InviteForm(), refusal)
    return redirect("web:overview") if not role and actor.user_id == user.pk else redirect("people:people", public_id)


@require_GET
def project(request: HttpRequest, public_id: str, project_id: str) -> HttpResponse:
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    return project_page(request, queries.project_of(actor, tenant, project_id))


def project_page(
    request: HttpRequest, found: Project, refusal: InvalidInput | Conflict | None = None, **more: Any
) -> HttpResponse:
    actor = actor_of(request)
    held = {one.membership_id: one for one in found.roles.all()}
    members = queries.members_of(actor, found.tenant).exclude(role=Membership.Role.OWNER).order_by("user__email")[:500]
    context = {
        "project": found,
        "people": [(member, held.get(member.pk)) for member in members],
        "roles": ProjectMembership.Role.choices,
        "quota": LimitsForm(initial=cards_of(found)),
        "may_roles": actor.may_manage_project(found.tenant_id, found.pk),
        "me": actor.user_id,
        **more,
    }
    return answer(request, "tenants/project.html", found.tenant, context, refusal)


@require_POST
def project_change(request: HttpRequest, public_id: str, project_id: str) -> HttpResponse:
    """POST `action`: rename (name), archive, reopen, or role (user, role)."""
    actor = actor_of(request)
    tenant = queries.people_tenant_for(actor, public_id)
    found = queries.project_of(actor, tenant, project_id)
    action = request.POST.get("action", "")
    if action != "role":
        services.require_manager(actor, tenant)
    acts: dict[str, Callable[[], object]] = {
        "rename": lambda: services.rename_project(actor, found, request.POST.get("name", "")),
        "archive": lambda: services.set_archived(actor, found, True),
        "reopen": lambda: services.set_archived(actor, found, False),
        "role": lambda: services.set_project_role(
            actor, found, queries.member_for(actor, tenant, request.POST.get("user", "")), request.POST.get("role", "")
        ),
    }
    if action not in acts:
        raise Conflict(_("there is no such action"))
    refusal = attempt(acts[action])
    if refusal is not None:
        return project_page(request, queries.project_of(actor, tenant, project_id), refusal)
    messages.success(request, _("The project was changed."))
    return redirect("people:project", public_id, project_id)


def attempt(act: Callable[[], object]) -> InvalidInput | Conflict | None:
    """What the form should say; NotAllowed and NotFound are pages of their own."""
    try:
        act()
    except (InvalidInput, Conflict) as refusal:
        return refusal
    return None


def answer(
    request: HttpRequest,
    template: str,
    tenant: Tenant,
    context: dict[str, Any],
    refusal: InvalidInput | Conflict | None = None,
    form: Any = None,
) -> HttpResponse:
    """A page of the tenant, with what was refused above it and at its fields."""
    actor = actor_of(request)
    problems = []
    for error in refusal.errors if isinstance(refusal, InvalidInput) else ():
        if form is not None and error.field in form.fields and form.is_bound:
            form.add_error(error.field, error.message)
        else:
            problems.append(f"{error.field}: {error.message}")
    if isinstance(refusal, Conflict):
        problems.append(refusal.message)
    bad = form is not None and form.is_bound and bool(form.errors)
    status = context.pop("status", refusal.status if refusal else 422 if bad else 200)
    manages = actor.may_manage(tenant.pk) and tenant.state != Tenant.State.CLOSED
    context |= {"tenant": tenant, "manages": manages, "operates": actor.is_operator, "problems": problems}
    context["tabs"] = _tabs(request, tenant)
    return render(request, template, context, status=status)


def _tabs(request: HttpRequest, tenant: Tenant) -> list[dict[str, Any]]:
    pages = [
        ("people:tenant", _("Overview and projects")),
        ("people:people", _("People")),
        ("people:services", _("Service accounts")),
    ]
    actor = actor_of(request)
    admin = any(grant.tenant_id == tenant.pk and grant.role is ProjectRole.ADMIN for grant in actor.projects.values())
    if not (admin or actor.may_manage(tenant.pk) or actor.sees_all_work):
        pages.pop()  # service accounts are for who manages them
    urls = [reverse(name, args=[tenant.public_id]) for name, _label in pages]
    # the longest that the path begins with
    at = max((url for url in urls if request.path.startswith(url)), key=len, default=urls[0])
    return [{"label": label, "url": url, "current": url == at} for (_name, label), url in zip(pages, urls, strict=True)]


def _cards(share_bp: int | None) -> float | None:
    return None if share_bp is None else share_bp / 10_000
