"""How many random cases: few in every run, twenty times as many with WEIR_EXAMPLES=long."""

from __future__ import annotations

import os


def examples(count: int) -> int:
    """The number of cases for a property."""
    return count * (20 if os.environ.get("WEIR_EXAMPLES") == "long" else 1)
