"""The jobs of the demo: possible, varied, and as large on the whole as the pace believes."""

from collections import Counter
from random import Random

import pytest

from console.demo.fleet import SITES
from console.demo.load.mix import MEAN_CARDS, Arrival, arrival
from console.demo.load.pace import Pace
from console.demo.load.tasks import LONGEST, SHORTEST, tasks
from console.demo.people import TENANTS, email
from pool.engine.mig_tables import FAMILIES
from pool.inventory.known_models import KNOWN
from pool.scheduling.spec import parse_job


@pytest.fixture(scope="module")
def drawn() -> list[Arrival]:
    rng = Random(11)
    return [arrival(rng, tasks(), number) for number in range(6000)]


def cards_of(job: Arrival) -> float:
    role = parse_job(job.spec).roles[0]
    share = role.share_bp / 10_000
    if role.mig_profile:
        family = FAMILIES[KNOWN[role.models[0]].mig_family]
        share = family.share_bp(next(p for p in family.profiles if p.name == role.mig_profile)) / 10_000
    return role.devices * role.replicas * share


def test_the_sample_is_there_and_within_its_bounds() -> None:
    assert len(tasks()) == 2000
    assert all(SHORTEST <= task.seconds <= LONGEST and task.gpus >= 1 and 1 <= task.percent <= 100 for task in tasks())


def test_the_same_seed_draws_the_same_jobs(drawn: list[Arrival]) -> None:
    rng = Random(11)
    assert [arrival(rng, tasks(), number) for number in range(50)] == drawn[:50]


def test_every_job_is_a_valid_specification_of_its_tenant(drawn: list[Arrival]) -> None:
    tenants = {tenant.slug: tenant for tenant in TENANTS}
    for job in drawn:
        spec = parse_job(job.spec)
        tenant = tenants[spec.tenant]
        workers = {email(name, tenant.slug) for name, role in tenant.people if role in {"owner", "member"}}
        assert job.person in workers
        assert spec.queue in {queue.name for queue in tenant.queues if queue.loaded}
        assert spec.project in {slug for slug, _ in tenant.projects}


def test_every_replica_fits_a_node_of_the_fleet(drawn: list[Arrival]) -> None:
    smallest = min(site.memory_mib for site in SITES)
    for job in drawn:
        role = parse_job(job.spec).roles[0]
        assert role.devices <= 8
        assert role.cpu_milli <= 128_000
        assert role.host_memory_mib <= smallest


def test_all_kinds_of_work_and_of_ends_occur(drawn: list[Arrival]) -> None:
    kinds = Counter(job.spec["labels"]["shape"] for job in drawn)
    assert set(kinds) == {"fraction", "whole", "node", "gang", "mig"}
    percents = {round(float(job.spec["gpu_fraction"]) * 100) for job in drawn if "gpu_fraction" in job.spec}
    assert len(percents) > 12  # not only the round ones
    gangs = {job.spec["replicas"] * 8 for job in drawn if job.spec["labels"]["shape"] == "gang"}
    assert gangs == {16, 32, 64}
    parts = {
        "fail": sum("WEIR_SIM_EXIT" in job.spec["environment"] for job in drawn),
        "cancelled": sum(job.cancel_after is not None for job in drawn),
        "limited": sum("max_duration" in job.spec for job in drawn),
    }
    assert all(0.02 < count / len(drawn) < 0.4 for count in parts.values()), parts


def test_the_pace_knows_the_mean_job(drawn: list[Arrival]) -> None:
    mean = sum(map(cards_of, drawn)) / len(drawn)
    seconds = sum(float(job.spec["environment"]["WEIR_SIM_SECONDS"]) for job in drawn) / len(drawn)
    assert mean == pytest.approx(MEAN_CARDS, rel=0.1)
    assert seconds == pytest.approx(Pace().mean_seconds, rel=0.1)
