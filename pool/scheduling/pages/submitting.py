"""Submitting a job: a form or JSON, with a dry run beside it. Everything works without JavaScript."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed, WeirError
from console.common.signed_in import actor_of
from pool.scheduling import queries, services
from pool.scheduling.dry_run import DryRun
from pool.scheduling.pages import choices, form_spec, json_spec, panel
from pool.scheduling.pages.form import JobForm
from pool.scheduling.pages.job_list import may_submit

# stand-ins while typing: a name and a command that are still missing are no errors yet
_LENIENT = {"name": "job", "command": "true"}


@dataclass(slots=True)
class Draft:
    """What was typed so far. `spec` is None while the form itself has errors."""

    mode: str
    form: JobForm
    text: str = ""
    spec: dict[str, Any] | None = None
    errors: list[FieldError] = field(default_factory=list)


@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest) -> HttpResponse:
    """GET: `mode` form or json, `clone` a job to start from. POST: `do` is submit or check."""
    actor = _submitter(request)
    if request.method == "GET":
        return _page(request, _fresh(request, actor))
    draft = _typed(request, actor)
    if draft.spec is None:
        return _page(request, draft, status=422)
    if request.POST.get("do") == "check":
        return _page(request, draft, dry_run=_try(actor, draft))
    try:
        job = services.submit_job(actor, draft.spec)
    except InvalidInput as error:
        _take(draft, error.errors)
        return _page(request, draft, status=422)
    messages.success(request, _("Job %(name)s was submitted.") % {"name": job.name})
    return HttpResponseRedirect(reverse("scheduling:job_detail", args=[job.public_id]))


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """The dry run of what is typed, as a fragment; with it the errors of each field."""
    actor = _submitter(request)
    draft = _typed(request, actor, lenient=True)
    dry_run = _try(actor, draft) if draft.spec is not None else None
    # what is still empty keeps whatever its field said: a refused form would lose its error otherwise
    untouched = [name for name in _LENIENT if not request.POST.get(name, "").strip()]
    context = {"draft": draft, "form": draft.form, "panel": panel.of(actor, dry_run)}
    context |= {"fragment": True, "untouched": untouched}
    return render(request, "scheduling/dry_run.html", context)


def _submitter(request: HttpRequest) -> Actor:
    actor = actor_of(request)
    if not may_submit(actor):
        raise NotAllowed(_("your roles may look at jobs but not submit them"))
    return actor


def _fresh(request: HttpRequest, actor: Actor) -> Draft:
    mode = "json" if request.GET.get("mode") == "json" else "form"
    spec = _cloned(actor, request.GET.get("clone", ""))
    initial = form_spec.initial_of(spec) if spec else {"tenant": request.GET.get("tenant", ""), "gpu_share": "1/8"}
    if initial is None:
        mode = "json"
    form = _form(actor, initial or {}, None)
    return Draft(mode, form, text=json_spec.dump(spec or json_spec.EXAMPLE))


def _cloned(actor: Actor, public_id: str) -> dict[str, Any] | None:
    """The request of the job to clone. Its environment may hold secrets: only for those who may run it."""
    if not public_id:
        return None
    job = queries.job_for(actor, public_id)
    if not actor.may_work_in(job.tenant_id, job.project_id):
        raise NotAllowed(_("your role in this tenant may look at jobs but not clone them"))
    return {**job.spec, "tenant": job.tenant.slug}


def _typed(request: HttpRequest, actor: Actor, lenient: bool = False) -> Draft:
    """`lenient`: what _LENIENT names may still be missing."""
    data = request.POST.copy()
    mode = "json" if data.get("mode") == "json" else "form"
    if mode == "json":
        text = data.get("json", "")
        spec, errors = json_spec.load(text)
        return Draft("json", _form(actor, {}, None), text, spec, errors)
    if lenient:
        for name, stand_in in _LENIENT.items():
            data[name] = data.get(name, "").strip() or stand_in
    form = _form(actor, {}, data)
    spec = form_spec.to_spec(form.cleaned_data) if form.is_valid() else None
    return Draft("form", form, json_spec.dump(spec or json_spec.EXAMPLE), spec)


def _form(actor: Actor, initial: dict[str, Any], data: Any) -> JobForm:
    tenant = (data or initial).get("tenant") or ""
    return JobForm(data, initial=initial, places=choices.places(actor, tenant), models=choices.models())


def _try(actor: Actor, draft: Draft) -> DryRun | None:
    try:
        return services.dry_run(actor, draft.spec or {})
    except InvalidInput as error:
        _take(draft, error.errors)
    except WeirError as error:
        _take(draft, [FieldError("", error.message)])
    return None


def _take(draft: Draft, errors: list[FieldError]) -> None:
    if draft.mode == "form":
        form_spec.take_errors(draft.form, errors)
    draft.errors = errors


def _page(request: HttpRequest, draft: Draft, dry_run: DryRun | None = None, status: int = 200) -> HttpResponse:
    context = {
        "draft": draft,
        "form": draft.form,
        "panel": panel.of(actor_of(request), dry_run),
        "profiles": choices.mig_profiles(),
        "shares": ["1/16", "1/8", "1/4", "1/2"],
    }
    return render(request, "scheduling/submit.html", context, status=status)
