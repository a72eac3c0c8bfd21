"""Readers of conditions on labels, of neighbours, topology levels and moments."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from django.utils.translation import gettext as _

from pool.engine.affinity import AT, Affinity
from pool.engine.levels import LEVELS, depth
from pool.engine.selectors import OPERATORS, Requirement, Selector
from pool.scheduling.spec.fields import Reader, is_clean

MOST_CONDITIONS: Final = 16
MOST_TERMS: Final = 16
MOST_VALUES: Final = 64
_VALUES_OF: Final = {"Exists": 0, "DoesNotExist": 0, "Gt": 1, "Lt": 1}


def selector(reader: Reader, name: str) -> Selector:
    """Conditions that must all hold: {"zone": "a", "tier": ["x", "y"]}, or a list of {key, operator, values}."""
    if not reader.has(name):
        return ()
    value = reader.data[name]
    if isinstance(value, Mapping):
        return _from_pairs(reader, name, value)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        reader.fail(name, _('must be an object of labels, or a list of objects with "key", "operator" and "values"'))
        return ()
    if len(value) > MOST_CONDITIONS:
        reader.fail(name, _("must have at most %(most)s conditions") % {"most": MOST_CONDITIONS})
        return ()
    found = [_condition(Reader(item, f"{reader.path}{name}[{at}].", reader.errors)) for at, item in enumerate(value)]
    return tuple(sorted({term for term in found if term}, key=str))


def _from_pairs(reader: Reader, name: str, pairs: Mapping[str, Any]) -> Selector:
    found: list[Requirement] = []
    for key, value in list(pairs.items())[:MOST_CONDITIONS]:
        values = value if isinstance(value, list) else [value]
        if not _good_key(key):
            reader.fail(f"{name}.{str(key)[:40]}", _("is not a valid name"))
        elif not values or not all(_good_value(each) for each in values) or len(values) > MOST_VALUES:
            reader.fail(f"{name}.{key}", _("must be a text, or a list of texts any of which will do"))
        else:
            found.append(Requirement(key, "In", tuple(dict.fromkeys(values))))
    if len(pairs) > MOST_CONDITIONS:
        reader.fail(name, _("must have at most %(most)s conditions") % {"most": MOST_CONDITIONS})
    return tuple(sorted(found, key=str))


def _condition(reader: Reader) -> Requirement | None:
    before = len(reader.errors)
    key = reader.text("key", "", 63)
    if not _good_key(key):
        reader.fail("key", _("must be the name of a label"))
    operator = reader.choice("operator", "In", OPERATORS)
    values = _values(reader, operator)
    reader.unknown()
    return None if len(reader.errors) > before else Requirement(key, operator, values)


def _values(reader: Reader, operator: str) -> tuple[str, ...]:
    given = reader.data.get("values", []) if reader.has("values") else []
    if not isinstance(given, list) or not all(_good_value(each) for each in given) or len(given) > MOST_VALUES:
        reader.fail("values", _("must be a list of texts"))
        return ()
    count = _VALUES_OF.get(operator)
    if count is None and not given:
        reader.fail("values", _("must have at least one value for %(operator)s") % {"operator": operator})
    elif count == 0 and given:
        reader.fail("values", _("must be left out for %(operator)s") % {"operator": operator})
    elif count == 1 and not (len(given) == 1 and _is_whole(given[0])):
        reader.fail("values", _("must be one whole number, as text, for %(operator)s") % {"operator": operator})
    return tuple(dict.fromkeys(given))


def neighbours(reader: Reader, name: str, anti: bool) -> tuple[Affinity, ...]:
    """A list of {"job_labels": conditions, "level", "required", "weight"}."""
    if not reader.has(name):
        return ()
    value = reader.data[name]
    if not isinstance(value, list) or len(value) > MOST_TERMS or not all(isinstance(item, Mapping) for item in value):
        text = _('must be a list of at most %(most)s objects with "job_labels" and "level"')
        reader.fail(name, text % {"most": MOST_TERMS})
        return ()
    found = [_term(Reader(item, f"{reader.path}{name}[{at}].", reader.errors), anti) for at, item in enumerate(value)]
    return tuple(dict.fromkeys(term for term in found if term))


def _term(reader: Reader, anti: bool) -> Affinity | None:
    before = len(reader.errors)
    labels = selector(reader, "job_labels")
    if not labels and len(reader.errors) == before:
        reader.fail("job_labels", _("must have at least one condition on the labels of jobs"))
    level = reader.choice("level", "node", AT)
    required = reader.boolean("required") if reader.has("required") else True
    weight = reader.integer("weight", 1, 1, 100)
    if required and reader.has("weight"):
        reader.fail("weight", _("belongs to a preference: set required to false, or leave it out"))
    reader.unknown()
    return None if len(reader.errors) > before else Affinity(labels, level, anti, required, weight)


def levels(reader: Reader, deepest: str) -> tuple[str, str]:
    """The required and the preferred topology level; a preferred one wider than the required could never matter."""
    allowed = ("", *LEVELS[: depth(deepest) + 1])
    required = _level(reader, "required_topology_level", allowed)
    preferred = _level(reader, "preferred_topology_level", allowed)
    if required and preferred and depth(preferred) < depth(required):
        text = _("%(preferred)s is wider than the required %(required)s; prefer a level inside it")
        reader.fail("preferred_topology_level", text % {"preferred": preferred, "required": required})
    return required, preferred


def _level(reader: Reader, name: str, allowed: tuple[str, ...]) -> str:
    value = reader.text(name, "", 64)
    if value not in allowed:
        reader.fail(name, _("must be one of %(allowed)s") % {"allowed": ", ".join(allowed[1:])})
        return ""
    return value


def moment(reader: Reader, name: str) -> datetime | None:
    """A time with its zone, as UTC."""
    if not reader.has(name):
        return None
    at = _read_moment(reader.data[name])
    if at is None:
        reader.fail(name, _("must be a time in ISO 8601 with its zone, such as 2027-03-01T08:00:00+08:00"))
    return at


def _read_moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _good_key(key: Any) -> bool:
    return isinstance(key, str) and 0 < len(key) <= 63 and is_clean(key)


def _good_value(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200 and is_clean(value)


def _is_whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
