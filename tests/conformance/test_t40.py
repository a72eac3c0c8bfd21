"""T40, the engine's part: four 25 % slices are one card, and held + free is the capacity."""

from __future__ import annotations

from pool.engine import Fleet, Placed, Refused, ReplicaRequest, decide
from tests.engine import make


def test_t40() -> None:
    fleet = Fleet.build(make.nodes(2, 1))
    quarter = ReplicaRequest(1, share_bp=2_500)
    holds = []
    for key in range(4):
        decision = decide(fleet, make.job(quarter, key=key))
        assert isinstance(decision, Placed)
        holds += fleet.apply(decision, "t1", "g1")
        counts = fleet.counts()
        assert sum(hold.share_bp for hold in holds) + counts.free_share_bp == counts.share_bp == 20_000
        assert sum(hold.memory_mib for hold in holds) + counts.free_memory_mib == counts.memory_mib
    assert {hold.device_key for hold in holds} == {holds[0].device_key}  # packed, not spread
    assert sum(hold.share_bp for hold in holds) == 10_000
    assert sum(hold.memory_mib for hold in holds) == 24_576
    whole = decide(fleet, make.job(ReplicaRequest(1)))
    assert isinstance(whole, Placed)
    assert whole.replicas[0].devices[0].share_bp == 10_000
    fleet.apply(whole, "t1", "g1")
    assert isinstance(decide(fleet, make.job(quarter)), Refused)
    assert fleet.counts().free_share_bp == 0
