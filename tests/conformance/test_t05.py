"""T05, the engine's part: 2 GPUs x 20 % x 2 048 MiB hold 40 % and 4 096 MiB in sum."""

from __future__ import annotations

from pool.engine import Fleet, Placed, ReplicaRequest, decide
from tests.engine import make


def test_t05() -> None:
    fleet = Fleet.build(make.nodes(1, 4))
    before = fleet.counts()
    decision = decide(fleet, make.job(ReplicaRequest(2, share_bp=2_000, memory_mib=(2_048,))))
    assert isinstance(decision, Placed)
    holds = fleet.apply(decision, "t1", "g1")
    assert len({hold.device_key for hold in holds}) == 2
    assert sum(hold.share_bp for hold in holds) == 4_000
    assert sum(hold.memory_mib for hold in holds) == 4_096
    after = fleet.counts()
    assert before.free_share_bp - after.free_share_bp == 4_000
    assert before.free_memory_mib - after.free_memory_mib == 4_096
