"""The levels of the topology, from the widest to the deepest."""

from __future__ import annotations

from typing import Final, Protocol

LEVELS: Final = ("site", "pod", "switch", "rack", "node", "island")
NODE: Final = LEVELS.index("node")
ISLAND: Final = LEVELS.index("island")
FLEET: Final = -1  # wider than every level: the whole fleet


def depth(level: str) -> int:
    """The number of a level; :data:`FLEET` for "", no level at all."""
    return LEVELS.index(level) if level else FLEET


def name_of(number: int) -> str:
    """The name of a level's number; "fleet" for the whole."""
    return "fleet" if number == FLEET else LEVELS[number]


class Levelled(Protocol):
    """Anything that may ask for topology levels: a job or a role."""

    @property
    def required_topology_level(self) -> str:
        """A level's name, or "" for none."""

    @property
    def preferred_topology_level(self) -> str:
        """A level's name, or "" for none."""


def levels_of(thing: Levelled) -> tuple[int, int]:
    """The numbers of the required and of the preferred level."""
    return depth(thing.required_topology_level), depth(thing.preferred_topology_level)


def check_levels(required: str, preferred: str, deepest: int = ISLAND) -> None:
    """ValueError, with the field named, for a level that does not exist (or not here) or a preferred
    one wider than the required one (it could never matter)."""
    for field, level in (("required_topology_level", required), ("preferred_topology_level", preferred)):
        if level and level not in LEVELS[: deepest + 1]:
            raise ValueError(f"{field}: {level!r} is not one of {', '.join(LEVELS[: deepest + 1])}")
    if required and preferred and depth(preferred) < depth(required):
        raise ValueError(
            f"preferred_topology_level: {preferred} is wider than the required {required}; "
            "prefer a level inside the required one"
        )
