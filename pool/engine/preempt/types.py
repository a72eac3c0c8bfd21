"""Plain data of preemption: what runs, who asks, and the plan or why there is none.

Times are whole seconds of any clock; the engine reads none. Costs are basis-point-seconds of a card
(10 000 = one GPU-second).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pool.engine.sharing.amounts import NOTHING, Amounts, plus
from pool.engine.sharing.books import Barred
from pool.engine.types import Hold, JobRequest, Placed


@dataclass(frozen=True, slots=True)
class RunningReplica:
    """One replica with all its holds; ``amounts`` as :func:`~pool.engine.sharing.amounts.held`.
    ``started_s`` if it joined later than its job started."""

    role: str
    rank: int
    amounts: Amounts
    holds: tuple[Hold, ...]
    started_s: int | None = None

    @property
    def share_bp(self) -> int:
        """Compute share of cards that it holds."""
        return sum(hold.share_bp for hold in self.holds)


@dataclass(frozen=True, slots=True)
class Running:
    """A job that holds something, in a leaf ``queue``.

    ``minimum``: replicas that it needs in all (``min_member``); ``role_minimums`` by role, missing
    0. ``checkpoint_s``: when its state was last saved; None: never. ``restart_s``: what it loses by
    starting again. ``evicted_s``: when it was last evicted. ``out_of_turn``: it has been evicted once
    although its queue's entitlement covered it (see :class:`Victim`), and will not be again.
    """

    key: int
    queue: int
    priority: int
    started_s: int
    replicas: tuple[RunningReplica, ...]
    minimum: int = 1
    role_minimums: tuple[tuple[str, int], ...] = ()
    preemptible: bool = True
    preempt_min_runtime_s: int = 0
    checkpoint_s: int | None = None
    restart_s: int = 0
    evicted_s: int | None = None
    out_of_turn: bool = False

    @property
    def amounts(self) -> Amounts:
        """What all its replicas take."""
        total = NOTHING
        for replica in self.replicas:
            total = plus(total, replica.amounts)
        return total

    def lost_s(self, now_s: int) -> int:
        """Seconds of work that are lost if it ends now and starts again."""
        saved = self.started_s if self.checkpoint_s is None else max(self.checkpoint_s, self.started_s)
        return max(0, now_s - saved) + self.restart_s


@dataclass(frozen=True, slots=True)
class Asking:
    """A waiting job: ``amounts`` are what its minimum may take at most (sharing's ``asked``)."""

    job: JobRequest
    queue: int
    priority: int
    amounts: Amounts
    preemptible: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """``cooldown_s``: a job that was evicted is left alone for so long after. ``reclaim_to``: a
    queue may take back up to its fair share, or only up to the part that its quota covers.
    ``within_quota``: jobs that cannot be preempted must stay within their queue's quota."""

    cooldown_s: int = 300
    reclaim_to: Literal["fair_share", "quota"] = "fair_share"
    within_quota: bool = False

    def __post_init__(self) -> None:
        if self.cooldown_s < 0:
            raise ValueError(f"cooldown_s: {self.cooldown_s} is below 0")


@dataclass(frozen=True, slots=True)
class Victim:
    """What one job loses: all of it (``whole``), or replicas beyond its minimum. ``because``:
    lower_priority in the same queue, or its queue is over its entitlement. ``out_of_turn``: others of
    its queue should have gone first, but they are where their going does not help. Remember it for
    as long as the load stays (:class:`Running`): each job pays that way once."""

    job_key: int
    queue: int
    whole: bool
    replicas: tuple[tuple[str, int], ...]
    cost: int
    because: Literal["lower_priority", "over_entitlement"]
    out_of_turn: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Evict these and the job goes where ``placed`` says, at once: hold the placement before
    anything else is placed, or the eviction was for nothing."""

    job_key: int
    victims: tuple[Victim, ...]
    placed: Placed
    cost: int


Reason = Literal["fits", "never", "barred", "not_entitled", "no_victims", "not_enough"]


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why nobody is evicted: it fits as things are; could never run; is barred by a limit that no
    eviction may lift; would pass an entitlement, and has no lower priority beside it; nobody may
    be evicted for it; evicting all who may be would not let it in (or no set of them was found that
    may go together). ``queue``: whose entitlement or limit it is."""

    job_key: int
    reason: Reason
    queue: int = 0
    barred: Barred | None = None
