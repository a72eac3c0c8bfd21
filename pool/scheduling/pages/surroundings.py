"""Where a gang stands, and what each level of the topology offered, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.common import formats

LEVELS: dict[str, str | Promise] = {
    "fleet": gettext_lazy("the whole pool"),
    "site": gettext_lazy("site"),
    "pod": gettext_lazy("pod"),
    "switch": gettext_lazy("switch"),
    "rack": gettext_lazy("rack"),
    "node": gettext_lazy("node"),
    "island": gettext_lazy("NVLink island"),
    "card": gettext_lazy("card"),
}


@dataclass(frozen=True, slots=True)
class LevelRow:
    """A level: its domains, how many hold the gang, and the best with the replicas that it holds of those wanted."""

    name: str
    domains: int
    holding: int
    best: str
    held: str


def level_name(level: str) -> str:
    return str(LEVELS.get(level, level))


def notes(reasons: Mapping[str, Any]) -> list[str]:
    """Of a placement: its ranks of models, where it stands, and what its replicas pay for talking to each other."""
    found = [_chosen(role, name) for role, name in reasons.get("preference", ())]
    place = reasons.get("neighbourhood")
    if place is None:
        return found
    found.append(_stands(place))
    if place["preferred"]:
        found.append(_preferred(place))
    if place["communication_bp"]:
        found.append(_communication(place))
    return found


def level_rows(reasons: Mapping[str, Any]) -> list[LevelRow]:
    """Of a refusal: what each level offers, the widest first. Empty for who may not know."""
    return [
        LevelRow(
            level_name(level["level"]),
            level["domains"],
            level["holding"],
            level["best"],
            _("%(held)s of %(wanted)s replicas")
            % {"held": formats.count(level["replicas"]), "wanted": formats.count(level["wanted"])},
        )
        for level in reasons.get("levels", ())
    ]


def _chosen(role: str, name: str) -> str:
    return _("Of the models and vendors by rank, %(role)s got %(name)s.") % {"role": role, "name": name}


def _stands(place: Mapping[str, Any]) -> str:
    if place["level"] == "fleet":
        return _("Its replicas stand in several sites.")
    text = _("All of it stands in one %(level)s: %(domain)s.")
    return text % {"level": level_name(place["level"]), "domain": place["domain"].replace("/", " › ")}


def _preferred(place: Mapping[str, Any]) -> str:
    level = level_name(place["preferred"])
    if place["met"]:
        return _("The preferred level (%(level)s) was met.") % {"level": level}
    if "best_inside" not in place:
        return _("The preferred level (%(level)s) was not met: none of them had the room.") % {"level": level}
    text = ngettext(
        "The preferred level (%(level)s) was not met: the best one had room for %(best)s of %(n)s replica.",
        "The preferred level (%(level)s) was not met: the best one had room for %(best)s of %(n)s replicas.",
        place["wanted"],
    )
    return text % {
        "level": level,
        "best": formats.count(place["best_inside"]),
        "n": formats.count(place["wanted"]),
    }


def _communication(place: Mapping[str, Any]) -> str:
    text = _("Expected communication: %(share)s of a training step; one all-reduce takes about %(ms)s ms (%(way)s).")
    return text % {
        "share": formats.percent(place["communication_bp"], 10_000),
        "ms": number_format(place["all_reduce_us"] / 1000, decimal_pos=1),
        "way": _("widest hop: %(level)s") % {"level": level_name(place["widest"])},
    }
