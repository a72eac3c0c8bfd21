"""A dry run as the page shows it."""

from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from console.common import formats
from console.common.actor import Actor
from pool.scheduling.dry_run import DryRun, PlacedPart
from pool.scheduling.limits import Limit
from pool.scheduling.models.allocation import Isolation
from pool.scheduling.pages import reasons
from pool.scheduling.telling import reasons_for

MOST_NODES = 12
MOST_UNPRICED = 4


@dataclass(frozen=True, slots=True)
class Spot:
    """What would be held on one node: "GPU 0, 1, 2" of a model."""

    node: str
    devices: str
    what: str


@dataclass(frozen=True, slots=True)
class LimitBar:
    """A limit with its use; `bites`: it would stop the job now."""

    name: str
    used: int
    limit: int
    text: str
    bites: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """`verdict` is starts, waits, early, limited or never."""

    verdict: str
    text: str
    spots: list[Spot]
    more: int
    why: reasons.Why
    price_per_hour: Decimal | None
    least_per_hour: Decimal | None  # None where it is the same
    currency: str
    price_missing: str
    limit: LimitBar | None
    notes: tuple[str, ...]
    refusal: str


def of(actor: Actor, run: DryRun | None) -> Panel | None:
    if run is None:
        return None
    spots = _spots(run.placements)
    verdict = _verdict(run)
    return Panel(
        verdict=verdict,
        text=_text(verdict),
        spots=spots[:MOST_NODES],
        more=max(0, len(spots) - MOST_NODES),
        why=reasons.explain(reasons_for(actor, run.reasons)),
        price_per_hour=run.price_per_hour,
        least_per_hour=None if run.least_per_hour == run.price_per_hour else run.least_per_hour,
        currency=run.currency,
        price_missing=_unpriced(run.price_missing),
        limit=_limit(run.bites_first, run.blocked_by_limit) if run.bites_first else None,
        notes=run.notes,
        refusal=run.refusal.message if run.refusal else "",
    )


def _unpriced(missing: tuple[str, ...]) -> str:
    """ "L40S (exclusive), T4 (exclusive)", and how many more."""
    words = dict(Isolation.choices)
    named = [
        (model, words.get(isolation, isolation)) for model, _space, isolation in (m.rpartition(" ") for m in missing)
    ]
    text = ", ".join(f"{model} ({word})" for model, word in named[:MOST_UNPRICED])
    more = len(named) - MOST_UNPRICED
    return text if more <= 0 else _("%(these)s and %(n)s more") % {"these": text, "n": more}


def _verdict(run: DryRun) -> str:
    if run.never:
        return "never"
    if run.blocked_by_limit:
        return "limited"
    if run.starts_at is not None:
        return "early"
    return "starts" if run.fits else "waits"


def _text(verdict: str) -> str:
    return {
        "never": _("Can never run on this hardware"),
        "limited": _("Would wait for a limit"),
        "starts": _("Would start at once"),
        "waits": _("Would wait for free capacity"),
        "early": _("Would wait for its earliest start"),
    }[verdict]


def _spots(parts: tuple[PlacedPart, ...]) -> list[Spot]:
    """One line a node and kind of slice, in the order of placement."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for part in parts:
        grouped.setdefault((part.node, _what(part)), []).append(part.device_index)
    return [Spot(node, ", ".join(_ranges(sorted(set(indexes)))), what) for (node, what), indexes in grouped.items()]


def _what(part: PlacedPart) -> str:
    if part.mig_profile:
        return f"{part.model} · {part.mig_profile}"
    if part.share_bp == formats.WHOLE_BP:
        return part.model
    return f"{part.model} · {formats.share(part.share_bp)} · {formats.memory(part.memory_mib)}"


def _ranges(indexes: list[int]) -> list[str]:
    """[0, 1, 2, 5] -> ["0–2", "5"]."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]


def _limit(limit: Limit, bites: bool) -> LimitBar:
    scopes = {
        "queue": _("Queue %(name)s"),
        "project": _("Project %(name)s"),
        "budget": _("GPU-hour budget of queue %(name)s"),
        "project_budget": _("GPU-hour budget of project %(name)s"),
    }
    if not limit.name:  # of another tenant: neither its name nor its numbers
        return LimitBar(_("GPU-hour budget of a queue above"), 1, 1, _("used up for this job"), bites)
    scope = scopes.get(limit.scope, _("Tenant %(name)s"))
    text = reasons.limit_use(limit.kind, limit.used, limit.limit or 0)
    return LimitBar(scope % {"name": limit.name}, limit.used, limit.limit or 0, text, bites)
