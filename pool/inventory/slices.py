"""How a card is cut, as a picture: segments in percent of its width, drawn by templates/inventory/slices.html.

Allocations come from `inventory.queries`: the room that defines them stands above this one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from console.common import formats
from console.common.actor import Actor
from pool.engine.mig_tables import FAMILIES, Family
from pool.inventory.models import Device

WHOLE = 10_000


@dataclass(frozen=True, slots=True)
class Segment:
    """`start` and `width` in percent. `state`: held, free, or other (held, and not for these eyes)."""

    start: float
    width: float
    label: str
    detail: str
    state: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """A row of the placement picture: where one MIG profile may start, and where it still fits."""

    name: str
    share: str
    memory: str
    assumed: bool
    fitting: int
    spots: Sequence[Segment]


def segments(actor: Actor, device: Device, held: Iterable[Any]) -> list[Segment]:
    """`held`: the live allocations of the card that the actor may see. What is left is free, or is unknown to a
    tenant, who may not learn whether a neighbour holds it."""
    rows = list(held)
    family = FAMILIES.get(device.model.mig_family) if device.mig_enabled else None
    if family is not None:
        parts = [_slice(row, family) for row in rows if row.mig_start >= 0]
    else:
        parts = _shares(rows)
    return _filled(parts, "free" if actor.sees_all_work else "other")


def profiles(actor: Actor, device: Device, held: Iterable[Any]) -> list[Profile]:
    """Every plain profile of the card's family, largest first; none for a card that cannot be cut."""
    family = FAMILIES.get(device.model.mig_family)
    if family is None:
        return []
    taken = sum(((1 << row.mig_size) - 1) << row.mig_start for row in held if row.mig_start >= 0)
    rows = []
    largest_first = sorted(family.profiles, key=lambda each: (-each.units, -each.compute_slices))
    for profile in largest_first:
        if not profile.plain:
            continue
        free = [not taken & (((1 << profile.units) - 1) << start) for start in profile.starts]
        spots = [
            Segment(
                start=100 * start / family.units,
                width=100 * profile.units / family.units,
                label="",
                detail=_("fits at slot %(slot)s") % {"slot": start}
                if fits
                else _("slot %(slot)s is taken") % {"slot": start},
                state="free" if fits else "held",
            )
            for start, fits in zip(profile.starts, free, strict=True)
        ]
        fitting = _fitting(profile.starts, profile.units, taken)
        share = formats.share(family.share_bp(profile))
        memory = formats.memory(family.memory_of(profile, device.memory_mib))
        rows.append(Profile(profile.name, share, memory, profile.assumed, min(fitting, profile.max_instances), spots))
    return rows


def _fitting(starts: Sequence[int], units: int, taken: int) -> int:
    """How many instances fit side by side beside what is taken."""
    count, mask = 0, taken
    for start in sorted(starts):
        bits = ((1 << units) - 1) << start
        if not mask & bits:
            count, mask = count + 1, mask | bits
    return count


def _slice(row: Any, family: Family) -> Segment:
    share, memory = formats.share(row.share_bp), formats.memory(row.memory_mib)
    detail = f"{row.mig_profile} · {row.tenant.slug} · {row.job.name} · {share}, {memory}"
    label = f"{row.mig_profile} · {row.tenant.slug}"
    start, width = 100 * row.mig_start / family.units, 100 * row.mig_size / family.units
    return Segment(start, width, label, detail, "held", _url(row))


def _shares(rows: Sequence[Any]) -> list[Segment]:
    """Soft shares have no place on the card: they are drawn one after the other, oldest first."""
    parts: list[Segment] = []
    at = 0.0
    for row in rows:
        width = 100 * row.share_bp / WHOLE
        what = formats.share(row.share_bp)
        detail = f"{what} · {row.tenant.slug} · {row.job.name} · {formats.memory(row.memory_mib)}"
        parts.append(Segment(at, width, f"{row.tenant.slug} · {what}", detail, "held", _url(row)))
        at += width
    return parts


def _filled(parts: list[Segment], rest: str) -> list[Segment]:
    filled: list[Segment] = []
    at = 0.0
    text = _("free") if rest == "free" else ""
    for part in sorted(parts, key=lambda part: part.start):
        if part.start - at > 0.01:
            filled.append(Segment(at, part.start - at, text, text, rest))
        filled.append(part)
        at = part.start + part.width
    if 100 - at > 0.01:
        filled.append(Segment(at, 100 - at, text, text, rest))
    return filled


def _url(row: Any) -> str:
    return reverse("scheduling:job_detail", args=[row.job.public_id])
