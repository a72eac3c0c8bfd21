"""What fragmentation is measured by, and what a plan of moves against it says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pool.engine.moves import Move
from pool.engine.types import Placed, ReplicaRequest

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Work:
    """A class of work: replicas like this one wait (``waiting`` of them), or are typical. ``weight``
    against the other classes.

    ``tenant`` and ``trust_group`` of waiting work; typical work ("") may share a card with anybody,
    since any tenant may ask for it."""

    request: ReplicaRequest
    weight: int = 0
    waiting: int = 0
    tenant: str = ""
    trust_group: str = ""


@dataclass(frozen=True, slots=True)
class ClassLine:
    """Of one class, all in bp of a card: the free capacity of cards that could serve it if they were
    empty (of each card no more than it could use then), and what of it the class can use now.
    ``fits``: replicas, side by side."""

    work: Work
    free: int
    usable: int
    fits: int

    @property
    def unusable(self) -> int:
        """Free, and of no use to this class as it is."""
        return max(self.free - self.usable, 0)


@dataclass(frozen=True, slots=True)
class Measure:
    """``capacity`` of all open cards and ``free`` of it in bp; ``stranded``: the free capacity that
    not one class can use. ``devices`` counts the cards whose whole free part is stranded.

    ``cells[row, column]``, by the rows of the fleet: the stranded bp of each card.
    ``spread_bp``: the mean over the classes, by weight, of what is of no use to each, of the
    capacity, in bp: rises when large blocks break up, though something small fits everywhere."""

    capacity: int
    free: int
    stranded: int
    devices: int
    lines: tuple[ClassLine, ...]
    spread_bp: int
    cells: Ints = field(compare=False)

    @property
    def fragmentation_bp(self) -> int:
        """Free capacity that no waiting or typical job can use, over all capacity."""
        return self.stranded * 10_000 // self.capacity if self.capacity else 0


@dataclass(frozen=True, slots=True)
class Budget:
    """``moves`` and ``cost`` (of :class:`~pool.engine.moves.Movable`) at most, of a plan; ``block``:
    moves for one block or job; ``per_group``: moves of one group (a queue)."""

    moves: int = 64
    cost: int | None = None
    block: int = 8
    per_group: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Moves that belong together: they clear one block for ``work``, or (``job``, with its place)
    admit a job that waits. ``freed``: bp that the class can use more; ``cost`` of its moves."""

    work: Work
    moves: tuple[Move, ...]
    placed: Placed
    job: int | None
    freed: int
    cost: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """A plan: steps in order, each made on the fleet as those before it leave it."""

    steps: tuple[Step, ...]
    before: Measure
    after: Measure
    snapshot_id: str

    @property
    def moves(self) -> int:
        """How many moves."""
        return sum(len(step.moves) for step in self.steps)

    @property
    def cost(self) -> int:
        """Of all moves."""
        return sum(step.cost for step in self.steps)
