"""Making room for a job that does not fit: the smallest set of running work that must go.

Why decisions reach a fixed point (I8). Fix the load: the jobs that run or wait stay the same, so
demands and entitlements do. Rank the running pieces of each queue as units.py does, and let P be
those protected. Let Psi be the vector, by rank class from the highest down (cores by falling
priority, then replicas beyond a minimum), of what P holds of each class summed over all queues, and
Omega the same of what runs unprotected. Every step makes (Psi, Omega) larger in lexicographic order:

- A start in free room: the newcomer ranks last of its class. If it is protected, Psi gains at its
  class and higher classes are as before. If not, P is as before (an unprotected piece takes
  no room in the ranking) and Omega gains.
- A reclaim: the asking queue ends within its entitlement, so the newcomer is protected and Psi gains;
  of other queues unprotected pieces go, which leaves their P as it was. Of its own queue only
  lower classes go.
- A preemption in a queue: only lower classes go. If the newcomer is protected Psi gains at its
  class; if not, only unprotected pieces go, P stays and Omega gains at its class.

A step in which something goes out of turn may make it smaller, but each job goes out of turn once.
There are finitely many sets of running pieces, so between two such steps there are finitely many
others, and in all there are finitely many. Cool-downs and minimal run times only take choices away.

Minimal (I9): whatever is chosen is tried without each piece (prune.py, search.py), and the engine
places the job before a plan is made, so that nothing is evicted for a job that still cannot run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pool.engine.fleet import Fleet
from pool.engine.preempt.attempts import Attempt, attempts, deficits
from pool.engine.preempt.case import Case
from pool.engine.preempt.choose import choose
from pool.engine.preempt.counting import Counting, need
from pool.engine.preempt.rights import Court, Toll
from pool.engine.preempt.roster import Roster
from pool.engine.preempt.search import placed, search
from pool.engine.preempt.types import Asking, NoPlan, Plan, Reason, Rules, Victim
from pool.engine.preempt.units import Unit
from pool.engine.sharing.amounts import NOTHING, Amounts, plus
from pool.engine.sharing.books import Barred, Books
from pool.engine.sharing.entitle import Entitlements
from pool.engine.sharing.tree import ROOT
from pool.engine.trying import try_place
from pool.engine.types import DEFAULT, JobRequest, Placed, Policy
from pool.engine.validate import could_never


def plan(
    fleet: Fleet,
    shares: Entitlements,
    books: Books,
    roster: Roster,
    asking: Asking,
    now_s: int,
    rules: Rules | None = None,
    policy: Policy = DEFAULT,
) -> Plan | NoPlan:
    """Who must go so that the minimum of a waiting job fits, or why nobody goes. Changes nothing.

    ``fleet``, ``books`` and ``roster`` must tell of the same running jobs, and ``shares`` must count
    the asking job in its queue's demand. The same content gives the same plan.
    """
    job, quiet = minimal(asking.job), replace(policy, explain=False)
    court = Court(shares, books, roster, asking, rules or Rules(), now_s)
    if could_never(fleet, job, quiet):
        return NoPlan(job.key, "never")
    within_quota = court.rules.within_quota and not asking.preemptible
    barred = books.bars(asking.queue, asking.amounts, within_quota)
    if barred is not None and barred.kind == "quota":
        return NoPlan(job.key, "barred", barred.queue, barred)
    if barred is None and isinstance(try_place(fleet, job, quiet), Placed):
        return NoPlan(job.key, "fits")
    tried = False
    for attempt in attempts(court):
        tried = True
        found = _make(court, fleet, job, quiet, attempt)
        if found is not None:
            return found
    return _refusal(court, barred, tried)


def minimal(job: JobRequest) -> JobRequest:
    """The job at its minimum, where that says which roles: evictions make room for no more."""
    if len(job.roles) == 1:
        return replace(job, roles=(replace(job.roles[0], replicas=need(job), min_replicas=need(job)),))
    if sum(role.min_replicas for role in job.roles) < need(job):
        return job
    roles = tuple(replace(role, replicas=role.min_replicas) for role in job.roles if role.min_replicas)
    return replace(job, roles=roles)


def _refusal(court: Court, barred: Barred | None, tried: bool) -> NoPlan:
    asking = court.asking
    if barred is not None and barred.queue != ROOT:
        return NoPlan(asking.job.key, "barred", barred.queue, barred)
    over = next((key for key in court.shares.tree.path[asking.queue] if any(court.excess(key))), 0)
    reason: Reason = "not_enough" if tried else "not_entitled" if over else "no_victims"
    return NoPlan(asking.job.key, reason, over)


def _make(court: Court, fleet: Fleet, job: JobRequest, policy: Policy, attempt: Attempt) -> Plan | None:
    case = _case(court, fleet, job, policy, attempt, attempt.order)
    counting = Counting.of(case)
    if counting is not None:
        chosen = choose(case, counting)
        found = placed(case, chosen) if chosen is not None else None
        if chosen is None or found is not None:
            return None if chosen is None or found is None else _told(court, case, chosen, found, attempt)
    toll = Toll(court)
    units = court.roster.units
    order = [n for n in attempt.order if units[n].job.queue == court.asking.queue or toll.take([units[n]])]
    case = _case(court, fleet, job, policy, attempt, order)
    chosen = search(case) if order else None
    found = placed(case, chosen) if chosen is not None else None
    return None if chosen is None or found is None else _told(court, case, chosen, found, attempt)


def _case(court: Court, fleet: Fleet, job: JobRequest, policy: Policy, attempt: Attempt, order: Sequence[int]) -> Case:
    lacking = deficits(court, attempt, order)
    return Case(
        fleet,
        court.roster,
        job,
        policy,
        order,
        attempt.grade,
        attempt.cost,
        lacking,
        court.asking.queue,
        lambda: Toll(court),
    )


def _told(court: Court, case: Case, chosen: set[int], found: Placed, attempt: Attempt) -> Plan | None:
    """The plan in words, if no limit bars the job even so."""
    if not chosen or _bars_still(court, [case.unit(at) for at in chosen]):
        return None
    mine: dict[int, list[int]] = {}
    for at in sorted(chosen):
        mine.setdefault(case.unit(at).job.key, []).append(at)
    victims = tuple(_victim(court, case, mine[key], attempt) for key in sorted(mine))
    return Plan(court.asking.job.key, victims, found, sum(victim.cost for victim in victims))


def _victim(court: Court, case: Case, mine: list[int], attempt: Attempt) -> Victim:
    job = case.unit(mine[0]).job
    replicas = sorted((r.role, r.rank) for at in mine for r in case.unit(at).replicas)
    return Victim(
        job_key=job.key,
        queue=job.queue,
        whole=len(replicas) == len(job.replicas),
        replicas=tuple(replicas),
        cost=sum(case.weight(at)[1] for at in mine),
        because="lower_priority" if job.queue == court.asking.queue else "over_entitlement",
        out_of_turn=any(attempt.late[case.order[at]] for at in mine),
    )


def _bars_still(court: Court, units: list[Unit]) -> bool:
    """Whether a limit, or quota that others keep, bars the job after these have gone."""
    freed: dict[tuple[int, bool], Amounts] = {}
    for unit in units:
        key = (unit.job.queue, unit.job.preemptible)
        freed[key] = plus(freed.get(key, NOTHING), unit.amounts)
    for (queue, preemptible), amounts in freed.items():
        court.books.add(queue, amounts, -1, preemptible)
    barred = court.books.bars(court.asking.queue, court.asking.amounts)
    for (queue, preemptible), amounts in freed.items():
        court.books.add(queue, amounts, 1, preemptible)
    return barred is not None
