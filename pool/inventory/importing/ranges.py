"""Names with a range: `node[01-08]` stands for node01 to node08."""

import re
from typing import Final

MOST_NODES: Final = 10_000
_RANGE: Final = re.compile(r"([^\[\]]*)\[([0-9]{1,6})-([0-9]{1,6})\]([^\[\]]*)")


def expand(text: str) -> list[str]:
    """The names that a text stands for. Raises ValueError saying what is wrong with it."""
    found = _RANGE.fullmatch(text)
    if not found:
        if "[" in text or "]" in text:
            raise ValueError("has a range that is not like name[01-08]")
        return [text]
    before, low, high, after = found.groups()
    if int(low) > int(high):
        raise ValueError(f"has a range that runs backwards: {low} to {high}")
    if int(high) - int(low) >= MOST_NODES:
        raise ValueError(f"has a range of more than {MOST_NODES} names")
    return [f"{before}{number:0{len(low)}d}{after}" for number in range(int(low), int(high) + 1)]
