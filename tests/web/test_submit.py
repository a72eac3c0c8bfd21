"""The submit form: every field of a request, a dry run, errors beside their fields, input kept."""

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from pool.scheduling.models import Job, JobRole
from pool.scheduling.pages import form_spec, json_spec
from tests import factories
from tests.conftest import Actors
from tests.web.conftest import As

ADVANCED = {
    "gpu_mode": "share",
    "gpu_share": "1/4",
    "gpu_cores": "40",
    "vendors": "nvidia",
    "preference": "H100-80GB, nvidia",
    "gpu_selector": "!shared\nzone!=b",
    "required_topology_level": "site",
    "preferred_topology_level": "rack",
    "labels": "app=a",
    "affinity": "5 * app=x at rack",
    "anti_affinity": "app=a|b at node",
    "replicas": "1",
    "max_replicas": "2",
    "preempt_min_runtime": "10",
    "start_no_earlier_than": "2099-03-01T08:00",
    "deadline": "2099-03-02T08:00",
}
URL, CHECK = "/jobs/submit/", "/jobs/submit/check/"
HX = {"HX-Request": "true"}
GOOD = {"do": "submit", "name": "train", "command": "python train.py --name 'two words'", "gpu_mode": "whole"}


@pytest.fixture(autouse=True)
def fleet(actors: Actors) -> None:
    factories.make_node("n-01", devices=8)
    factories.make_node("n-02", devices=2, mig=True)


def test_submits_every_field(as_: As) -> None:
    full = {
        **GOOD,
        "gpu_mode": "share",
        "kind": "service",
        "gpus": "2",
        "gpu_share": "1/4",
        "gpu_memory": "8 GiB",
        "isolation": "vgpu",
        "models": ["H100-80GB"],
        "bandwidth_sensitive": "on",
        "cpu": "1.5",
        "memory": "2 GiB",
        "replicas": "3",
        "min_member": "2",
        "priority": "-5",
        "preemptible": "on",
        "max_duration": "90",
        "max_duration_unit": "min",
        "max_retries": "4",
        "environment": "A=1\nB=x=y",
        "labels": "team=nlp",
    }
    response = as_("member_a").post(URL, full)
    job = Job.objects.get()
    assert response["Location"] == reverse("scheduling:job_detail", args=[job.public_id])
    role = JobRole.objects.get(job=job)
    assert job.command == ["python", "train.py", "--name", "two words"]
    assert (job.kind, job.priority, job.preemptible, job.max_retries, job.min_member) == ("service", -5, True, 4, 2)
    assert job.max_duration is not None
    assert job.max_duration.total_seconds() == 5400
    assert (job.environment, job.labels) == ({"A": "1", "B": "x=y"}, {"team": "nlp"})
    assert (role.devices, role.share_bp, role.memory_mib, role.isolation) == (2, 2500, [8192], "vgpu")
    assert (role.cpu_milli, role.host_memory_mib, role.replicas, role.bandwidth_sensitive) == (1500, 2048, 3, True)
    assert role.models_allowed == ["H100-80GB"]


def test_the_advanced_part(as_: As) -> None:
    as_("member_a").post(URL, {**GOOD, **ADVANCED})
    job = Job.objects.get()
    role = job.roles.get()
    assert role.wishes == {
        "gpu_cores_percent": 40,
        "vendors": ["nvidia"],
        "preference": ["H100-80GB", "nvidia"],
        "gpu_selector": [
            {"key": "shared", "operator": "DoesNotExist"},
            {"key": "zone", "operator": "NotIn", "values": ["b"]},
        ],
    }
    assert (job.wishes["required_topology_level"], job.wishes["preferred_topology_level"]) == ("site", "rack")
    assert job.wishes["affinity"][0]["weight"] == 5
    assert job.wishes["anti_affinity"][0]["job_labels"][0]["values"] == ["a", "b"]
    assert (role.max_replicas, job.not_before is not None, job.deadline_at) == (2, True, job.finish_by)
    page = as_("member_a").get(reverse("scheduling:job_detail", args=[job.public_id])).content.decode()
    for text in ("app=a|b at node", "!shared, zone!=b", "40 % compute", "earliest start", "up to 2 replicas"):
        assert text in page


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gpu_selector": "a>b>c"}, "gpu_selector"),
        ({"affinity": "app=x at moon"}, "affinity"),
        ({"preference": "T4, T4"}, "preference"),
        ({"required_topology_level": "rack", "preferred_topology_level": "site"}, "preferred_topology_level"),
        ({"deadline": "2020-01-01T00:00"}, "deadline"),
        ({"max_replicas": "0"}, "max_replicas"),
    ],
)
def test_advanced_input_that_is_wrong_is_said_beside_its_field(as_: As, change: dict[str, str], field: str) -> None:
    response = as_("member_a").post(URL, {**GOOD, **change})
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert not Job.objects.exists()


def test_defaults_are_the_apis(as_: As) -> None:
    as_("member_a").post(URL, GOOD)
    role = JobRole.objects.get()
    assert (role.devices, role.share_bp, role.isolation, role.replicas) == (1, 10_000, "auto", 1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"command": ""}, "command"),
        ({"command": "echo 'open"}, "command"),
        ({"gpu_mode": "share", "gpu_share": "3/2"}, "gpu_share"),
        ({"gpu_mode": "share", "gpu_share": "0.123456"}, "gpu_share"),
        ({"gpu_mode": "mig", "mig_profile": "9g.999gb"}, "mig_profile"),
        ({"gpu_mode": "mig", "mig_profile": ""}, "mig_profile"),
        ({"gpus": "9999"}, "gpus"),
        ({"gpu_memory": "900 GiB"}, "gpu_memory"),
        ({"gpu_memory": "1,2,3"}, "gpu_memory"),
        ({"cpu": "NaN"}, "cpu"),
        ({"cpu": "1e309"}, "cpu"),
        ({"memory": "-4"}, "memory"),
        ({"environment": "no equals sign"}, "environment"),
        ({"environment": "1BAD=x"}, "environment"),
        ({"labels": "-=x"}, "labels"),
        ({"replicas": "5000"}, "replicas"),
        ({"min_member": "3", "replicas": "2"}, "min_member"),
        ({"max_duration": "-1"}, "max_duration"),
        ({"queue": "elsewhere"}, "queue"),
        ({"tenant": "boreal"}, "tenant"),
    ],
)
def test_bad_input_is_named_kept_and_stores_nothing(as_: As, change: dict[str, str], field: str) -> None:
    response = as_("member_a").post(URL, {**GOOD, **change})
    assert response.status_code == 422
    assert Job.objects.count() == 0
    assert response.context["form"].errors.keys() == {field}
    assert "python train.py" in response.content.decode() or field == "command"


def test_a_command_with_nul_stores_nothing(as_: As) -> None:
    assert as_("member_a").post(URL, {**GOOD, "command": "echo a\0b"}).status_code == 422
    assert Job.objects.count() == 0


def test_dry_run_says_where_why_and_the_limit(as_: As, actors: Actors) -> None:
    actors.a.queues.update(limit_share_bp=40_000)
    html = as_("member_a").post(CHECK, {"gpu_mode": "whole", "gpus": "2"}, headers=HX).content.decode()
    assert "Would start at once" in html
    assert "n-0" in html
    assert "The limit that would bite first" in html
    assert "0 of 4 cards" in html
    limited = as_("member_a").post(CHECK, {"gpu_mode": "whole", "gpus": "6"}, headers=HX).content.decode()
    assert "Would wait for a limit" in limited
    assert Job.objects.count() == 0


def test_dry_run_tells_waiting_from_never(as_: As, submit: Callable[..., Job], schedule: Callable[[], None]) -> None:
    submit("nearly full", gpus=7)  # the other node's cards are in MIG mode: they hold no whole-card work
    schedule()
    waits = as_("member_a").post(CHECK, {"gpu_mode": "whole", "gpus": "8"}, headers=HX).content.decode()
    assert "Would wait for free capacity" in waits
    assert "It would start now with" in waits
    never = as_("member_a").post(CHECK, {"gpu_mode": "whole", "gpus": "9"}, headers=HX).content.decode()
    assert "Can never run on this hardware" in never


def test_the_check_puts_errors_beside_their_fields(as_: As) -> None:
    data = {"gpu_mode": "share", "gpu_share": "7"}
    html = as_("member_a").post(CHECK, data, headers=HX).content.decode()
    assert 'id="id_gpu_share_error" hx-swap-oob="true">Write a share' in html
    # a name that is not typed yet is no error while typing, and an error that a refusal left there stays
    assert 'id="id_name_error"' not in html
    typed = as_("member_a").post(CHECK, {**data, "name": "train"}, headers=HX).content.decode()
    assert 'id="id_name_error" hx-swap-oob="true"></p>' in typed


def test_check_without_javascript_keeps_the_input(as_: As) -> None:
    html = as_("member_a").post(URL, {**GOOD, "do": "check"}).content.decode()
    assert "Would start at once" in html
    assert 'value="train"' in html
    assert Job.objects.count() == 0


def test_json_takes_several_roles(as_: As) -> None:
    text = json.dumps(
        {**json_spec.EXAMPLE, "roles": [{"name": "a", "gpus": 1}, {"name": "b", "gpus": 0, "replicas": 2}]}
    )
    as_("member_a").post(URL, {"mode": "json", "do": "submit", "json": text})
    assert list(JobRole.objects.values_list("name", "replicas")) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"name": NaN}', '{"name": "a", "name": "b"}', '{"surprise": 1}', "[" * 5000, '{"gpus": 1e999}'],
)
def test_bad_json_is_named_kept_and_stores_nothing(as_: As, text: str) -> None:
    response = as_("member_a").post(URL, {"mode": "json", "do": "submit", "json": text})
    assert response.status_code == 422
    assert Job.objects.count() == 0
    assert response.context["draft"].errors
    assert response.context["draft"].text == text


def test_clone_fills_the_form(as_: As, actors: Actors) -> None:
    as_("member_a").post(URL, {**GOOD, "gpu_mode": "share", "gpu_share": "1/4", "environment": "A=1"})
    job = Job.objects.get()
    initial = as_("member_a").get(URL, {"clone": job.public_id}).context["form"].initial
    assert (initial["gpu_mode"], initial["gpu_share"], initial["environment"]) == ("share", "0.25", "A=1")
    assert initial["command"] == "python train.py --name 'two words'"
    assert as_("member_b").get(URL, {"clone": job.public_id}).status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"gpu_mode": "share", "gpu_share": "1/16", "gpu_memory": "4 GiB"},
        {"gpu_mode": "mig", "mig_profile": "1g.10gb", "gpus": "2"},
        {"gpu_mode": "none", "cpu": "2", "memory": "1 GiB"},
        {"replicas": "4", "min_member": "2", "max_duration": "3", "max_duration_unit": "d", "priority": "9"},
        ADVANCED,
    ],
)
def test_what_a_clone_submits_is_the_same_request(as_: As, change: dict[str, str]) -> None:
    client = as_("member_a")
    client.post(URL, {**GOOD, **change})
    first = Job.objects.get()
    initial = form_spec.initial_of(first.spec)
    assert initial is not None
    data = {name: "on" if value is True else value for name, value in initial.items() if value not in (None, False)}
    client.post(URL, {**data, "do": "submit"})
    assert Job.objects.order_by("id").last().spec == first.spec  # type: ignore[union-attr]


def test_several_roles_clone_as_json(as_: As) -> None:
    roles = [{"name": "a", "gpus": 1}, {"name": "b", "gpus": 1}]
    text = json.dumps({"name": "x", "command": ["true"], "roles": roles})
    as_("member_a").post(URL, {"mode": "json", "do": "submit", "json": text})
    response = as_("member_a").get(URL, {"clone": Job.objects.get().public_id})
    assert response.context["draft"].mode == "json"
    assert '"name": "b"' in response.context["draft"].text


def test_viewers_auditors_and_anonymous_cannot_submit(as_: As) -> None:
    for name in ("viewer_a", "billing_a", "auditor", "finance"):
        assert as_(name).post(URL, GOOD).status_code == 403
        assert as_(name).post(CHECK, GOOD).status_code == 403
    assert Client().post(URL, GOOD).status_code == 302
    assert Job.objects.count() == 0


def test_a_foreign_tenant_reads_like_none(as_: As) -> None:
    answers = [
        as_("member_a").post(
            URL, {"mode": "json", "do": "submit", "json": json.dumps({"name": "x", "command": ["a"], "tenant": t})}
        )
        for t in ("boreal", "no-such-tenant")
    ]
    errors = [response.context["draft"].errors for response in answers]
    assert errors[0] == errors[1]
