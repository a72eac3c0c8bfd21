"""T02: three pods of 12 GiB on a card of 24 GiB: two are bound, the third waits for memory."""

from __future__ import annotations

from pool.engine import Fleet, Placed, Refused, ReplicaRequest, decide
from tests.engine import make


def test_t02() -> None:
    fleet = Fleet.build([make.node(1, make.card(100, memory=24 * 1024))])
    pod = ReplicaRequest(1, share_bp=1_000, memory_mib=(12 * 1024,))
    decisions = []
    for key in range(3):
        decision = decide(fleet, make.job(pod, key=key))
        decisions.append(decision)
        if isinstance(decision, Placed):
            fleet.apply(decision, "t1", "g1")
    assert [type(d) for d in decisions] == [Placed, Placed, Refused]
    last = decisions[2]
    assert isinstance(last, Refused)
    assert [(f.filter, f.devices) for f in last.failed] == [("memory", 1)]
    assert not last.never
