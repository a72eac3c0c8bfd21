"""By which rules the pool is shared, and what a card of each model counts: set by operators."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from pool.engine.sharing.amounts import HEAVIEST, PLAIN
from pool.inventory.models import DeviceModel
from pool.scheduling import wake
from pool.scheduling.models import DeviceWeight, SharingRules


@dataclass(frozen=True, slots=True)
class RuleSet:
    """`reclaim_to`: up to its fair share, or only up to its quota, a queue takes back from others. `cooldown_s`: so
    long a job that was preempted is left alone. `within_quota`: work that cannot be preempted stays within the quota
    of its queue. `history_strength` above 0: who used much in the `history_window_s` before now gets less of what is
    beyond the quotas; with `history_half_life_s` old use counts less (None: all alike). A job of `starve_cards` or more
    that waited `starve_after_s` (None: none) gets a reserved start, `starve_most` of them at once; running work that
    nothing ends is taken to end after `assumed_runtime_s` (None: never)."""

    reclaim_to: str = SharingRules.ReclaimTo.FAIR_SHARE
    cooldown_s: int = 300
    within_quota: bool = False
    history_strength: int = 0
    history_window_s: int = 7 * 86_400
    history_half_life_s: int | None = None
    starve_after_s: int | None = 600
    starve_cards: int = 2
    starve_most: int = 4
    assumed_runtime_s: int | None = None

    @staticmethod
    def of(row: SharingRules) -> "RuleSet":
        return RuleSet(**{field.name: getattr(row, field.name) for field in fields(RuleSet)})


def set_rules(actor: Actor, changes: Mapping[str, Any]) -> SharingRules:
    """Sets these of the rules; the same again is no change. Raises NotAllowed, InvalidInput."""
    _check_operator(actor)
    with transaction.atomic():
        row = SharingRules.objects.get_or_create(pk=1)[0]
        before = RuleSet.of(row)
        after = replace(before, **changes)
        wrong = _wrong(after)
        if wrong:
            raise InvalidInput(wrong)
        if after != before:
            SharingRules.objects.filter(pk=1).update(**asdict(after))
            old, new = asdict(before), asdict(after)
            changed = [name for name in new if new[name] != old[name]]
            told = ({name: old[name] for name in changed}, {name: new[name] for name in changed})
            audit.record(actor, "sharing.rules", ("sharing", "rules"), before=told[0], after=told[1])
            wake.scheduler(queues=True)
    row.refresh_from_db()
    return row


def set_weight(actor: Actor, model: str, hundredths: object) -> int:
    """What a card of a model counts, in hundredths of the reference card; 100 forgets it. Like a price: an hour of a
    card that costs four times as much is four times as much of a share."""
    _check_operator(actor)
    wrong = []
    found = DeviceModel.objects.filter(name=model).first()
    if found is None:
        wrong.append(FieldError("model", _("is not a model that the pool knows")))
    if isinstance(hundredths, bool) or not isinstance(hundredths, int) or not 1 <= hundredths <= HEAVIEST:
        text = _("must be a whole number from %(low)s to %(high)s") % {"low": 1, "high": HEAVIEST}
        wrong.append(FieldError("hundredths", text))
    if found is None or wrong or not isinstance(hundredths, int):
        raise InvalidInput(wrong)
    with transaction.atomic():
        row = DeviceWeight.objects.filter(model=found).first()
        before = row.hundredths if row else PLAIN
        if before != hundredths:
            if hundredths == PLAIN:
                DeviceWeight.objects.filter(model=found).delete()
            else:
                DeviceWeight.objects.update_or_create(model=found, defaults={"hundredths": hundredths})
            told = ({"hundredths": before}, {"hundredths": hundredths})
            audit.record(actor, "sharing.weight", ("model", model), before=told[0], after=told[1])
            wake.scheduler(queues=True)
    return hundredths


def _check_operator(actor: Actor) -> None:
    if not actor.is_operator or not actor.has_scope("jobs:write"):
        raise NotAllowed(_("how the pool is shared is set by operators"))


def _wrong(rules: RuleSet) -> list[FieldError]:
    wrong = []
    if rules.reclaim_to not in SharingRules.ReclaimTo.values:
        choices = ", ".join(SharingRules.ReclaimTo.values)
        wrong.append(FieldError("reclaim_to", _("must be one of: %s") % choices))
    values = asdict(rules)
    for name, (low, high) in _RANGES.items():
        value = values[name]
        if value is None and name in _MAY_BE_UNSET:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            text = _("must be a whole number from %(low)s to %(high)s") % {"low": low, "high": high}
            if name == "history_half_life_s":  # 0 would switch fairness off without a word (case T20)
                text += "; " + _("leave it empty for no decay, or set the strength to 0 to look at no past")
            wrong.append(FieldError(name, text))
    if values["within_quota"] not in (True, False):
        wrong.append(FieldError("within_quota", _("must be true or false")))
    return wrong


_MAY_BE_UNSET = ("history_half_life_s", "starve_after_s", "assumed_runtime_s")
_RANGES = {
    "cooldown_s": (0, 86_400),
    "history_strength": (0, 10),
    "history_window_s": (3_600, 400 * 86_400),
    "history_half_life_s": (60, 400 * 86_400),
    "starve_after_s": (0, 30 * 86_400),
    "starve_cards": (1, 1_000_000),
    "starve_most": (1, 64),
    "assumed_runtime_s": (60, 400 * 86_400),
}
