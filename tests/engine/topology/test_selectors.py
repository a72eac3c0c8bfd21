"""Selectors on labels, vendors, ranks of models and compute apart from memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, Placed, ReplicaRequest, Requirement, decide
from pool.engine.selectors import OPERATORS
from tests.engine import make as engine_make
from tests.engine.topology import make
from tests.reference import topology as reference
from tests.reference.examples import examples

KEYS = st.sampled_from(["zone", "gen", "tier"])
LABELS = st.dictionaries(KEYS, st.sampled_from(["a", "b", "3", "5", "-2"]), max_size=3)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    key, operator = draw(KEYS), draw(st.sampled_from(OPERATORS))
    values: tuple[str, ...] = ()
    if operator in ("In", "NotIn"):
        values = tuple(draw(st.lists(st.sampled_from(["a", "b", "3"]), min_size=1, max_size=2, unique=True)))
    if operator in ("Gt", "Lt"):
        values = (draw(st.sampled_from(["-3", "3", "4"])),)
    return Requirement(key, operator, values)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(
    of_nodes=st.lists(LABELS, min_size=1, max_size=3),
    of_cards=st.lists(LABELS, min_size=1, max_size=3),
    selector=st.lists(requirements(), min_size=1, max_size=3),
)
def test_only_cards_that_meet_every_condition_are_taken(
    of_nodes: list[dict[str, str]], of_cards: list[dict[str, str]], selector: list[Requirement]
) -> None:
    nodes, fitting = [], set()
    for key, mine in enumerate(of_nodes, 1):
        cards = []
        for n, own in enumerate(of_cards):
            cards.append(engine_make.card(100 * key + n, labels=tuple(sorted(own.items()))))
            labels = mine | own
            if all(reference.meets(labels, r.key, r.operator, r.values) for r in selector):
                fitting.add(100 * key + n)
        nodes.append(engine_make.node(key, *cards, labels=tuple(sorted(mine.items()))))
    fleet = Fleet.build(nodes)
    job = engine_make.job(ReplicaRequest(1, gpu_selector=tuple(selector)))
    taken = set()
    while isinstance(decision := decide(fleet, job, make.QUIET), Placed):
        taken |= set(make.cards_of(decision))
        fleet.apply(decision, "t1", "g1")
    assert taken == fitting
    if len(fitting) > 1:
        gang = decide(Fleet.build(nodes), engine_make.job(job.roles[0].request, len(fitting)), make.QUIET)
        assert isinstance(gang, Placed)
        assert set(make.cards_of(gang)) == fitting


def zoned() -> Fleet:
    return Fleet.build(
        [engine_make.node(k, engine_make.card(100 * k), labels=(("zone", f"z{k}"),)) for k in (1, 2)]
        + [engine_make.node(3, engine_make.card(300, labels=(("gen", "5"),)))]
    )


def test_a_refusal_counts_the_cards_and_names_the_condition_to_drop() -> None:
    conditions = (Requirement("zone", "In", ("z1", "z2")), Requirement("gen", "Gt", ("3",)))
    refused = make.refused(zoned(), engine_make.job(ReplicaRequest(1, gpu_selector=conditions)))
    assert [(f.filter, f.devices) for f in refused.failed] == [("selector", 3)]
    assert [(c.kind, c.before, c.after) for c in refused.changes] == [
        ("gpu_selector", "zone In z1,z2", ""),
        ("gpu_selector", "gen Gt 3", ""),
        ("gpu_selector", "zone In z1,z2; gen Gt 3", ""),
    ]
    assert refused.never


def test_labels_that_change_are_seen_by_scores_kept_before() -> None:
    fleet = zoned()
    job = engine_make.job(ReplicaRequest(1, gpu_selector=(Requirement("zone", "In", ("z9",)),)))
    make.refused(fleet, job)
    fleet.replace_node(engine_make.node(2, engine_make.card(200), labels=(("zone", "z9"),)))
    assert make.nodes_of(make.placed(fleet, job)) == [2]
    fleet.replace_node(engine_make.node(2, engine_make.card(200), labels=(("zone", "z1"),)))
    make.refused(fleet, job)


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [
        ("", "In", ("a",)),
        ("k", "Is", ("a",)),
        ("k", "In", ()),
        ("k", "Exists", ("a",)),
        ("k", "Gt", ("1", "2")),
        ("k", "Lt", ("x",)),
    ],
)
def test_conditions_that_make_no_sense_name_the_field(key: str, operator: str, values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^gpu_selector: "):
        Requirement(key, operator, values)


def vendors() -> Fleet:
    return Fleet.build(
        [
            engine_make.node(1, engine_make.card(100, "910B", vendor="huawei")),
            engine_make.node(
                2, engine_make.card(200, "H100", vendor="nvidia"), engine_make.card(201, "A100", vendor="nvidia")
            ),
        ]
    )


def test_vendors_as_a_set() -> None:
    def on(*names: str) -> list[int]:
        request = ReplicaRequest(1, vendors=frozenset(names))
        return make.cards_of(make.placed(vendors(), engine_make.job(request)))

    assert on("huawei") == [100]
    assert on("nvidia")[0] in (200, 201)
    refused = make.refused(vendors(), engine_make.job(ReplicaRequest(1, vendors=frozenset({"amd"}))))
    assert [(f.filter, f.devices) for f in refused.failed] == [("vendor", 3)]
    assert [(c.kind, c.after) for c in refused.changes] == [("vendors", "huawei"), ("vendors", "nvidia")]


def test_models_and_vendors_by_rank() -> None:
    """The first of the ranks that holds the job wins, whatever the score; a gang rather stays on one model."""
    fleet = vendors()
    job = engine_make.job(ReplicaRequest(1, preference=("A100", "huawei", "H100")))
    for card, rank in ((201, "A100"), (100, "huawei"), (200, "H100")):
        decision = make.placed(fleet, job)
        assert (make.cards_of(decision), decision.preference) == ([card], (("w", rank),))
        fleet.apply(decision, "t1", "g1")
    assert [(f.filter, f.devices) for f in make.refused(fleet, job).failed] == [("share", 3)]
    both = engine_make.job(ReplicaRequest(1, preference=("910B", "nvidia")), 2)
    decision = make.placed(vendors(), both)
    assert (make.cards_of(decision), decision.preference) == ([200, 201], (("w", "nvidia"),))
    together = make.placed(vendors(), engine_make.job(ReplicaRequest(1, preference=("910B", "H100")), 2))
    assert (sorted(make.cards_of(together)), together.preference) == ([100, 200], ())
    refused = make.refused(vendors(), engine_make.job(ReplicaRequest(1, preference=("B200", "T4"))))
    first = refused.changes[0]
    assert (first.kind, first.before, first.after) == ("preference", "B200>T4", "910B")


def test_compute_apart_from_memory() -> None:
    """60 % of the compute and a quarter of the memory; a whole card's memory and 40 % of its compute."""
    fleet = Fleet.build(engine_make.nodes(1, 1))

    def part(**values: Any) -> tuple[int, int, str]:
        device = make.placed(fleet, engine_make.job(ReplicaRequest(1, **values))).replicas[0].devices[0]
        return device.share_bp, device.memory_mib, device.isolation

    assert part(share_bp=2_500, gpu_cores_percent=60) == (6_000, 6_144, "vgpu")
    assert part(gpu_cores_percent=40) == (4_000, 24_576, "vgpu")
    assert part(gpu_cores_percent=40, memory_mib=(1_000,)) == (4_000, 1_000, "vgpu")
    assert part() == (10_000, 24_576, "exclusive")
    first = make.placed(fleet, engine_make.job(ReplicaRequest(1, 2_500, gpu_cores_percent=60)))
    fleet.apply(first, "t1", "g1")
    refused = make.refused(fleet, engine_make.job(ReplicaRequest(1, 2_500, gpu_cores_percent=60)))
    assert [(f.filter, f.devices) for f in refused.failed] == [("share", 1)]
    assert ("gpu_cores_percent", 60, 40) in [(c.kind, c.before, c.after) for c in refused.changes]


def test_compute_decides_the_slice_of_a_card_that_is_cut() -> None:
    fleet = Fleet.build([engine_make.node(1, engine_make.a100(100))])
    mindful = ReplicaRequest(1, 1_000, bandwidth_sensitive=True)
    for percent, profile in ((0, "1g.5gb"), (40, "3g.20gb"), (50, "4g.20gb"), (90, "7g.40gb")):
        request = replace(mindful, gpu_cores_percent=percent)
        assert make.placed(fleet, engine_make.job(request)).replicas[0].devices[0].mig_profile == profile
