"""The strip says that there is no figure rather than a wrong one."""

from datetime import timedelta

import pytest
import redis

from console.common import clock
from console.web import strip
from pool.inventory.models import Node
from pool.nodes.heatmap.builder import Builder
from pool.nodes.models import PoolSample
from tests import factories
from tests.browser.frames import report
from tests.conftest import Actors

pytestmark = pytest.mark.django_db


@pytest.fixture
def node(live: redis.Redis) -> Node:
    return factories.make_node(devices=2)


def shown(actors: Actors) -> tuple[str, str]:
    figure = next(each for each in strip.for_platform(actors.operator) if each.key == "utilisation")
    return figure.value, figure.note


def reported(live: redis.Redis, util: int) -> None:
    report(util=util)
    Builder(live).tick(clock.now().timestamp())


def test_no_report_no_figure(node: Node, actors: Actors) -> None:
    assert shown(actors) == ("–", "no node reports")


def test_zero_in_the_first_minute_is_no_figure_yet(node: Node, live: redis.Redis, actors: Actors) -> None:
    reported(live, 0)
    assert shown(actors) == ("–", "no figure yet: the first minute")


def test_a_load_is_shown_from_the_first_second(node: Node, live: redis.Redis, actors: Actors) -> None:
    reported(live, 1_250)
    assert shown(actors) == ("12.5 %", "2 of 2 report")


def test_an_idle_pool_shows_zero_once_it_was_measured(node: Node, live: redis.Redis, actors: Actors) -> None:
    reported(live, 0)
    ago = clock.now() - timedelta(minutes=2)
    PoolSample.objects.create(at=ago, devices=2, reporting=2, share_bp=0, utilisation_bp=0)
    assert shown(actors) == ("0.0 %", "2 of 2 report")


def test_samples_of_yesterday_do_not_count(node: Node, live: redis.Redis, actors: Actors) -> None:
    reported(live, 0)
    ago = clock.now() - timedelta(days=1)
    PoolSample.objects.create(at=ago, devices=2, reporting=2, share_bp=0, utilisation_bp=0)
    assert shown(actors)[0] == "–"
