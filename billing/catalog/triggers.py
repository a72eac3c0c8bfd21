"""A price that has begun to hold is never edited or taken away."""

from typing import Any

from billing import refusals

TRIGGERS = [
    refusals.refuse(
        "weir_price_no_update",
        "catalog_price",
        "UPDATE",
        "a price is never edited: set a new version",
    ),
    refusals.refuse(
        "weir_price_no_delete",
        "catalog_price",
        "DELETE",
        "a price that holds already cannot be deleted",
        when="OLD.valid_from <= strftime('%Y-%m-%d %H:%M:%f', 'now')",
        when_postgresql="OLD.valid_from <= now()",
    ),
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    refusals.install(editor, TRIGGERS)
