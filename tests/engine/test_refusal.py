"""Refusals: the filter each card stopped at, and changes that really admit the job."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, Hold, NodeSpec, Placed, Policy, Refused, ReplicaRequest, decide, never_fits
from pool.engine.changes import with_members
from pool.engine.loosened import with_request
from pool.engine.types import Change, JobRequest
from tests.engine import make
from tests.reference.examples import examples

QUIET = Policy(explain=False)


def refusal(fleet: Fleet, request: ReplicaRequest, **more: object) -> Refused:
    decision = decide(fleet, make.job(request, **more))  # type: ignore[arg-type]
    assert isinstance(decision, Refused)
    return decision


def counts(refused: Refused) -> dict[str, int]:
    return {count.filter: count.devices for count in refused.failed}


def changed(job: JobRequest, change: Change) -> JobRequest:
    """The job after a change, by the words of the change alone."""
    role = next(role for role in job.roles if role.name == change.role)
    request = role.request
    if change.kind == "min_member":
        return with_members(job, role, int(change.after))
    if change.kind == "models":
        return with_request(job, role, models=request.models | {str(change.after)})
    if change.kind == "memory_mib":
        return with_request(job, role, memory_mib=tuple(min(m, int(change.after)) for m in request.memory_mib))
    if change.kind == "mig_profile":
        return with_request(job, role, mig_profile=change.after, memory_mib=())
    return with_request(job, role, **{change.kind: change.after})


def test_each_card_is_counted_at_the_filter_that_stopped_it_first() -> None:
    taken = Hold(500, 5, 5_000, 12_288, "vgpu", "", -1, 0, "t9", "g9", 0, 0)
    full = Hold(600, 6, 9_000, 100, "vgpu", "", -1, 0, "t1", "g1", 0, 0)
    nodes = [
        make.node(1, make.card(100), schedulable=False),
        make.node(2, make.card(200, "B")),
        make.node(3, make.card(300, memory=8_000)),
        make.node(4, make.card(400), cpu=1_000),
        make.node(5, make.card(500)),
        make.node(6, make.card(600)),
        make.node(7, make.card(700), memory=1_024),
    ]
    request = ReplicaRequest(
        1, 2_000, memory_mib=(10_000,), models=frozenset({"A"}), cpu_milli=2_000, host_memory_mib=2_048
    )
    refused = refusal(Fleet.build(nodes, [taken, full]), request)
    assert counts(refused) == {
        "schedulable": 1, "model": 1, "memory": 1, "share": 1, "trust": 1, "node_cpu": 1, "node_memory": 1,
    }  # fmt: skip
    kinds = {change.kind: change.after for change in refused.changes}
    assert kinds["cpu_milli"] == 1_000
    assert kinds["host_memory_mib"] == 1_024
    assert kinds["memory_mib"] == 8_000
    assert kinds["share_bp"] == 1_000
    assert kinds["models"] == "B"
    assert [change.size for change in refused.changes] == sorted(change.size for change in refused.changes)
    assert not refused.never


def test_mig_filters() -> None:
    nodes = [make.node(1, make.card(100)), make.node(2, make.a100(200)), make.node(3, make.a100(300))]
    holds = [Hold(300, 3, 10_000, 40_192, "mig", "7g.40gb", 0, 8, "t", "g", 0, 0)]
    fleet = Fleet.build(nodes, holds)
    assert counts(refusal(fleet, ReplicaRequest(1, mig_profile="1g.99gb"))) == {"isolation": 1, "mig_profile": 2}
    two = refusal(fleet, ReplicaRequest(2, mig_profile="4g.20gb"))
    assert counts(two) == {"isolation": 1, "mig_profile": 1, "node_devices": 1}
    assert ("mig_profile", "3g.20gb") in [(c.kind, c.after) for c in two.changes]
    assert ("devices", 1) in [(c.kind, c.after) for c in two.changes]


def test_cpu_only_work_counts_nodes() -> None:
    fleet = Fleet.build([make.node(1, cpu=500), make.node(2, cpu=500, schedulable=False)])
    refused = refusal(fleet, ReplicaRequest(0, cpu_milli=1_000))
    assert [(f.filter, f.devices, f.nodes) for f in refused.failed] == [("schedulable", 0, 1), ("node_cpu", 0, 1)]
    assert [(c.kind, c.after) for c in refused.changes] == [("cpu_milli", 500)]
    assert refused.never


def test_sweeps_can_do_without_changes() -> None:
    refused = decide(Fleet.build(make.nodes(1, 1)), make.job(ReplicaRequest(2)), QUIET)
    assert isinstance(refused, Refused)
    assert refused.changes == ()
    assert refused.failed


def test_never_is_about_hardware_and_not_about_what_is_held_or_drained() -> None:
    nodes = [replace(node, schedulable=False) for node in make.nodes(2, 2)]
    fleet = Fleet.build(nodes, [Hold(100, 1, 10_000, 24_576, "exclusive", "", -1, 0, "t", "g", 0, 0)])
    assert never_fits(fleet, make.job(ReplicaRequest(2), replicas=2)) is None
    assert not refusal(fleet, ReplicaRequest(2)).never
    for impossible in (
        make.job(ReplicaRequest(2), replicas=3),
        make.job(ReplicaRequest(3)),
        make.job(ReplicaRequest(1, 100, memory_mib=(24_577,))),
        make.job(ReplicaRequest(1, mig_profile="1g.5gb")),
        make.job(ReplicaRequest(1, models=frozenset({"unknown"}))),
        make.job(ReplicaRequest(1, cpu_milli=64_001)),
    ):
        found = never_fits(fleet, impossible)
        assert found is not None
        assert found.never
        assert found.failed
        again = decide(fleet, impossible)
        assert isinstance(again, Refused)
        assert again.never
    fleet.replace_node(make.node(3, *(make.card(300 + i) for i in range(3))))
    assert never_fits(fleet, make.job(ReplicaRequest(3))) is None


def test_devices_of_one_replica_need_cards_of_their_own() -> None:
    """Two halves of one free card are not two devices: only fewer devices help."""
    fleet = Fleet.build([make.node(1, make.card(100))])
    refused = refusal(fleet, ReplicaRequest(2, 5_000))
    assert counts(refused) == {"node_devices": 1}
    assert [(c.kind, c.after) for c in refused.changes] == [("devices", 1)]
    pair = Fleet.build([make.node(1, make.card(100), make.card(101, memory=8_192))])
    less = refusal(pair, ReplicaRequest(2, 2_500, memory_mib=(10_000,)))
    assert ("memory_mib", 8_192) in [(c.kind, c.after) for c in less.changes]


@settings(max_examples=examples(120), deadline=None, derandomize=True)
@given(
    nodes=make.fleets(),
    work=st.lists(make.requests(), max_size=6),
    request=make.requests(),
    replicas=st.integers(1, 4),
)
def test_every_change_admits_and_every_card_is_counted(
    nodes: list[NodeSpec], work: list[ReplicaRequest], request: ReplicaRequest, replicas: int
) -> None:
    fleet = Fleet.build(nodes)
    for busy in work:
        placed = decide(fleet, make.job(busy, tenant="t2", trust_group="g2"), QUIET)
        if isinstance(placed, Placed):
            fleet.apply(placed, "t2", "g2")
    before = fleet.snapshot_id
    job = make.job(request, replicas)
    decision = decide(fleet, job)
    assert fleet.snapshot_id == before
    if isinstance(decision, Placed):
        return
    cards = sum(len(node.devices) for node in nodes)
    if request.devices:
        assert sum(count.devices for count in decision.failed) == cards
    else:
        assert sum(count.nodes for count in decision.failed) == len(nodes)
    for change in decision.changes:
        assert 0 < change.size <= 1
        assert isinstance(decide(fleet, changed(job, change), QUIET), Placed), change
        if isinstance(change.after, int) and change.kind in ("cpu_milli", "host_memory_mib"):
            worse = replace(change, after=change.after + 1)
            if worse.after != change.before and len(job.roles) == 1:
                assert isinstance(decide(fleet, changed(job, worse), QUIET), Refused)
