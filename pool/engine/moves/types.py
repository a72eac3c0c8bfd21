"""What may move, and what a plan of moves says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pool.engine.types import Hold, JobRequest, Placed


@dataclass(frozen=True, slots=True)
class Movable:
    """One running replica that may be stopped and started elsewhere.

    ``job`` asks for that replica alone (one role, one replica) and its ``key`` names it in the
    plan; ``holds`` are all that it holds now, on one node. ``cost`` (at least 1) is what the move
    loses in the caller's unit, such as GPU-seconds since the last checkpoint; plans add costs up.
    """

    job: JobRequest
    holds: tuple[Hold, ...]
    cost: int = 1

    def __post_init__(self) -> None:
        if self.cost < 1:
            raise ValueError(f"cost: {self.cost} is below 1; a move is never free")
        if len({hold.node_key for hold in self.holds}) != 1:
            raise ValueError("holds: a replica that moves holds parts of exactly one node")
        if len(self.job.roles) != 1 or self.job.roles[0].replicas != 1:
            raise ValueError("job: what moves is one replica, so one role of one replica")

    @property
    def node_key(self) -> int:
        """The node it runs on."""
        return self.holds[0].node_key

    @property
    def cpu_milli(self) -> int:
        """CPU that it gives back."""
        return sum(hold.cpu_milli for hold in self.holds)

    @property
    def host_memory_mib(self) -> int:
        """Host memory that it gives back."""
        return sum(hold.host_memory_mib for hold in self.holds)

    @property
    def order(self) -> tuple[int, int]:
        """Cheapest first, then by key: never the order in which movables were given."""
        return self.cost, self.job.key


@dataclass(frozen=True, slots=True)
class Move:
    """One replica that makes way: what it holds now, and where it goes."""

    movable: Movable
    to: Placed

    @property
    def to_node(self) -> int:
        """The node it goes to."""
        return self.to.replicas[0].node_key


@dataclass(frozen=True, slots=True)
class MovePlan:
    """``moves`` in the order in which they find their new places, after ``placed`` took its own.

    ``cost``: sum over the moves. ``snapshot_id``: of the fleet that the plan was made for; on any
    other content it is stale and must be dropped.
    """

    placed: Placed
    moves: tuple[Move, ...]
    cost: int
    snapshot_id: str


def by_node(movables: Iterable[Movable]) -> dict[int, list[Movable]]:
    """Movables by the node they run on, cheapest first."""
    found: dict[int, list[Movable]] = {}
    for movable in sorted(movables, key=lambda m: m.order):
        found.setdefault(movable.node_key, []).append(movable)
    return found
