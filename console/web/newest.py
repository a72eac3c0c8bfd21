"""The newest jobs, in tabs, as both kinds of overview show them."""

from typing import Any

from django.urls import reverse
from django.utils.translation import pgettext

from console.common import clock
from console.common.actor import Actor
from pool.scheduling import queries
from pool.scheduling.pages import filters, reads
from pool.scheduling.pages.job_list import may_submit

_JOBS = 8


def jobs_part(actor: Actor, chosen: str) -> dict[str, Any]:
    """Context of web/jobs.html: tabs with counts, and the newest jobs of one of them."""
    counts = queries.open_counts(actor)
    groups = {
        "active": (pgettext("jobs", "Active"), sum(counts[state] for state in queries.active_states())),
        "queued": (pgettext("jobs", "Queued"), counts["queued"]),
        "finished": (pgettext("jobs", "Finished"), None),
    }
    chosen = chosen if chosen in groups else "active"
    tabs = [
        {
            "key": key,
            "label": label,
            "url": f"{reverse('web:overview')}?jobs={key}",
            "part": f"{reverse('web:overview_jobs')}?jobs={key}",
            "current": key == chosen,
            "count": count,
        }
        for key, (label, count) in groups.items()
    ]
    rows = list(filters.jobs(actor, filters.JobFilter(tab=chosen))[:_JOBS])
    return {
        "jobs_tabs": tabs,
        "jobs_rows": reads.rows_of(rows, clock.now()),
        "jobs_chosen": chosen,
        "may_submit": may_submit(actor),
        "several_tenants": actor.sees_all_work or len(actor.tenants) > 1,
    }
