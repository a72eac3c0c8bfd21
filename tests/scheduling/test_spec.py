"""The whole request: what is read, what is refused with its field, and that it survives being stored and read again."""

from datetime import UTC, datetime
from typing import Any

import pytest

from console.common.errors import InvalidInput
from pool.engine import Affinity, JobRequest, ReplicaRequest, Requirement, Step
from pool.scheduling import requests
from pool.scheduling.spec import canonical, parse_job

NAMED: dict[str, Any] = {"name": "train", "command": ["true"]}
FULL: dict[str, Any] = {
    **NAMED,
    "labels": {"app": "train", "team": "vision"},
    "roles": [
        {
            "name": "ps",
            "replicas": 2,
            "min_replicas": 1,
            "devices": [
                {"gpus": 1, "models": ["H100-80GB"]},
                {"gpus": 2, "mig_profile": "1g.10gb", "gpu_selector": {"tier": "cut"}},
                {"gpu_fraction": 0.25, "gpu_cores_percent": 40, "gpu_memory_mib": 4096},
            ],
            "preferred_topology_level": "rack",
        },
        {
            "name": "worker",
            "replicas": 4,
            "min_replicas": 2,
            "max_replicas": 8,
            "gpus": 8,
            "vendors": ["NVIDIA", "amd"],
            "preference": ["H100-80GB", "amd"],
            "gpu_selector": [
                {"key": "zone", "values": ["b", "a"]},
                {"key": "nvlink", "operator": "Exists"},
                {"key": "gen", "operator": "Gt", "values": ["3"]},
            ],
        },
    ],
    "required_topology_level": "pod",
    "preferred_topology_level": "switch",
    "affinity": [{"job_labels": {"app": "data"}, "level": "site"}],
    "anti_affinity": [
        {"job_labels": [{"key": "app", "values": ["train"]}], "level": "node", "required": False, "weight": 7},
        {"job_labels": {"app": ["x", "y"]}, "level": "rack"},
    ],
    "step": {"gradient_bytes": 10**9, "compute_us": 500_000, "overlap_percent": 30},
    "preempt_min_runtime": 600,
    "start_no_earlier_than": "2027-03-01T08:00:00+08:00",
    "deadline": "2027-03-02T00:00:00Z",
}


def request_of(body: dict[str, Any]) -> JobRequest:
    return requests.of_spec(parse_job(body), "ten_a", "ten_a")


def test_everything_reaches_the_engine() -> None:
    job = request_of(FULL)
    ps, worker = job.roles
    assert (job.required_topology_level, job.preferred_topology_level) == ("pod", "switch")
    assert (ps.preferred_topology_level, ps.replicas, ps.min_replicas) == ("rack", 2, 1)
    assert (worker.replicas, worker.min_replicas) == (8, 2)
    assert job.min_member == 3
    assert job.labels == (("app", "train"), ("team", "vision"))
    assert ps.request == ReplicaRequest(
        4,
        asks=(
            ReplicaRequest(1, models=frozenset({"H100-80GB"})),
            ReplicaRequest(
                2,
                mig_profile="1g.10gb",
                isolation="mig",
                gpu_selector=(Requirement("tier", "In", ("cut",)),),
            ),
            ReplicaRequest(1, 2_500, (4_096,), gpu_cores_percent=40),
        ),
    )
    assert worker.request.vendors == {"nvidia", "amd"}
    assert worker.request.preference == ("H100-80GB", "amd")
    assert {str(each) for each in worker.request.gpu_selector} == {"zone In b,a", "nvlink Exists", "gen Gt 3"}
    assert job.affinity == (
        Affinity((Requirement("app", "In", ("data",)),), "site"),
        Affinity((Requirement("app", "In", ("train",)),), "node", anti=True, required=False, weight=7),
        Affinity((Requirement("app", "In", ("x", "y")),), "rack", anti=True),
    )
    assert job.step == Step(10**9, 500_000, 3_000)


def test_times() -> None:
    spec = parse_job(FULL)
    assert spec.start_no_earlier_than == datetime(2027, 3, 1, tzinfo=UTC)
    assert spec.deadline == datetime(2027, 3, 2, tzinfo=UTC)
    assert spec.preempt_min_runtime_s == 600


def test_what_is_stored_reads_the_same_again() -> None:
    again = parse_job(canonical(parse_job(FULL)))
    assert again == parse_job(FULL)
    assert canonical(again) == canonical(parse_job(FULL))


def test_a_plain_job_stores_nothing_more() -> None:
    spec = parse_job({**NAMED, "gpus": 2})
    body = canonical(spec)
    assert set(body["roles"][0]) == {
        "name",
        "replicas",
        "min_replicas",
        "gpus",
        "isolation",
        "models",
        "bandwidth_sensitive",
        "cpu_milli",
        "memory_mib",
    }
    assert request_of(NAMED | {"gpus": 2}) == request_of(body)


@pytest.mark.parametrize(
    ("given", "share", "cores"),
    [
        ({"gpu_cores_percent": 30}, 3_000, 0),
        ({"gpu_fraction": 0.25, "gpu_cores_percent": 60}, 2_500, 60),
        ({"gpu_fraction": 1, "gpu_cores_percent": 50}, 10_000, 50),
    ],
)
def test_compute_alone_means_both_and_beside_a_fraction_it_is_a_ceiling_of_its_own(
    given: dict[str, Any], share: int, cores: int
) -> None:
    spec = parse_job({**NAMED, "gpus": 2, **given})
    request = request_of({**NAMED, "gpus": 2, **given}).roles[0].request
    assert (request.share_bp, request.gpu_cores_percent) == (share, cores)
    assert spec.total_share_bp == 2 * (cores * 100 or share)
    assert parse_job(canonical(spec)) == spec


def test_compute_of_unequal_devices_is_summed() -> None:
    spec = parse_job(FULL)
    assert spec.roles[0].devices == 4
    assert spec.roles[0].replica_bp == 3 * 10_000 + 4_000


def test_elastic_without_roles() -> None:
    job = request_of({**NAMED, "replicas": 4, "min_replicas": 2, "max_replicas": 6})
    assert (job.roles[0].replicas, job.roles[0].min_replicas, job.min_member) == (6, 2, 2)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"gpu_selector": "zone=a"}, "gpu_selector"),
    ({"gpu_selector": {"zone": 1}}, "gpu_selector.zone"),
    ({"gpu_selector": {"zone": []}}, "gpu_selector.zone"),
    ({"gpu_selector": [{"operator": "In", "values": ["a"]}]}, "gpu_selector[0].key"),
    ({"gpu_selector": [{"key": "z", "operator": "Like", "values": ["a"]}]}, "gpu_selector[0].operator"),
    ({"gpu_selector": [{"key": "z", "values": []}]}, "gpu_selector[0].values"),
    ({"gpu_selector": [{"key": "z", "operator": "Exists", "values": ["a"]}]}, "gpu_selector[0].values"),
    ({"gpu_selector": [{"key": "z", "operator": "Gt", "values": ["many"]}]}, "gpu_selector[0].values"),
    ({"gpu_selector": [{"key": "z", "values": ["a"], "value": "a"}]}, "gpu_selector[0].value"),
    ({"gpu_selector": {str(n): "a" for n in range(17)}}, "gpu_selector"),
    ({"vendors": "nvidia"}, "vendors"),
    ({"preference": ["T4", "T4"]}, "preference"),
    ({"preference": [""]}, "preference"),
    ({"required_topology_level": "aisle"}, "required_topology_level"),
    ({"required_topology_level": 3}, "required_topology_level"),
    ({"required_topology_level": "rack", "preferred_topology_level": "site"}, "preferred_topology_level"),
    ({"roles": [{"name": "w", "required_topology_level": "island"}]}, "roles[0].required_topology_level"),
    ({"affinity": {"app": "x"}}, "affinity"),
    ({"affinity": [{"level": "node"}]}, "affinity[0].job_labels"),
    ({"affinity": [{"job_labels": {"a": "b"}, "level": "island"}]}, "affinity[0].level"),
    ({"anti_affinity": [{"job_labels": {"a": "b"}, "weight": 5}]}, "anti_affinity[0].weight"),
    ({"anti_affinity": [{"job_labels": {"a": "b"}, "required": False, "weight": 101}]}, "anti_affinity[0].weight"),
    ({"anti_affinity": [{"job_labels": {"a": "b"}, "required": "no"}]}, "anti_affinity[0].required"),
    ({"affinity": [{"job_labels": {"a": "b"}, "colour": "red"}]}, "affinity[0].colour"),
    ({"devices": []}, "devices"),
    ({"devices": [{"gpus": 0}]}, "devices[0].gpus"),
    ({"devices": [{"gpus": 40}, {"gpus": 40}]}, "devices"),
    ({"devices": [{"gpus": 1}], "gpus": 2}, "gpus"),
    ({"devices": [{"gpus": 1}], "models": ["T4"]}, "models"),
    ({"devices": [{"preference": ["T4"]}]}, "devices[0].preference"),
    ({"devices": [{"cpu_milli": 4}]}, "devices[0].cpu_milli"),
    ({"replicas": 2, "min_replicas": 3}, "min_replicas"),
    ({"replicas": 4, "max_replicas": 3}, "max_replicas"),
    ({"step": 5}, "step"),
    ({"step": {"gradient_bytes": -1}}, "step.gradient_bytes"),
    ({"step": {"overlap_percent": 101}}, "step.overlap_percent"),
    ({"step": {"bytes": 1}}, "step.bytes"),
    ({"preempt_min_runtime": -1}, "preempt_min_runtime"),
    ({"start_no_earlier_than": "tomorrow"}, "start_no_earlier_than"),
    ({"start_no_earlier_than": "2027-03-01T08:00:00"}, "start_no_earlier_than"),
    ({"start_no_earlier_than": 1_800_000_000}, "start_no_earlier_than"),
    ({"deadline": "0001-01-01T00:00:00+14:00"}, "deadline"),
    ({"start_no_earlier_than": "2027-03-01T08:00:00Z", "deadline": "2027-03-01T08:00:00Z"}, "deadline"),
]


@pytest.mark.parametrize(("more", "field"), WRONG, ids=[f"{field}-{n}" for n, (_, field) in enumerate(WRONG)])
def test_refused_with_the_field_named(more: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_job({**NAMED, **more})
    assert [error.field for error in caught.value.errors] == [field]
