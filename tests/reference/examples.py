"""How many random cases: some in every run, twenty times as many with WEIR_EXAMPLES=long, an eighth with few."""

from __future__ import annotations

import os


def examples(count: int) -> int:
    """The number of cases for a property. They are the same ones in each run; fewer are the first of them."""
    kind = os.environ.get("WEIR_EXAMPLES", "")
    return count * 20 if kind == "long" else max(5, count // 8) if kind == "few" else count
