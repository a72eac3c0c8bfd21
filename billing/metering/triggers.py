"""Usage records are append-only. A record without a price is provisional and may be replaced by rated ones."""

from typing import Any

from billing import refusals

TRIGGERS = [
    refusals.refuse("weir_usage_no_update", "metering_usagerecord", "UPDATE", "a usage record is never edited"),
    refusals.refuse(
        "weir_usage_no_delete",
        "metering_usagerecord",
        "DELETE",
        "a rated usage record is never deleted",
        when="OLD.price_id IS NOT NULL",
    ),
]


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    refusals.install(editor, TRIGGERS)
