"""`manage.py prepare`: tables, operator, link; twice without harm; its trouble in one line."""

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from console.audit.models import AuditEntry
from console.embedded.services import FIRST_OPERATOR, first_operator
from console.tenants.models import User
from pool.inventory.models import Device
from pool.nodes.models import Agent, JoinToken
from pool.nodes.services.enrolment import digest
from tests import factories
from tests.embedded.processes import ROOT


def facts(output: str) -> dict[str, str]:
    merged: dict[str, Any] = {}
    for line in output.splitlines():
        merged.update(json.loads(line)["weir"])
    return merged


@pytest.mark.django_db
def test_makes_the_operator_once_with_an_audit_entry() -> None:
    first, again = first_operator(), first_operator()
    assert first == again
    assert (first.email, first.platform_role) == (FIRST_OPERATOR, User.Role.OPERATOR)
    assert not first.has_usable_password()
    entries = AuditEntry.objects.filter(object_id=first.public_id)
    assert [entry.actor_id for entry in entries] == ["system:setup"]


@pytest.mark.django_db
def test_an_operator_that_exists_is_taken() -> None:
    known = User.objects.create(email="ops@example.com", username="ops", platform_role=User.Role.OPERATOR)
    assert first_operator() == known
    known.is_active = False
    known.save()
    assert first_operator() != known


@pytest.mark.django_db(transaction=True)  # migrate needs a connection outside any transaction
def test_hands_over_a_link_that_signs_in_once(client: Client) -> None:
    out = io.StringIO()
    call_command("prepare", stdout=out)
    got = facts(out.getvalue())
    assert got["migrated"] == "yes"
    page = client.get(got["sign_in"])
    if page.status_code == 200:  # a page that asks, so that a link preview does not spend it
        page = client.post(got["sign_in"])
    assert page.status_code == 302
    assert client.session["_auth_user_id"] == str(first_operator().pk)
    again = Client().get(got["sign_in"])
    assert again.status_code in {404, 410}


def test_a_database_that_is_not_there_is_told_in_one_line(tmp_path: Any) -> None:
    env = {**os.environ, "WEIR_HOME": str(tmp_path), "DATABASE_URL": f"postgresql://weir@/weir?host={tmp_path}"}
    words = [sys.executable, str(ROOT / "manage.py"), "prepare"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert facts(done.stdout)["failure"]


@pytest.mark.django_db(transaction=True)
def test_gives_a_join_token_only_to_an_agent_that_is_not_in_yet() -> None:
    def asked(**words: Any) -> dict[str, str]:
        out = io.StringIO()
        call_command("prepare", agent_node="here", stdout=out, **words)
        return facts(out.getvalue())

    token = JoinToken.objects.select_related("site").get(digest=digest(asked(agent_joins=True)["agent_token"]))
    assert (token.site.name, token.name_prefix, token.uses_left) == ("local", "here", 1)
    assert "agent_token" in asked()  # it has a credential, but of another control plane
    Agent.objects.create(node=factories.make_node("here", devices=1), credential_digest="x")
    assert "agent_token" not in asked()
    assert "agent_token" in asked(agent_joins=True)  # its folder was lost


@pytest.mark.django_db(transaction=True)
def test_makes_the_demo_and_its_files() -> None:
    call_command("prepare", demo_devices=32, stdout=io.StringIO())
    files = {path.name for path in (settings.HOME / "demo").iterdir()}
    assert {"cn-sz-1.json", "cn-sz-1.token", "cn-bj-2.json", "cn-bj-2.token"} <= files
    assert Device.objects.count() == 32
