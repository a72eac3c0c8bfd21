"""The API reference shows a line beside each operation: the first sentence of what its docstring says."""

import re
from typing import Any

_METHODS = {"get", "post", "put", "patch", "delete"}
_SENTENCE = re.compile(r"(.+?[.;])(?=\s|$)", re.DOTALL)


def summaries(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular. An operation's own summary stays."""
    for operations in result.get("paths", {}).values():
        for method, operation in operations.items():
            if method in _METHODS and not operation.get("summary") and operation.get("description"):
                operation["summary"] = first_sentence(operation["description"])
    return result


def first_sentence(text: str) -> str:
    """ "Queues of your tenants. Newest first." -> "Queues of your tenants"."""
    flat = " ".join(text.split())
    found = _SENTENCE.match(flat)
    return (found[1] if found else flat).rstrip(".;")
