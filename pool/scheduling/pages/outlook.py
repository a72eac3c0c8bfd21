"""When a waiting job would start, and what is in the way, in words."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.common import formats
from console.common.actor import Actor
from pool.scheduling.models import Job
from pool.scheduling.outlook.queries import Told, outlook_of
from pool.scheduling.sharing.turns import FAIR

BLOCKERS: dict[str, str | Promise] = {
    "queue_held": gettext_lazy("Its queue is held: nothing that waits there starts."),
    "room_made": gettext_lazy("Room is being made for it: it starts as soon as what was stopped has ended."),
}
NO_ROOM: dict[str, str | Promise] = {
    "barred": gettext_lazy("No room is made for it by stopping others: a limit holds it back."),
    "not_entitled": gettext_lazy(
        "No room is made for it by stopping others: its queue would hold more than it is entitled to, and nothing of"
        " lower priority runs there that could be stopped."
    ),
    "no_victims": gettext_lazy("No room is made for it: nothing that runs may be stopped for it."),
    "not_enough": gettext_lazy("No room is made for it: stopping all that may be stopped would not let it in."),
    "none": gettext_lazy("No room can be made for it by stopping others."),
}
NO_ESTIMATE: dict[str, str | Promise] = {
    "held": gettext_lazy("No estimate: its queue is held, and nobody knows until when."),
    "not_yet": gettext_lazy("No estimate yet: the scheduler looks ahead for those who are first in line."),
    "unknown": gettext_lazy(
        "No estimate: what it waits for has no maximum duration, and too little like it has ended to tell how long it"
        " takes."
    ),
}
GROUPS: dict[str, str | Promise] = {
    "class": gettext_lazy("work of the same size in the same queue"),
    "queue": gettext_lazy("work of the same queue"),
    "tenant": gettext_lazy("work of the same tenant"),
    "pool": gettext_lazy("all work of the pool"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """`early`, `middle` and `late` are shown if `early` is there; else `text` says why not."""

    told: Told
    text: str
    blocker: str
    no_room: str
    order: str
    basis: str


def of_job(actor: Actor, job: Job, now: datetime) -> Shown | None:
    told = outlook_of(actor, job, now)
    if told is None:
        return None
    return Shown(
        told=told,
        text=_text(told),
        blocker=str(BLOCKERS.get(told.blocker, "")),
        no_room=_no_room(told),
        order=_order(told),
        basis=_basis(told) if told.early else "",
    )


def _text(told: Told) -> str:
    if told.early is not None:
        return ""
    if told.basis == "beyond" and told.horizon is not None:
        return _("No estimate: it would start later than was looked ahead.")
    return str(NO_ESTIMATE.get(told.basis, ""))


def _no_room(told: Told) -> str:
    text = str(NO_ROOM.get(told.no_room, ""))
    if text and told.no_room_queue:
        return _("%(text)s Queue: %(name)s.") % {"text": text, "name": told.no_room_queue}
    return text


def _order(told: Told) -> str:
    if told.rule == FAIR:
        return _("Queues take turns by what they are entitled to; within its queue, priority and age decide.")
    return _("Priority and age decide.")


def _basis(told: Told) -> str:
    """What the estimate goes by, and what it leaves out."""
    named = [str(GROUPS[name]) for name in ("class", "queue", "tenant", "pool") if name in told.groups]
    parts = []
    if named:
        parts.append(_("It goes by how long this took lately: %(groups)s.") % {"groups": "; ".join(named)})
    if told.counts is not None:
        numbers = [formats.count(number) for number in told.counts]
        text = _(
            "Of running jobs, %(bounded)s have a latest end, %(seen)s a history of their like, %(unseen)s neither."
        )
        parts.append(text % dict(zip(("bounded", "seen", "unseen"), numbers, strict=True)))
    else:
        parts.append(_("Latest ends of running work are kept to."))
    parts.append(_("Work that comes later and preemption are left out."))
    return " ".join(parts)
