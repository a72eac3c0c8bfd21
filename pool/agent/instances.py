"""MIG instances of a node's cards: each is made when work starts in it and goes when the work ends, so that slots
nobody uses are one run again. Slots are memory slices; no two instances of a card share one."""

from collections.abc import Sequence

from pool.agent.driver import Slice


class Instances:
    """What a driver has made, by replica."""

    def __init__(self) -> None:
        self._made: dict[str, list[Slice]] = {}

    def make(self, replica: str, parts: Sequence[Slice]) -> None:
        """Those of one replica; again is no change. Raises ValueError that names what is in the way: none is made."""
        wanted = [part for part in parts if part.isolation == "mig"]
        for owner, made in self._made.items():
            for part in made:
                if owner != replica and any(_overlap(part, other) for other in wanted):
                    slots = f"{part.mig_start} to {part.mig_start + part.mig_size - 1}"
                    raise ValueError(f"devices: MIG slots {slots} of device {part.index} are in use by {owner}")
        if wanted:
            self._made[replica] = wanted

    def end(self, replica: str) -> None:
        self._made.pop(replica, None)

    def of(self, index: int) -> list[tuple[str, int, int]]:
        """Profile, start and size of the instances of one card, by start."""
        found = [part for made in self._made.values() for part in made if part.index == index]
        return sorted(((part.mig_profile, part.mig_start, part.mig_size) for part in found), key=lambda each: each[1])


def _overlap(a: Slice, b: Slice) -> bool:
    return a.index == b.index and a.mig_start < b.mig_start + b.mig_size and b.mig_start < a.mig_start + a.mig_size
