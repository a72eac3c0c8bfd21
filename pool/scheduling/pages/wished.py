"""What a job or a role wishes beyond plain resources, as (name, text)."""

from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from pool.scheduling.pages import label_lines
from pool.scheduling.pages.surroundings import level_name

Facts = list[tuple[str, str]]


def of_job(wishes: Mapping[str, Any]) -> Facts:
    """Topology levels, neighbours and training step of a job."""
    found = _levels(wishes)
    for name, label in (("affinity", _("Near jobs with labels")), ("anti_affinity", _("Away from jobs with labels"))):
        found += [(label, label_lines.say_neighbour(term)) for term in wishes.get(name, ())]
    if "step" in wishes:
        found.append((_("Training step"), _step(wishes["step"])))
    return found


def of_role(wishes: Mapping[str, Any]) -> Facts:
    """Vendors, ranks, conditions on labels and topology levels of a role."""
    found: Facts = []
    if wishes.get("vendors"):
        found.append((_("Vendors"), ", ".join(wishes["vendors"])))
    if wishes.get("preference"):
        found.append((_("Models by rank"), " › ".join(wishes["preference"])))
    if wishes.get("gpu_selector"):
        text = label_lines.show_conditions(wishes["gpu_selector"]).replace("\n", ", ")
        found.append((_("Labels of cards"), text))
    return found + _levels(wishes)


def _levels(wishes: Mapping[str, Any]) -> Facts:
    names = {
        "required_topology_level": _("Must stand in one"),
        "preferred_topology_level": _("Should stand in one"),
    }
    return [(label, level_name(wishes[name])) for name, label in names.items() if wishes.get(name)]


def _step(step: Mapping[str, int]) -> str:
    text = _("%(size)s GB of gradients, %(ms)s ms of compute, %(overlap)s %% overlapped")
    return text % {
        "size": number_format(step["gradient_bytes"] / 1e9, decimal_pos=2),
        "ms": number_format(step["compute_us"] / 1000, decimal_pos=1),
        "overlap": step["overlap_percent"],
    }
