"""What a card in MIG mode can be cut into next: a part of its page."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.common import formats
from console.common.signed_in import actor_of
from pool.inventory import queries as inventory
from pool.scheduling.defrag import mig
from pool.scheduling.models import Allocation


@dataclass(frozen=True, slots=True)
class Choice:
    """The best placement of one profile. `mix`: how often it is asked for, in percent."""

    profile: str
    assumed: bool
    mix: str
    start: int
    fits: bool
    blocked: bool
    cost: int
    evicts: list[Allocation]
    room: str
    others: str


@require_GET
def part(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    plan = mig.plan_of(actor, inventory.device_for(actor, public_id))
    return render(request, "scheduling/mig_next.html", {"choices": choices(plan), "mix": bool(plan and plan.mix)})


def choices(plan: mig.Plan | None) -> list[Choice]:
    """One line a profile, largest first."""
    if plan is None:
        return []
    assumed = {profile.name: profile.assumed for profile in plan.family.profiles}
    plain = {profile.name for profile in plan.family.profiles if profile.plain}
    return [
        Choice(
            profile=best.profile,
            assumed=assumed[best.profile],
            mix=formats.percent(plan.mix.get(best.profile, 0), 10_000),
            start=best.start,
            fits=not best.evicts,
            blocked=best.blocked,
            cost=best.cost,
            evicts=[plan.held[key] for key in best.evicts],
            room=formats.percent(best.room, 10_000),
            others=", ".join(
                str(each.start) for each in plan.options if each.profile == best.profile and not each.evicts
            ),
        )
        for best in plan.options
        if best.best and best.profile in plain
    ]
