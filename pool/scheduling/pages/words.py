"""Outcomes and timeline events in words. The scheduler stores kinds; pages translate them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pool.scheduling.models import JobEvent, JobState

OUTCOMES: dict[str, str | Promise] = {
    "succeeded": gettext_lazy("every process ended well"),
    "failed": gettext_lazy("a process failed"),
    "lost": gettext_lazy("its node was lost"),
    "cancel": gettext_lazy("by request"),
    "expire": gettext_lazy("its maximum duration was over"),
    "deadline": gettext_lazy("its deadline was over"),
    "requeue": gettext_lazy("requeued by request"),
    "gang": gettext_lazy("a member of the gang ended"),
    "preempt": gettext_lazy("preempted"),
    "move": gettext_lazy("moved"),
}


def outcome(word: str) -> str:
    """The sentence of a stored outcome; an unknown one as it is."""
    return str(OUTCOMES.get(word, word))


@dataclass(frozen=True, slots=True)
class Line:
    """For templates/components/timeline.html."""

    at: datetime
    tone: str
    icon: str
    text: str
    actor: str
    href: str = ""


def _placed(params: Mapping[str, Any]) -> str:
    replicas, nodes = int(params.get("replicas", 1)), int(params.get("nodes", 1))
    return _("Placed: %(replicas)s on %(nodes)s") % {
        "replicas": ngettext("%(n)s replica", "%(n)s replicas", replicas) % {"n": replicas},
        "nodes": ngettext("%(n)s node", "%(n)s nodes", nodes) % {"n": nodes},
    }


def _finished(params: Mapping[str, Any]) -> str:
    state = str(params.get("state", ""))
    name = JobState(state).label if state in JobState.values else state
    return _("%(state)s: %(outcome)s") % {"state": name, "outcome": outcome(str(params.get("outcome", "")))}


def _requeued(params: Mapping[str, Any]) -> str:
    return _("Waits again: %(outcome)s") % {"outcome": outcome(str(params.get("outcome", "")))}


def _started(params: Mapping[str, Any]) -> str:
    number = int(params.get("attempt", 1))
    if number == 1:
        return _("All processes run")
    return _("All processes run, attempt %(number)s") % {"number": number}


def _lost(params: Mapping[str, Any]) -> str:
    return _("Replica %(rank)s was lost with its node") % {"rank": params.get("rank", "?")}


def _priority(params: Mapping[str, Any]) -> str:
    return _("Priority changed from %(before)s to %(after)s") % {
        "before": params.get("before", "?"),
        "after": params.get("after", "?"),
    }


_WHY: dict[str, str | Promise] = {
    "lower_priority": gettext_lazy("Preempted for a job of higher priority in its queue"),
    "over_entitlement": gettext_lazy("Preempted: its queue held more than it is entitled to, and another asked for it"),
    "priority": gettext_lazy("Room is made for it: work of lower priority in its queue is stopping"),
    "reclaim": gettext_lazy("Room is made for it: its queue is entitled to more than it holds"),
    "lent": gettext_lazy("Preempted: it ran on cards that are reserved for others, who want them now"),
    "reserved": gettext_lazy("Room is made for it: cards are reserved for it, and what they were lent to is stopping"),
    "gone": gettext_lazy("The room made for it is given up: it no longer waits"),
    "stale": gettext_lazy("The room made for it is given up: the place is no longer there"),
    "late": gettext_lazy("The room made for it is given up: what was stopped did not end in time"),
}


def _preempted(params: Mapping[str, Any]) -> str:
    text = str(_WHY.get(str(params.get("because")), _("Preempted")))
    if params.get("whole", True):
        return text
    return _("%(text)s; it goes on with fewer replicas") % {"text": text}


def _room(params: Mapping[str, Any]) -> str:
    return str(_WHY.get(str(params.get("why")), params.get("why", "")))


def _moving(params: Mapping[str, Any]) -> str:
    return _("Moves from %(from)s to %(to)s, where its place is held") % dict(params)


def _expired(params: Mapping[str, Any]) -> str:
    if params.get("reason") == "deadline":
        return _("Deadline reached")
    return _("Maximum duration reached; stopping")


def _start(params: Mapping[str, Any]) -> str:
    at = datetime.fromisoformat(str(params.get("start")))
    when = date_format(timezone.localtime(at), "SHORT_DATETIME_FORMAT")
    if params.get("sure"):
        return _("A start is reserved for it: %(when)s at the latest") % {"when": when}
    return _("Cards are kept for it as they become free; estimated start: %(when)s") % {"when": when}


def _always(text: str | Promise) -> Callable[[Mapping[str, Any]], str]:
    return lambda _params: str(text)


# kind of event: tone, icon, sentence
_EVENTS: dict[str, tuple[str, str, Callable[[Mapping[str, Any]], str]]] = {
    "submitted": ("quiet", "plus", _always(gettext_lazy("Submitted"))),
    "placed": ("accent", "server", _placed),
    "started": ("ok", "circle-play", _started),
    "requeued": ("quiet", "list-restart", _requeued),
    "finished": ("quiet", "circle-check", _finished),
    "expired": ("warn", "hourglass", _expired),
    "replica_lost": ("bad", "unplug", _lost),
    "cancelled": ("warn", "ban", _always(gettext_lazy("Asked to stop"))),
    "requeue_asked": ("quiet", "list-restart", _always(gettext_lazy("Asked to be queued again"))),
    "preempted": ("warn", "arrow-left-right", _preempted),
    "making_room": ("accent", "arrow-left-right", _room),
    "room_dropped": ("quiet", "arrow-left-right", _room),
    "moving": ("accent", "move-right", _moving),
    "move_dropped": ("quiet", "move-right", _always(gettext_lazy("The place held for its move is given up"))),
    "start_reserved": ("accent", "hourglass", _start),
    "start_dropped": ("quiet", "hourglass", _always(gettext_lazy("Its reserved start was given up"))),
    "retried": ("quiet", "rotate-ccw", _always(gettext_lazy("Queued for another attempt"))),
    "priority": ("quiet", "arrow-up-down", _priority),
}
_ENDS = {
    JobState.SUCCEEDED: ("ok", "circle-check"),
    JobState.FAILED: ("bad", "circle-x"),
    JobState.CANCELLED: ("quiet", "ban"),
    JobState.EXPIRED: ("warn", "hourglass"),
}


def line_of(event: JobEvent) -> Line:
    """An event of an unknown kind shows its kind: never nothing."""
    tone, icon, sentence = _EVENTS.get(event.kind, ("quiet", "circle-dot", _always(event.kind)))
    if event.kind == "finished":
        tone, icon = _ENDS.get(event.params.get("state"), (tone, icon))
    return Line(event.at, tone, icon, sentence(event.params), event.actor_label)
