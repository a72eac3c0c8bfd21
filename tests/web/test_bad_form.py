"""Bad input in the submit form and its JSON twin while work runs: the field named, nothing stored, nothing evicted."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from pool.inventory.models import Device
from pool.scheduling.models import Allocation, Interval, Job, NodeCommand
from tests import factories
from tests.web.conftest import As

URL, CHECK = "/jobs/submit/", "/jobs/submit/check/"
GOOD = {"do": "submit", "name": "train", "command": "python train.py", "gpu_mode": "whole"}
SHARE = {"gpu_mode": "share", "gpu_share": "1/4"}
BIG = "1" + "0" * 309
TABLES = (Job, Allocation, Interval, NodeCommand, Device, AuditEntry)


def everything() -> list[Any]:
    return [list(table._default_manager.order_by("pk").values()) for table in TABLES]


@pytest.fixture
def untouched(as_: As, submit: Callable[..., Job], schedule: Callable[[], None]) -> Iterator[None]:
    """Both nodes are half full of running work; at the end every row is as it was, after a sweep as well."""
    factories.make_node("n-01", devices=2)
    factories.make_node("n-02", devices=2, mig=True)
    submit("keeps running", gpus=1)
    submit("a slice", gpus=1, mig_profile="1g.10gb")
    schedule()
    before = everything()
    assert Allocation.objects.filter(released_at=None).count() >= 2
    yield
    assert everything() == before
    schedule()
    assert everything() == before


FORM: list[tuple[str, dict[str, str], str]] = [
    ("NaN share", {**SHARE, "gpu_share": "NaN"}, "gpu_share"),
    ("sNaN share", {**SHARE, "gpu_share": "sNaN"}, "gpu_share"),
    ("infinite share", {**SHARE, "gpu_share": "Infinity"}, "gpu_share"),
    ("infinite percent", {**SHARE, "gpu_share": "inf %"}, "gpu_share"),
    ("negative share", {**SHARE, "gpu_share": "-0.5"}, "gpu_share"),
    ("negative part", {**SHARE, "gpu_share": "-1/4"}, "gpu_share"),
    ("1e309", {**SHARE, "gpu_share": "1e309"}, "gpu_share"),
    ("a share of nothing", {**SHARE, "gpu_share": "1e-999999"}, "gpu_share"),
    ("10^309", {**SHARE, "gpu_share": BIG[:200]}, "gpu_share"),
    ("empty share", {**SHARE, "gpu_share": ""}, "gpu_share"),
    ("text", {**SHARE, "gpu_share": "0.5x"}, "gpu_share"),
    ("over zero", {**SHARE, "gpu_share": "1/0"}, "gpu_share"),
    ("more than a card", {**SHARE, "gpu_share": "1.5", "isolation": "vgpu"}, "gpu_share"),
    ("101 %", {**SHARE, "gpu_share": "101 %"}, "gpu_share"),
    ("NaN cards", {"gpus": "NaN"}, "gpus"),
    ("infinite cards", {"gpus": "Infinity"}, "gpus"),
    ("10^309 cards", {"gpus": BIG}, "gpus"),
    ("negative cards", {"gpus": "-1"}, "gpus"),
    ("half a card", {"gpus": "1.5"}, "gpus"),
    ("NaN memory", {"gpu_memory": "NaN"}, "gpu_memory"),
    ("negative memory", {"gpu_memory": "-1"}, "gpu_memory"),
    ("no memory", {"gpu_memory": "0"}, "gpu_memory"),
    ("10^309 MiB", {"gpu_memory": BIG[:200]}, "gpu_memory"),
    ("more memory than any card", {"gpu_memory": "200000"}, "gpu_memory"),
    ("infinite cpu", {"cpu": "Infinity"}, "cpu"),
    ("negative cpu", {"cpu": "-1"}, "cpu"),
    ("10^309 cpu", {"cpu": BIG}, "cpu"),
    ("NaN host memory", {"memory": "NaN"}, "memory"),
    ("infinite host memory", {"memory": "inf"}, "memory"),
    ("a profile that no model has", {"gpu_mode": "mig", "mig_profile": "9g.999gb"}, "mig_profile"),
    ("a gang that can never fit", {"gpus": "2", "replicas": "100"}, "min_member"),
    ("NaN replicas", {"replicas": "NaN"}, "replicas"),
    ("10^309 replicas", {"replicas": BIG}, "replicas"),
    ("negative duration", {"max_duration": "-1"}, "max_duration"),
    ("10^309 minutes", {"max_duration": BIG}, "max_duration"),
    ("NaN priority", {"priority": "NaN"}, "priority"),
    ("endless retries", {"max_retries": "1000000"}, "max_retries"),
    ("NUL in the command", {"command": "echo a\0b"}, "command"),
    ("NUL in the environment", {"environment": "A=a\0b"}, "environment"),
    ("NUL in the name", {"name": "a\0b"}, "name"),
    ("an unknown kind", {"kind": "magic"}, "kind"),
    ("an unknown mode", {"gpu_mode": "magic"}, "gpu_mode"),
    ("an unknown isolation", {**SHARE, "isolation": "magic"}, "isolation"),
    ("an unknown model", {"models": "H900"}, "models"),
    ("a command beyond all measure", {"command": "x" * 70_000}, "command"),
]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("change", "field"), [case[1:] for case in FORM], ids=[case[0] for case in FORM])
def test_the_form_names_the_field(as_: As, change: dict[str, str], field: str) -> None:
    answer = as_("member_a").post(URL, {**GOOD, **change})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    html = answer.content.decode()
    assert f'id="id_{field}_error"' in html or f"id_{field}" in html
    assert as_("member_a").post(CHECK, {**GOOD, **change}, headers={"HX-Request": "true"}).status_code == 200


JSON: list[tuple[str, str, str]] = [
    ("NaN", '"gpu_fraction": NaN', "json"),
    ("infinity", '"gpu_fraction": -Infinity', "json"),
    ("1e309", '"gpu_fraction": 1e309', "gpu_fraction"),
    ("10^309", f'"gpus": {BIG}', "gpus"),
    ("negative", '"gpus": -1', "gpus"),
    ("empty", '"gpu_fraction": ""', "gpu_fraction"),
    ("wrong type", '"gpus": {}', "gpus"),
    ("unknown field", '"colour": "red"', "colour"),
    ("more than a card", '"gpu_fraction": 1.5, "isolation": "vgpu"', "gpu_fraction"),
    ("a profile that no model has", '"mig_profile": "9g.999gb"', "mig_profile"),
    ("a gang that can never fit", '"gpus": 2, "replicas": 100', "min_member"),
    ("more memory than any card", '"gpu_memory_mib": 200000', "gpu_memory_mib"),
    ("NUL in the environment", '"environment": {"A": "a\\u0000b"}', "environment.A"),
    ("inside a role", '"roles": [{"name": "w", "gpu_fraction": "NaN"}]', "roles[0].gpu_fraction"),
]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("change", "field"), [case[1:] for case in JSON], ids=[case[0] for case in JSON])
def test_the_json_form_names_the_field(as_: As, change: str, field: str) -> None:
    text = json.dumps({"name": "train", "command": ["true"]})[:-1] + ", " + change + "}"
    answer = as_("member_a").post(URL, {"mode": "json", "do": "submit", "json": text})
    assert answer.status_code == 422
    assert field in {error.field for error in answer.context["draft"].errors}
    assert field in answer.content.decode()


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("data", [{"command": "x" * 10_000_000}, {"mode": "json", "json": "x" * 10_000_000}])
def test_ten_megabytes_are_refused_with_a_page(as_: As, data: dict[str, str]) -> None:
    for client in (as_("member_a"), Client()):
        answer = client.post(URL, {**GOOD, **data})
        assert answer.status_code in {302, 400, 413, 422}
        assert len(answer.content) < 1_000_000
    answer = as_("member_a").post(URL, {**GOOD, **data})
    assert answer.status_code == 413
    assert "This request is too large" in answer.content.decode()


@pytest.mark.usefixtures("untouched")
def test_a_command_with_nul_in_json(as_: As) -> None:
    text = '{"name": "train", "command": ["echo", "a\\u0000b"]}'
    answer = as_("member_a").post(URL, {"mode": "json", "do": "submit", "json": text})
    assert answer.status_code == 422
    assert [error.field for error in answer.context["draft"].errors] == ["command[1]"]
