"""Bad input over the API: a clear error that names the field; nothing stored, nothing evicted."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.common.models import IdempotencyKey
from pool.inventory.models import Device
from pool.scheduling.models import Job
from tests import factories
from tests.api.conftest import Api, fields

SPEC: dict[str, Any] = {"name": "train", "command": ["true"]}
BIG = "1" + "0" * 309


def raw(changes: str) -> str:
    """SPEC as text with raw JSON put in: what json.dumps would refuse to write."""
    return json.dumps(SPEC)[:-1] + ", " + changes + "}"


CASES: list[tuple[str, Any, str]] = [
    ("NaN", raw('"gpu_fraction": NaN'), "gpu_fraction"),
    ("NaN as text", {"gpu_fraction": "NaN"}, "gpu_fraction"),
    ("infinity", raw('"gpu_fraction": Infinity'), "gpu_fraction"),
    ("negative infinity", raw('"gpu_memory_mib": -Infinity'), "gpu_memory_mib"),
    ("1e309", raw('"gpu_fraction": 1e309'), "gpu_fraction"),
    ("1e309 as text", {"gpu_fraction": "1e309"}, "gpu_fraction"),
    ("10^309", raw(f'"gpus": {BIG}'), "gpus"),
    ("10^309 MiB", raw(f'"gpu_memory_mib": {BIG}'), "gpu_memory_mib"),
    ("negative fraction", {"gpu_fraction": "-0.5"}, "gpu_fraction"),
    ("negative fraction as number", {"gpu_fraction": -0.5}, "gpu_fraction"),
    ("empty fraction", {"gpu_fraction": ""}, "gpu_fraction"),
    ("fraction with a unit", {"gpu_fraction": "0.5x"}, "gpu_fraction"),
    ("zero fraction", {"gpu_fraction": 0}, "gpu_fraction"),
    ("fraction above one", {"gpu_fraction": 1.5, "isolation": "vgpu"}, "gpu_fraction"),
    ("fraction finer than a percent", {"gpu_fraction": 0.333}, "gpu_fraction"),
    ("fraction true", {"gpu_fraction": True}, "gpu_fraction"),
    ("fraction of exclusive", {"gpu_fraction": 0.5, "isolation": "exclusive"}, "isolation"),
    ("negative gpus", {"gpus": -1}, "gpus"),
    ("half a gpu", {"gpus": 1.5}, "gpus"),
    ("gpus as text", {"gpus": "2"}, "gpus"),
    ("gpus as list", {"gpus": [1]}, "gpus"),
    ("negative memory", {"gpu_memory_mib": -1}, "gpu_memory_mib"),
    ("zero memory", {"gpu_memory_mib": 0}, "gpu_memory_mib"),
    ("empty memory list", {"gpu_memory_mib": []}, "gpu_memory_mib"),
    ("memory above any card", {"gpu_memory_mib": 200_000}, "gpu_memory_mib"),
    ("percent above 100", {"gpu_cores_percent": 101}, "gpu_cores_percent"),
    ("compute apart from whole cards", {"gpu_cores_percent": 50, "isolation": "exclusive"}, "isolation"),
    ("a vendor that no card is of", {"vendors": ["acme"]}, "vendors"),
    ("a label that no card has", {"gpu_selector": {"zone": "moon"}}, "gpu_selector"),
    ("a level of no topology", {"required_topology_level": "aisle"}, "required_topology_level"),
    ("neighbours that are no list", {"affinity": {}}, "affinity"),
    ("a fault inside unequal devices", {"devices": [{"gpu_fraction": 2}]}, "devices[0].gpu_fraction"),
    ("a deadline that has passed", {"deadline": "2020-01-01T00:00:00Z"}, "deadline"),
    ("a MIG profile that no model has", {"mig_profile": "9g.999gb"}, "mig_profile"),
    ("a gang that can never fit", {"gpus": 8, "replicas": 100}, "min_member"),
    ("more cards than a node has", {"gpus": 64}, "gpus"),
    ("more cpu than any node", {"cpu_milli": 10_000_000}, "cpu_milli"),
    ("an unknown model", {"models": ["H900"]}, "models"),
    ("unknown field", {"colour": "red"}, "colour"),
    ("unknown isolation", {"isolation": "magic"}, "isolation"),
    ("empty command", {"command": []}, "command"),
    ("command as text", {"command": "true"}, "command"),
    ("no command", {"command": None}, "command"),
    ("empty program", {"command": [""]}, "command[0]"),
    ("NUL in the command", {"command": ["echo", "a\0b"]}, "command[1]"),
    ("NUL in the environment", {"environment": {"A": "x\0"}}, "environment.A"),
    ("a variable name with =", {"environment": {"A=B": "x"}}, "environment.A=B"),
    ("a lone surrogate", raw('"labels": {"a": "\\ud800"}'), "labels.a"),
    ("a field twice", raw('"gpus": 1, "gpus": 8'), "gpus"),
    ("empty name", {"name": ""}, "name"),
    ("name of 121 letters", {"name": "x" * 121}, "name"),
    ("priority out of range", {"priority": 1001}, "priority"),
    ("min_member above replicas", {"min_member": 2}, "min_member"),
    ("negative duration", {"max_duration": -5}, "max_duration"),
    ("endless retries", {"max_retries": 10**6}, "max_retries"),
    ("roles that are no list", {"roles": {}}, "roles"),
    ("a fault inside a role", {"roles": [{"name": "w", "gpu_fraction": "NaN"}]}, "roles[0].gpu_fraction"),
    ("a foreign tenant", {"tenant": "boreal"}, "tenant"),
    ("a tenant that is not", {"tenant": "nowhere"}, "tenant"),
    ("a foreign queue", {"queue": "nowhere"}, "queue"),
    ("a list", "[1]", "body"),
    ("null", "null", "body"),
    ("not JSON", "{", "body"),
    ("not UTF-8", b'{"name": "\xff"}', "body"),
    ("deep nesting", raw('"labels": ' + "[" * 5000 + "]" * 5000), "body"),
    ("10 MB", raw('"labels": {"a": "' + "x" * 10_000_000 + '"}'), "body"),
]


@pytest.mark.parametrize(("body", "field"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused(api: Callable[..., Api], body: Any, field: str) -> None:
    factories.make_node("n1", devices=8)
    factories.make_node("n2", devices=8, mig=True)
    member = api("member_a")
    entries, devices = AuditEntry.objects.count(), list(Device.objects.order_by("pk").values())
    given = {**SPEC, **body} if isinstance(body, dict) else body
    for path in ("jobs", "jobs/dry-run"):
        if path == "jobs/dry-run" and field in _DRY_RUN_ANSWERS:
            continue
        answer = member.post(path, given)
        assert answer.status_code in {400, 413, 422}, answer.content
        assert field in fields(answer), answer.content
    assert Job.objects.count() == 0
    assert AuditEntry.objects.count() == entries
    assert IdempotencyKey.objects.count() == 0
    assert list(Device.objects.order_by("pk").values()) == devices


# what can never fit is an answer of a dry run, with the reason, not a refusal
_DRY_RUN_ANSWERS = {
    "min_member",
    "mig_profile",
    "cpu_milli",
    "models",
    "gpus",
    "gpu_memory_mib",
    "vendors",
    "gpu_selector",
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gpu_memory_mib": 200_000}, "gpu_memory_mib"),
        ({"mig_profile": "9g.999gb"}, "mig_profile"),
        ({"gpus": 8, "replicas": 100}, "min_member"),
    ],
)
def test_a_dry_run_says_what_can_never_fit(api: Callable[..., Api], change: dict[str, Any], field: str) -> None:
    factories.make_node("n1", devices=8)
    factories.make_node("n2", devices=8, mig=True)
    plan = api("member_a").post("jobs/dry-run", {**SPEC, **change}).json()
    assert (plan["fits"], plan["never"]) == (False, True)
    assert plan["refusal"]["field"] == field


def test_a_body_of_another_kind(api: Callable[..., Api]) -> None:
    member = api("member_a")
    headers = {**member.headers, "Idempotency-Key": "k"}
    answer = member.client.post("/api/v1/jobs", {"name": "x"}, headers=headers)
    assert answer.status_code == 415
    fields(answer)


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_method_that_is_not_there(api: Callable[..., Api], method: str) -> None:
    member = api("member_a")
    answer = getattr(member.client, method)("/api/v1/jobs", headers=member.headers)
    assert answer.status_code == 405
    fields(answer)


def test_an_address_that_is_not_there(api: Callable[..., Api]) -> None:
    for path in ("nothing", "jobs/x/y/z", ""):
        answer = api("member_a").get(path)
        assert answer.status_code == 404
        fields(answer)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("tokens", {"name": "x"}, "scopes"),
        ("tokens", {"name": "x", "scopes": ["root"]}, "scopes"),
        ("tokens", {"name": "x", "scopes": "jobs:read"}, "scopes"),
        ("tokens", {"name": "x", "scopes": ["jobs:read"], "days": 10**6}, "days"),
        ("tokens", {"name": "x", "scopes": ["jobs:read"], "admin": True}, "admin"),
        ("tokens", {"name": "x\0", "scopes": ["jobs:read"]}, "name"),
    ],
)
def test_other_bodies(api: Callable[..., Api], path: str, body: dict[str, Any], field: str) -> None:
    answer = api("member_a").post(path, body)
    assert answer.status_code == 422
    assert fields(answer) == [field]


def test_actions_take_no_unknown_fields(api: Callable[..., Api]) -> None:
    factories.make_node("n1")
    member = api("member_a")
    job = member.post("jobs", SPEC).json()["id"]
    assert fields(member.post(f"jobs/{job}/cancel", {"force": True})) == ["force"]
    assert fields(member.post(f"jobs/{job}/priority", {})) == ["priority"]
    assert fields(member.post(f"jobs/{job}/priority", {"priority": "high"})) == ["priority"]
    assert fields(member.post(f"jobs/{job}/clone", {"gpus": -1})) == ["gpus"]
    assert Job.objects.get().state == "queued"
