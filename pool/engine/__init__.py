"""The placement engine: pure functions over arrays. No Django, no I/O, no clock.

Build a :class:`Fleet`, ask :func:`decide`, apply what it placed.
"""

from pool.engine.affinity import Affinity
from pool.engine.allreduce import Communication, communication
from pool.engine.decide import decide
from pool.engine.fleet import Counts, Fleet, holds_of
from pool.engine.fragmentation import fragmentation, stranded
from pool.engine.holds import Oversold
from pool.engine.levels import LEVELS
from pool.engine.mig import family_for
from pool.engine.mix import DEFAULT_MIX, TypicalMix
from pool.engine.neighbours import repels_of
from pool.engine.selectors import Requirement
from pool.engine.types import (
    DEFAULT,
    Change,
    DevicePlacement,
    DeviceSpec,
    FilterCount,
    Hold,
    JobRequest,
    LevelCount,
    Neighbourhood,
    NodeSpec,
    Placed,
    Policy,
    Refused,
    ReplicaPlacement,
    ReplicaRequest,
    RoleRequest,
    ScoreParts,
    Step,
    less_reserve,
)
from pool.engine.validate import never_fits

__all__ = [
    "DEFAULT",
    "DEFAULT_MIX",
    "LEVELS",
    "Affinity",
    "Change",
    "Communication",
    "Counts",
    "DevicePlacement",
    "DeviceSpec",
    "FilterCount",
    "Fleet",
    "Hold",
    "JobRequest",
    "LevelCount",
    "Neighbourhood",
    "NodeSpec",
    "Oversold",
    "Placed",
    "Policy",
    "Refused",
    "ReplicaPlacement",
    "ReplicaRequest",
    "Requirement",
    "RoleRequest",
    "ScoreParts",
    "Step",
    "TypicalMix",
    "communication",
    "decide",
    "family_for",
    "fragmentation",
    "holds_of",
    "less_reserve",
    "never_fits",
    "repels_of",
    "stranded",
]
