"""Near and away from jobs by their labels: agrees with the definition, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Affinity, Fleet, JobRequest, NodeSpec, Placed, ReplicaRequest, Requirement, decide, repels_of
from tests.engine import make as engine_make
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples

LEVELS = ["node", "rack", "switch", "site"]


def term(value: str, level: str = "node", **more: Any) -> Affinity:
    return Affinity((Requirement("app", "In", (value,)),), level, **more)


@st.composite
def terms(draw: st.DrawFn) -> Affinity:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists"]))
    values = () if operator == "Exists" else (draw(st.sampled_from(["x", "y"])),)
    wish = Requirement("app", operator, values)
    return Affinity((wish,), draw(st.sampled_from(LEVELS)), draw(st.booleans()), draw(st.integers(0, 3)) > 0)


@st.composite
def jobs(draw: st.DrawFn) -> JobRequest:
    label = draw(st.sampled_from(["", "x", "y"]))
    return replace(
        engine_make.job(ReplicaRequest(1), draw(st.integers(1, 3)), tenant=draw(st.sampled_from(["t1", "t1", "t2"]))),
        labels=(("app", label),) if label else (),
        affinity=tuple(draw(st.lists(terms(), max_size=2, unique=True))),
    )


def hold(fleet: Fleet, decision: Placed, job: JobRequest) -> list[Any]:
    return list(fleet.apply(decision, job.tenant, job.trust_group, job.labels, repels_of(job)))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(nodes=make.trees(), work=st.lists(jobs(), min_size=2, max_size=6), ends=st.lists(st.integers(0, 5), max_size=6))
def test_every_replica_stands_where_the_definition_lets_it(
    nodes: list[NodeSpec], work: list[JobRequest], ends: list[int]
) -> None:
    fleet, by_key = Fleet.build(nodes), {node.key: node for node in nodes}
    running: list[tuple[JobRequest, list[int], list[Any]]] = []
    for step, job in enumerate(work):
        live = [
            (by_key[key], dict(other.labels), list(other.affinity))
            for other, keys, _ in running
            if other.tenant == job.tenant
            for key in keys
        ]
        me = (dict(job.labels), list(job.affinity))
        free = {node.key for node in nodes if make.free(fleet, node)}
        decision = decide(fleet, job, make.QUIET)
        single = job.roles[0].replicas == 1
        allowed = reference.may_stand(nodes, live, me) & free
        if single:
            assert isinstance(decision, Placed) == bool(allowed)
        if not isinstance(decision, Placed):
            continue
        keys = make.nodes_of(decision)
        for place, key in enumerate(keys):
            others = [(by_key[k], *me) for n, k in enumerate(keys) if n != place]
            alone = len(keys) == 1
            assert key in reference.may_stand(nodes, live + ([] if alone else others), me)
        running.append((job, keys, hold(fleet, decision, job)))
        if step < len(ends) and ends[step] < len(running):
            for held in running.pop(ends[step])[2]:
                fleet.release(held)
    while running:
        for held in running.pop()[2]:
            fleet.release(held)
    assert fleet.snapshot_id == Fleet.build(nodes).snapshot_id  # every label is forgotten with its hold


def test_replicas_that_repel_each_other_spread() -> None:
    fleet = Fleet.build(make.tree([1, 1, 2, 2, 2]))
    apart = replace(
        engine_make.job(ReplicaRequest(1), 4), labels=(("app", "x"),), affinity=(term("x", "rack", anti=True),)
    )
    assert sorted(make.nodes_of(make.placed(fleet, apart))) == [1, 3, 5, 7]
    two = replace(apart, roles=engine_make.job(ReplicaRequest(1), 2).roles, min_member=2)
    within = make.placed(fleet, two)
    assert sorted(make.nodes_of(within)) == [1, 3]  # one switch has two racks: the smallest domain still counts
    refused = make.refused(fleet, replace(apart, roles=engine_make.job(ReplicaRequest(1), 5).roles, min_member=5))
    assert ("min_member", 5, 4) in [(c.kind, c.before, c.after) for c in refused.changes]
    assert ("affinity", "away from app In x at rack", "") in [(c.kind, c.before, c.after) for c in refused.changes]
    assert refused.never


def test_near_its_like_the_first_may_start_anywhere_and_the_others_follow() -> None:
    fleet = Fleet.build(make.tree([1, 1, 1, 3, 2], cards=1))
    near = replace(engine_make.job(ReplicaRequest(1)), labels=(("app", "x"),), affinity=(term("x", "rack"),))
    hold(fleet, make.placed(fleet, near), near)
    second = make.placed(fleet, near)
    assert make.nodes_of(second) == [2]
    hold(fleet, second, near)
    refused = make.refused(fleet, near)
    assert [(f.filter, f.devices) for f in refused.failed] == [("share", 2), ("affinity", 4)]
    assert [(c.kind, c.after) for c in refused.changes] == [("affinity", "")]
    assert not refused.never
    stranger = replace(near, labels=())
    assert isinstance(decide(Fleet.build(make.tree([1, 1, 1, 1, 1])), stranger, make.QUIET), Placed) is False


def test_a_preference_goes_before_the_score_and_never_refuses() -> None:
    fleet = Fleet.build(make.tree([1, 1, 1, 2, 2]))
    loud = replace(engine_make.job(ReplicaRequest(1)), labels=(("app", "x"),))
    hold(fleet, make.placed(fleet, loud), loud)
    shy = replace(engine_make.job(ReplicaRequest(1)), affinity=(term("x", "rack", anti=True, required=False),))
    fond = replace(engine_make.job(ReplicaRequest(1)), affinity=(term("x", "node", required=False),))
    assert make.nodes_of(make.placed(fleet, shy)) == [3]
    assert make.nodes_of(make.placed(fleet, fond)) == [1]
    torn = replace(fond, affinity=(replace(fond.affinity[0], weight=2), replace(shy.affinity[0], weight=3)))
    assert make.nodes_of(make.placed(fleet, torn)) == [3]
    nowhere = Fleet.build(make.tree([1, 1, 1, 1, 1]))
    hold(nowhere, make.placed(nowhere, loud), loud)
    assert make.nodes_of(make.placed(nowhere, shy)) == [1]


def test_labels_are_seen_within_a_tenant_only() -> None:
    fleet = Fleet.build(make.tree([1, 1, 1, 1, 2]))
    theirs = replace(
        engine_make.job(ReplicaRequest(1), tenant="t2"), labels=(("app", "x"),), affinity=(term("x", anti=True),)
    )
    hold(fleet, make.placed(fleet, theirs), theirs)
    mine = replace(engine_make.job(ReplicaRequest(1)), labels=(("app", "x"),), affinity=(term("x", anti=True),))
    assert make.nodes_of(make.placed(fleet, mine)) == [1]


def test_bad_terms_name_the_field() -> None:
    for make_it in (
        lambda: Affinity(()),
        lambda: term("x", "island"),
        lambda: term("x", weight=0),
        lambda: term("x", weight=101),
    ):
        with pytest.raises(ValueError, match=r"^affinity: "):
            make_it()
    with pytest.raises(ValueError, match=r"^labels: "):
        replace(engine_make.job(ReplicaRequest(1)), labels=(("b", "1"), ("a", "1")))
