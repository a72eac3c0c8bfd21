"""Past use that lowers weights, budgets in GPU-hours, and what jobs are counted as."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pool.engine import Hold, JobRequest, ReplicaRequest, RoleRequest
from pool.engine.kinds import Kinds
from pool.engine.sharing import (
    Budget,
    Memory,
    Purse,
    Use,
    Weights,
    asked,
    entitlements,
    held,
    past_use,
    weights_by_use,
)
from tests.engine import make as engine
from tests.engine.sharing.make import cards, pool, pure, queue

DAY = 86_400


def test_use_decays_by_half_a_half_life_ago() -> None:
    steady = Memory(window_s=10 * DAY)
    decaying = Memory(window_s=10 * DAY, half_life_s=DAY)
    old, young = Use(0, 60, 1_000_000), Use(DAY, DAY + 60, 1_000_000)
    now = DAY + 60
    assert past_use([old], now, steady) == past_use([young], now, steady) == 60_000_000
    assert past_use([old], now, decaying) * 2 == pytest.approx(past_use([young], now, decaying), rel=1e-6)


def test_only_the_window_counts() -> None:
    memory = Memory(window_s=100)
    assert past_use([Use(0, 1_000, 5)], 1_000, memory) == 500
    assert past_use([Use(0, 900, 5)], 1_000, memory) == 0
    assert past_use([Use(990, 2_000, 5)], 1_000, memory) == 50  # what is held on counts up to now


def test_who_used_much_gets_less_beyond_the_quota_and_all_of_the_quota() -> None:
    tree = pool(12, queue(1, 4), queue(2, 4))
    wants = {1: pure(12), 2: pure(12)}
    weights = weights_by_use(tree, {1: 300, 2: 100}, Memory())
    shares = entitlements(tree, wants, weights)
    assert [shares.of(key)[0] / cards(1) for key in (1, 2)] == [5, 7]
    greedy = weights_by_use(tree, {1: 100, 2: 0}, Memory(strength=50))
    shares = entitlements(tree, wants, greedy)
    assert shares.of(1)[0] >= cards(4)
    assert shares.of(1)[0] < cards(4.1)
    alone = entitlements(tree, {1: pure(12)}, greedy)
    assert alone.of(1)[0] == cards(12)


def test_parents_answer_for_what_is_below_them() -> None:
    tree = pool(12, queue(1), queue(2), queue(3, parent=1), queue(4, parent=1), queue(5, parent=2))
    weights = weights_by_use(tree, {3: 75, 4: 25, 5: 100}, Memory())
    assert weights[1] == weights[2]
    assert weights[3] < weights[4]


def test_nothing_used_leaves_the_weights_alone() -> None:
    tree = pool(12, queue(1, weight=0), queue(2, weight=2500))
    assert weights_by_use(tree, {}, Memory()) == {1: 0, 2: 2500}
    assert weights_by_use(tree, {1: 5, 2: 5}, Memory())[1] == 0


def test_a_budget_holds_on_the_way_up_and_is_refunded() -> None:
    tree = pool(8, queue(1), queue(2, parent=1), queue(3, parent=1))
    hour = cards(1) * 3600
    purse = Purse(tree, {1: Budget(10 * hour), 2: Budget(8 * hour)})
    assert purse.refuses(2, cards(2), 4 * 3600, in_quota=True) is None
    purse.start(70, 2, cards(2), 4 * 3600)
    refused = purse.refuses(3, cards(1), 3 * 3600, in_quota=True)
    assert refused is not None
    assert (refused.queue, refused.left, refused.asked) == (1, 2 * hour, 3 * hour)
    purse.end(70, 2 * hour)
    purse.end(70, 2 * hour)
    assert purse.left(1) == 8 * hour
    assert purse.left(2) == 6 * hour
    assert purse.refuses(3, cards(1), 3 * 3600, in_quota=True) is None
    with pytest.raises(ValueError, match="job 71 has reserved"):
        purse.start(71, 2, 1, 1) or purse.start(71, 2, 1, 1)


def test_a_spent_budget_bars_what_its_setting_says() -> None:
    tree = pool(8, queue(1), queue(2), queue(3))
    budgets = {1: Budget(10, "all"), 2: Budget(10, "over_quota"), 3: Budget(10, "nothing")}
    purse = Purse(tree, budgets, spent={1: 12, 2: 10, 3: 10})
    barred = [(q, rule) for q in (1, 2, 3) for rule in (True, False) if purse.refuses(q, 5, None, rule) is not None]
    assert barred == [(1, True), (1, False), (2, False)]
    assert purse.refuses(1, 0, 60, True) is None  # work without cards


def test_weights_follow_prices() -> None:
    weights = Weights.from_prices({"H100": Decimal("2.50"), "A10": Decimal("0.60")}, "H100")
    assert (weights.of("H100"), weights.of("A10"), weights.of("unknown")) == (100, 24, 100)
    with pytest.raises(ValueError, match="A100 has no price"):
        Weights.from_prices({"H100": Decimal(1)}, "A100")


def test_what_holds_and_jobs_are_counted_as() -> None:
    weights = Weights({"A": 50, "B": 200})
    part = Hold(1, 1, 2_500, 6_000, "vgpu", "", -1, 0, "t", "g", 0, 0)
    host = Hold(None, 1, 0, 0, "", "", -1, 0, "t", "g", 4_000, 1_024)
    assert held([part, host], {1: "B"}, weights) == (500_000, 6_000, 4_000, 1_024)
    kinds = Kinds()
    kinds.add([engine.card(1, "A", 24_576), engine.card(2, "B", 81_920), engine.a100(3)])
    anywhere = engine.job(ReplicaRequest(2, cpu_milli=500), 3)
    assert asked(anywhere, kinds.all, weights) == (3 * 4_000_000, 3 * 2 * 81_920, 1_500, 0)
    on_a = engine.job(ReplicaRequest(1, 2_500, models=frozenset({"A"})), 4, 2)
    assert asked(on_a, kinds.all, weights) == (2 * 125_000, 2 * 6_144, 0, 0)
    assert asked(on_a, kinds.all, weights, whole=True) == (4 * 125_000, 4 * 6_144, 0, 0)
    sliced = engine.job(ReplicaRequest(1, mig_profile="2g.10gb"))
    gpu, memory, *_ = asked(sliced, kinds.all, Weights())
    assert gpu == 2 * 10_000 // 7 * 100
    assert 0 < memory < 40_960
    roles = (RoleRequest("a", ReplicaRequest(1), 4, 1), RoleRequest("b", ReplicaRequest(2), 4, 0))
    assert asked(JobRequest(1, "t", "g", roles, 3), kinds.all, Weights())[0] == 5_000_000
