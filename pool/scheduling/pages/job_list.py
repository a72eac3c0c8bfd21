"""The job list and its export."""

from collections.abc import Iterator

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from console.common import clock
from console.common.actor import Actor
from console.common.exports import Column, export_response
from console.common.listing import page_of
from console.common.signed_in import actor_of
from pool.scheduling.models import Job
from pool.scheduling.pages import filters, reads

EXPORTED = 50_000
COLUMNS = [
    Column(_("Id"), "public_id"),
    Column(_("Name"), "name"),
    Column(_("Tenant"), "tenant.slug"),
    Column(_("Project"), "project.slug"),
    Column(_("Queue"), "queue.name"),
    Column(_("Kind"), "kind"),
    Column(_("State"), "state"),
    Column(_("Outcome"), "outcome"),
    Column(_("Priority"), "priority", "number"),
    Column(_("Cards asked for"), lambda job: job.total_share_bp / 10_000, "number"),
    Column(_("Attempts"), "attempt_count", "number"),
    Column(_("Submitted (UTC)"), "created_at", "time"),
    Column(_("Started (UTC)"), "started_at", "time"),
    Column(_("Finished (UTC)"), "finished_at", "time"),
]


@require_GET
def jobs(request: HttpRequest) -> HttpResponse:
    """Filters: state (a tab), tenant, project, queue, q; pages by `after` and `before`."""
    actor = actor_of(request)
    where = filters.JobFilter.of(request.GET)
    page = page_of(filters.jobs(actor, where), request.GET)
    kept = {name: request.GET[name] for name in ("tenant", "project", "queue", "q") if request.GET.get(name)}
    context = {
        "where": where,
        "tabs": filters.tabs(actor, where, kept),
        "filters": filters.fields(actor, where),
        "page": page,
        "rows": reads.rows_of(page.rows, clock.now()),
        "several_tenants": actor.sees_all_work or len(actor.tenants) > 1,
        "may_submit": may_submit(actor),
    }
    return render(request, "scheduling/job_list.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """The filtered list as CSV or XLSX, the newest 50,000 rows."""
    actor = actor_of(request)
    rows = filters.jobs(actor, filters.JobFilter.of(request.GET))[:EXPORTED]
    return export_response(request.GET.get("format", "csv"), _streamed(rows), COLUMNS, "jobs")


def _streamed(rows: QuerySet[Job]) -> Iterator[Job]:
    return rows.iterator(chunk_size=500)


def may_submit(actor: Actor) -> bool:
    return actor.is_operator or any(actor.may_work_in(tenant) for tenant in actor.tenants)
