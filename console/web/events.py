"""What happened lately, across jobs and hardware, for the overview."""

from dataclasses import dataclass
from datetime import datetime

import orjson
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from console.audit.models import AuditEntry
from console.common.actor import Actor
from pool.inventory.models import Device, Node
from pool.scheduling import queries
from pool.scheduling.models import JobEvent
from pool.scheduling.pages import words

_SHOWN = 9
_READ = 5_000  # the newest events looked at: in a pool where all goes well the search must end somewhere
# the everyday life of a job is on its own page; an overview tells what somebody may want to act on
_NOTABLE = ("replica_lost", "requeued", "retried", "preempted")  # a job's end is told once, not its wish to end too


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    tone: str
    icon: str
    text: str
    about: str
    url: str


def latest(actor: Actor) -> list[Event]:
    """Newest first. Hardware news only for those who see the whole fleet."""
    found = _of_jobs(actor)
    if actor.sees_all_work:
        found += _of_hardware()
    return sorted(found, key=lambda event: event.at, reverse=True)[:_SHOWN]


def _of_jobs(actor: Actor) -> list[Event]:
    rows = queries.recent_events(actor, _READ).filter(
        Q(kind__in=_NOTABLE) | Q(kind="finished") & ~Q(params__state="succeeded")
    )
    return [_job_event(row) for row in rows[:_SHOWN]]


def _job_event(row: JobEvent) -> Event:
    line = words.line_of(row)
    url = reverse("scheduling:job_detail", args=[row.job.public_id])
    return Event(line.at, line.tone, line.icon, line.text, row.job.name, url)


def _of_hardware() -> list[Event]:
    """Changes of state of nodes and devices, from the audit log."""
    rows = list(
        AuditEntry.objects.filter(object_type__in=("node", "device"), action__endswith=".state").order_by("-at")[
            :_SHOWN
        ]
    )
    nodes = {row.public_id: row for row in Node.objects.filter(public_id__in=[row.object_id for row in rows])}
    devices = {
        row.public_id: row
        for row in Device.objects.filter(public_id__in=[row.object_id for row in rows]).select_related("node")
    }
    found = []
    for row in rows:
        state = str((orjson.loads(row.text).get("after") or {}).get("state", ""))
        if node := nodes.get(row.object_id):
            url = reverse("inventory:node_detail", args=[node.public_id])
            found.append(Event(row.at, *_state_look(state), node.name, url))
        elif device := devices.get(row.object_id):
            url = reverse("inventory:device_detail", args=[device.public_id])
            found.append(Event(row.at, *_state_look(state), f"{device.node.name} · GPU {device.index}", url))
    return found


def _state_look(state: str) -> tuple[str, str, str]:
    return {
        "cordoned": ("warn", "circle-pause", _("Cordoned")),
        "draining": ("warn", "circle-dashed", _("Draining")),
        "faulty": ("bad", "triangle-alert", _("Fault")),
    }.get(state, ("ok", "circle-check", _("Ready again")))
