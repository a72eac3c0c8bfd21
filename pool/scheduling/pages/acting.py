"""What people do with a job from its page: one POST an action, answered by the job's page."""

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput
from console.common.signed_in import actor_of
from pool.scheduling import queries, services
from pool.scheduling.models import Job, JobState
from pool.scheduling.states import JOB_FINAL

_DONE: dict[str, tuple[Callable[[Actor, Job], None], str | Promise]] = {
    "cancel": (services.cancel_job, gettext_lazy("The job is being cancelled.")),
    "requeue": (services.requeue_job, gettext_lazy("The job stops and then waits again.")),
    "retry": (services.retry_job, gettext_lazy("The job waits for another attempt.")),
}


def allowed(actor: Actor, job: Job) -> set[str]:
    """The actions that the page offers now; the services check again."""
    if not actor.may_work_in(job.tenant_id, job.project_id):
        return set()
    if job.state in JOB_FINAL:
        return {"clone", *({"retry"} if job.state != JobState.SUCCEEDED else ())}
    active = job.state in {JobState.STARTING, JobState.RUNNING}
    return {"clone", "cancel", "priority", *({"requeue"} if active else ())}


@require_POST
def act(request: HttpRequest, public_id: str, action: str) -> HttpResponse:
    """cancel, requeue, retry or priority. What comes too late is said as a message on the job's page."""
    actor = actor_of(request)
    if action not in _DONE and action != "priority":
        raise Http404
    job = queries.job_for(actor, public_id)
    try:
        messages.success(request, _priority(actor, job, request) if action == "priority" else _do(actor, job, action))
    except Conflict as error:
        messages.warning(request, error.message)
    except InvalidInput as error:
        messages.error(request, "; ".join(f"{e.field}: {e.message}" for e in error.errors))
    return HttpResponseRedirect(reverse("scheduling:job_detail", args=[job.public_id]))


def _do(actor: Actor, job: Job, action: str) -> str:
    service, done = _DONE[action]
    service(actor, job)
    return str(done)


def _priority(actor: Actor, job: Job, request: HttpRequest) -> str:
    text = request.POST.get("priority", "")
    # the service names what is right; text that is no number goes to it as it is
    value = int(text) if text.removeprefix("-").isdecimal() and len(text) < 8 else text
    services.set_priority(actor, job, value)  # type: ignore[arg-type]
    return _("The priority is now %(priority)s.") % {"priority": value}
