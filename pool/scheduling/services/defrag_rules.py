"""When and how gently the pool is defragmented: set by operators."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any
from zoneinfo import available_timezones

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common.actor import Actor
from console.common.errors import FieldError, InvalidInput, NotAllowed
from pool.scheduling.defrag import queries
from pool.scheduling.defrag.queries import RuleSet
from pool.scheduling.defrag.windows import read_time
from pool.scheduling.models import DefragRules

RANGES: dict[str, tuple[int, int]] = {
    "busiest_percent": (0, 100),
    "moves": (1, 512),
    "lost_s": (1, 2**40),
    "per_queue": (1, 512),
    "parallel": (1, 64),
    "rest_s": (0, 86_400),
    "job_rest_s": (0, 30 * 86_400),
}
PERIOD = (300, 86_400)
MOST_WINDOWS = 28


def set_defrag_rules(actor: Actor, changes: Mapping[str, Any]) -> RuleSet:
    """Sets these of the rules; the same again is no change. Raises NotAllowed, InvalidInput."""
    check_operator(actor)
    with transaction.atomic():
        DefragRules.objects.get_or_create(pk=1)
        before = queries.rules()
        after = replace(before, **changes)
        wrong = _wrong(asdict(after))
        if wrong:
            raise InvalidInput(wrong)
        if after != before:
            DefragRules.objects.filter(pk=1).update(**asdict(after))
            old, new = asdict(before), asdict(after)
            changed = [name for name in new if new[name] != old[name]]
            told = ({name: old[name] for name in changed}, {name: new[name] for name in changed})
            audit.record(actor, "defrag.rules", ("defrag", "rules"), before=told[0], after=told[1])
    return after


def check_operator(actor: Actor) -> None:
    if not actor.is_operator or not actor.has_scope("fleet:write"):
        raise NotAllowed(_("how the pool is defragmented is decided by operators"))


def _wrong(rules: dict[str, Any]) -> list[FieldError]:
    wrong = []
    if rules["mode"] not in DefragRules.Mode.values:
        wrong.append(FieldError("mode", _("must be one of: %s") % ", ".join(DefragRules.Mode.values)))
    if not _is_whole(rules["period_s"], *PERIOD) and rules["period_s"] != 0:
        text = _("must be a whole number from %(low)s to %(high)s, or 0 for plans on demand only")
        wrong.append(FieldError("period_s", text % {"low": PERIOD[0], "high": PERIOD[1]}))
    for name, (low, high) in RANGES.items():
        if not _is_whole(rules[name], low, high):
            text = _("must be a whole number from %(low)s to %(high)s")
            wrong.append(FieldError(name, text % {"low": low, "high": high}))
    if rules["time_zone"] not in available_timezones():
        wrong.append(FieldError("time_zone", _("must be the name of a time zone, such as Asia/Shanghai")))
    return [*wrong, *_wrong_windows(rules["windows"])]


def _wrong_windows(windows: Any) -> list[FieldError]:
    if not isinstance(windows, list) or len(windows) > MOST_WINDOWS:
        return [FieldError("windows", _("must be a list of at most %s windows") % MOST_WINDOWS)]
    text = _('must be {"days": numbers from 0 (Monday) to 6, "from": "01:00", "to": "05:00"}')
    return [FieldError(f"windows[{at}]", text) for at, window in enumerate(windows) if not _is_window(window)]


def _is_window(window: Any) -> bool:
    if not isinstance(window, dict) or set(window) != {"days", "from", "to"} or not isinstance(window["days"], list):
        return False
    if not window["days"] or not all(_is_whole(day, 0, 6) for day in window["days"]):
        return False
    try:
        return bool(read_time(window["from"]) != read_time(window["to"]))
    except (ValueError, TypeError):
        return False


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
