"""How queues stand, as the acting user may know it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from console.common.actor import Actor
from pool.scheduling import queries
from pool.scheduling.models import DeviceWeight, Queue, QueueSample, SharingRules
from pool.scheduling.sharing import published
from pool.scheduling.sharing.published import Line


@dataclass(frozen=True, slots=True)
class Standing:
    """A queue of the tree. `line` None: the scheduler has not told it (yet). `depth` counts from 0.

    `of`: the queue whose doing bounds this one; None where it is none, or not the reader's to know.
    """

    queue: Queue
    depth: int
    line: Line | None
    of: Queue | None


def standings_for(actor: Actor) -> list[Standing]:
    """All queues that the actor may see, each below its parent; a parent out of sight leaves its queues at the top."""
    queues = {queue.pk: queue for queue in queries.queues_for(actor)}
    lines = published.read() or {}
    below: dict[int | None, list[Queue]] = {}
    for queue in queues.values():
        below.setdefault(queue.parent_id if queue.parent_id in queues else None, []).append(queue)
    return list(_walk(None, 0, below, queues, lines))


def _walk(
    parent: int | None,
    depth: int,
    below: Mapping[int | None, list[Queue]],
    queues: Mapping[int, Queue],
    lines: Mapping[int, Line],
) -> list[Standing]:
    found: list[Standing] = []
    for queue in below.get(parent, ()):
        line = lines.get(queue.pk)
        found.append(Standing(queue, depth, _known(line, queues), queues.get(line.of) if line else None))
        found += _walk(queue.pk, depth + 1, below, queues, lines)
    return found


def _known(line: Line | None, queues: Mapping[int, Queue]) -> Line | None:
    """What keeps a tenant's queue from more is told; that it is a certain queue of somebody else is not."""
    return line if line is None or line.of in queues else replace(line, of=0)


def standing_of(actor: Actor, queue: Queue) -> Standing:
    """Of a queue that came from a scoped query."""
    found = next((each for each in standings_for(actor) if each.queue.pk == queue.pk), None)
    return found or Standing(queue, 0, None, None)


def samples(actor: Actor, queue: Queue, most: int = 2_016) -> list[QueueSample]:
    """The latest five-minute samples, oldest first: a week of them."""
    rows = QueueSample.objects.filter(queries.own(actor, "queue__tenant"), queue=queue).order_by("-at")[:most]
    return list(reversed(rows))


def day_of_largest(actor: Actor, most: int) -> list[tuple[Queue, list[QueueSample]]]:
    """The latest day of the queues in sight that held or were entitled to most in it, oldest samples first."""
    rows = QueueSample.objects.filter(queries.own(actor, "queue__tenant"))
    newest = rows.order_by("-at").values_list("at", flat=True).first()
    if newest is None:
        return []
    lines: dict[int, list[QueueSample]] = {}
    for sample in rows.filter(at__gt=newest - timedelta(days=1)).order_by("at"):
        lines.setdefault(sample.queue_id, []).append(sample)
    largest = sorted(lines, key=lambda pk: (-max(max(s.used_bp, s.entitled_bp) for s in lines[pk]), pk))[:most]
    queues = Queue.objects.select_related("tenant").in_bulk(largest)
    return [(queues[pk], lines[pk]) for pk in largest]


def rules() -> SharingRules:
    """Those of the pool; the defaults while nobody has set any."""
    return SharingRules.objects.filter(pk=1).first() or SharingRules(pk=1)


def weights() -> dict[str, int]:
    """Hundredths of the reference card by model; models that are not here count 100."""
    return dict(DeviceWeight.objects.order_by("model__name").values_list("model__name", "hundredths"))
