"""The request as JSON text, for several roles and for those who like it better."""

import json
from typing import Any, NoReturn

from django.utils.translation import gettext as _

from console.common.errors import FieldError

LONGEST = 256 * 1024
EXAMPLE: dict[str, Any] = {
    "name": "train-and-evaluate",
    "command": ["python", "train.py"],
    "roles": [
        {"name": "trainer", "replicas": 4, "gpus": 8},
        {"name": "evaluator", "replicas": 1, "min_replicas": 0, "gpus": 1, "gpu_fraction": "0.25"},
    ],
    "max_duration": 14400,
}


def dump(spec: dict[str, Any]) -> str:
    return json.dumps(spec, indent=2, ensure_ascii=False)


def load(text: str) -> tuple[dict[str, Any] | None, list[FieldError]]:
    """(request, []) or (None, errors). NaN, infinities and repeated names are errors, not surprises."""
    if len(text) > LONGEST:
        return None, [FieldError("json", _("must have at most %(longest)s characters") % {"longest": LONGEST})]
    try:
        value = json.loads(text, parse_constant=_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno, "what": error.msg}
        return None, [FieldError("json", _("line %(line)s, column %(column)s: %(what)s") % place)]
    except (ValueError, RecursionError) as error:
        return None, [FieldError("json", str(error) or _("is nested too deeply"))]
    if not isinstance(value, dict):
        return None, [FieldError("json", _("must be a JSON object"))]
    return value, []


def _constant(name: str) -> NoReturn:
    raise ValueError(_("%(name)s is not a JSON number") % {"name": name})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(_("%(name)s is given twice") % {"name": name})
        found[name] = value
    return found
