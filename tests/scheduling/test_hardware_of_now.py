"""What can never run is judged by the hardware of the moment, and a submission asks nothing more for that."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common.errors import InvalidInput
from pool.inventory.models import Hardware, Site
from pool.inventory.services import set_device_state, set_mig_enabled, upsert_node_from_agent
from pool.scheduling.services import dry_run, submit_job
from tests import factories
from tests.conftest import Actors

pytestmark = pytest.mark.django_db
# statements of a submission with its tenant named: begin and commit, reads of place and hardware, and its rows, which
# go to PostgreSQL in one
SUBMIT = {"sqlite": 13, "postgresql": 8}


@pytest.fixture
def site(db: None) -> Site:
    return factories.make_site()


def report(site: Site, name: str, *models: str, cpu: int = 64_000) -> None:
    """What the agent of a node says about it."""
    devices = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": model, "memory_mib": 80_000}
        for index, model in enumerate(models)
    ]
    facts = {"name": name, "cpu_milli": cpu, "memory_mib": 512_000, "labels": {}, "devices": devices}
    upsert_node_from_agent(facts, site=site)


def ask(actors: Actors, **spec: Any) -> Any:
    return submit_job(actors.member_a, {"name": "x", "command": ["x"], "gpus": 1, "tenant": "aurora", **spec})


def refused(actors: Actors, **spec: Any) -> str:
    with pytest.raises(InvalidInput) as refusal:
        ask(actors, **spec)
    return refusal.value.errors[0].field


def test_a_card_that_is_retired_is_not_counted_on(actors: Actors, site: Site) -> None:
    report(site, "n1", "H100-80GB", "H100-80GB")
    ask(actors, gpus=2)
    report(site, "n1", "H100-80GB")
    assert refused(actors, gpus=2) == "gpus"
    assert dry_run(actors.member_a, {"name": "x", "command": ["x"], "gpus": 2}).never
    report(site, "n1", "H100-80GB", "H100-80GB")  # it is back
    ask(actors, gpus=2)


def test_a_card_that_is_added_counts_at_once(actors: Actors, site: Site) -> None:
    report(site, "n1", "H100-80GB")
    assert refused(actors, models=["T4"]) == "models"
    report(site, "n2", "T4")
    ask(actors, models=["T4"])


def test_a_node_that_has_fewer_cores_now(actors: Actors, site: Site) -> None:
    report(site, "n1", "H100-80GB")
    ask(actors, cpu_milli=64_000)
    report(site, "n1", "H100-80GB", cpu=32_000)
    assert refused(actors, cpu_milli=64_000) == "cpu_milli"


def test_the_mode_of_the_only_card(actors: Actors, site: Site) -> None:
    node = factories.make_node("n1", devices=1)
    card = node.devices.get()
    assert refused(actors, mig_profile="1g.10gb") == "mig_profile"
    set_mig_enabled(actors.operator, card, True)
    ask(actors, mig_profile="1g.10gb")
    assert refused(actors, isolation="exclusive") == "isolation"


def test_what_may_come_back_is_waited_for(actors: Actors, site: Site) -> None:
    """A fault, a cordon or a silent node is no change of hardware: work waits, and nothing is read anew."""
    report(site, "n1", "H100-80GB")
    before = Hardware.objects.get().version
    set_device_state(actors.operator, Site.objects.get().nodes.get().devices.get(), "faulty", "fan")
    report(site, "n1", "H100-80GB")
    assert Hardware.objects.get().version == before
    ask(actors)


def test_a_submission_asks_no_more_than_before(actors: Actors, site: Site) -> None:
    report(site, "n1", "H100-80GB")
    ask(actors)
    with CaptureQueriesContext(connection) as caught:
        ask(actors)
    assert len(caught) == SUBMIT[connection.vendor], [query["sql"] for query in caught]
    report(site, "n2", "H100-80GB")
    ask(actors)  # reads what changed
    with CaptureQueriesContext(connection) as caught:
        ask(actors)
    assert len(caught) == SUBMIT[connection.vendor]
