"""Where free capacity is of no use, for which work, and how that went."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.common import formats
from console.common.signed_in import actor_of
from pool.inventory.models import Node
from pool.scheduling.defrag import picture, queries, told
from pool.scheduling.models import DefragPlan
from pool.scheduling.pages import asking

SHOWN = 24  # classes
LEGEND = {
    told.FREE: gettext_lazy("free"),
    told.PART: gettext_lazy("partly free"),
    told.STRANDED: gettext_lazy("free, of no use to any work"),
    told.FULL: gettext_lazy("full"),
    told.CLOSED: gettext_lazy("takes no work"),
}


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Of one class of work, in basis points of a card; `parts`: unusable in percent of the capacity."""

    text: str
    waiting: int
    weight: float
    free: int
    usable: int
    unusable: int
    fits: int


@require_GET
def fragmentation(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    sample = queries.latest(actor)
    cells = told.read_cells(sample.cells) if sample else {}
    nodes = list(Node.objects.filter(pk__in=cells).order_by("name_key", "pk")) if cells else []
    drawn = picture.draw(nodes, cells)
    newest = queries.plans_for(actor).exclude(state=DefragPlan.State.EMPTY).first()
    context = {
        "sample": sample,
        "percent": formats.percent(sample.stranded_bp, sample.capacity_bp, 2) if sample else "",
        "spread": formats.percent(sample.spread_bp, 10_000, 2) if sample else "",
        "classes": class_rows(sample.classes)[:SHOWN] if sample else [],
        "picture": drawn,
        "legend": [(sort, str(LEGEND[sort]), drawn.counts[sort], drawn.paths[sort]) for sort in picture.SORTS],
        "more_nodes": max(0, len(nodes) - drawn.nodes),
        "lines": picture.stranding(nodes, cells),
        "plan": newest,
        "operates": actor.is_operator,
    }
    return render(request, "scheduling/fragmentation.html", context)


def class_rows(classes: list[dict[str, Any]]) -> list[ClassRow]:
    """What waits first, then what is typical, by weight."""
    total = sum(each["weight"] for each in classes) or 1
    rows = [
        ClassRow(
            asking.of_work(each) + (f" · {formats.cpu(each['cpu_milli'])}" if each["cpu_milli"] else ""),
            each["waiting"],
            100 * each["weight"] / total,
            each["free_bp"],
            each["usable_bp"],
            max(0, each["free_bp"] - each["usable_bp"]),
            each["fits"],
        )
        for each in classes
    ]
    return sorted(rows, key=lambda row: (not row.waiting, -row.weight))
