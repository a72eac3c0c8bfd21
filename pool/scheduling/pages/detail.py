"""The job page: what it asked for, where it runs and why, or why it waits; timeline, attempts, output."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from console.common import clock, formats
from console.common.actor import Actor
from console.common.signed_in import actor_of
from pool.scheduling import ports, queries
from pool.scheduling.calendar.queries import reserved_start
from pool.scheduling.models import Attempt, Decision, Job, JobRole, JobState, Replica
from pool.scheduling.models.allocation import Isolation
from pool.scheduling.pages import acting, asking, logs, outlook, reads, reasons, slices, wished, words
from pool.scheduling.preemption import queries as preemptions
from pool.scheduling.telling import reasons_for

SHOWN = 32  # replicas on one page


@dataclass(frozen=True, slots=True)
class Role:
    role: JobRole
    one: str
    gpu_memory: str
    isolation: str
    more: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Shown:
    """Replicas `first` to `last` of an attempt. `before`, `after`: rank at which the next page starts, or None."""

    members: list[slices.Member]
    before: int | None
    after: int | None
    total: int


@require_GET
def job(request: HttpRequest, public_id: str) -> HttpResponse:
    """`attempt`: number to show (newest by default); `rank`: first replica to show; `replica`: whose output."""
    actor = actor_of(request)
    found = queries.job_for(actor, public_id)
    attempts = list(queries.attempts_for(actor, found)[:20])
    attempt = _chosen(attempts, request.GET.get("attempt", ""))
    shown = _shown(actor, found, attempt, request.GET.get("rank", ""))
    replica = logs.replica_of(actor, found, request.GET.get("replica", "")) if attempt else None
    roles = _roles(found)
    decision = _decision(actor, found, attempt)
    pieces, ends = logs.tail(replica) if replica and not request.headers.get("HX-Request") else ([], {})
    now = clock.now()
    context = {
        "job": found,
        "early": found.state == JobState.QUEUED and found.not_before is not None and found.not_before > now,
        "wishes": wished.of_job(found.wishes),
        "outcome": words.outcome(found.outcome) if found.outcome else "",
        "span": reads.span_of(found, now),
        "span_start": reads.span_start(found),
        "final": reads.is_final(found),
        "roles": roles,
        "several_replicas": sum(item.role.replicas for item in roles) > 1,
        "replicas_text": _replicas_text(roles),
        "attempts": [(row, words.outcome(row.outcome)) for row in attempts],
        "attempt": attempt,
        "shown": shown,
        "decision": decision,
        "why": _why(actor, found, decision),
        "outlook": outlook.of_job(actor, found, now),
        "position": queries.position(actor, found),
        "saved": ports.checkpoints([found.pk]).get(found.pk) if found.attempt_count else None,
        "preemptions": preemptions.preemptions_of(actor, found),
        "reserved_start": reserved_start(found) if found.state == JobState.QUEUED else None,
        "timeline": reads.timeline(actor, found),
        "actions": acting.allowed(actor, found),
        "see_environment": actor.may_work_in(found.tenant_id, found.project_id),
        "replica": replica,
        "pieces": pieces,
        "ends": ends,
    }
    return render(request, "scheduling/job.html", context)


def _chosen(attempts: list[Attempt], number: str) -> Attempt | None:
    wanted = next((attempt for attempt in attempts if str(attempt.number) == number), None)
    return wanted or (attempts[0] if attempts else None)


def _shown(actor: Actor, job: Job, attempt: Attempt | None, rank: str) -> Shown:
    if attempt is None:
        return Shown([], None, None, 0)
    first = int(rank) if rank.isascii() and rank.isdigit() and len(rank) < 6 else 0
    rows = reads.replicas_of_attempt(actor, job, attempt.number)
    batch: list[Replica] = list(rows.filter(rank__gte=first).order_by("rank")[: SHOWN + 1])
    more = len(batch) > SHOWN
    total = rows.count() if more or first else len(batch)
    return Shown(
        slices.members(actor, batch[:SHOWN]),
        before=max(0, first - SHOWN) if first else None,
        after=batch[SHOWN].rank if more else None,
        total=total,
    )


def _decision(actor: Actor, job: Job, attempt: Attempt | None) -> Decision | None:
    """Of the attempt that is shown; while the job waits, the last one on it."""
    newest = queries.decisions_for(actor, job)
    if attempt is None or job.state == "queued":
        return newest.first()
    return attempt.decision or newest.filter(placed=True).first()


def _why(actor: Actor, job: Job, decision: Decision | None) -> reasons.Why | None:
    if decision is None:
        return None
    return reasons.explain(reasons_for(actor, decision.reasons), job.total_share_bp)


def _replicas_text(roles: list[Role]) -> str:
    total = sum(item.role.replicas for item in roles)
    return ngettext("%(n)s replica", "%(n)s replicas", total) % {"n": formats.count(total)}


def _roles(job: Job) -> list[Role]:
    roles = reads.roles_of([job.pk]).get(job.pk, [])
    return [
        Role(role, asking.of_role(role), asking.memory(role), _isolation(role.isolation), wished.of_role(role.wishes))
        for role in roles
    ]


def _isolation(word: str) -> str:
    return _("automatic") if word == "auto" else str(dict(Isolation.choices).get(word, word))
