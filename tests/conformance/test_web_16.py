"""Web 16: a list asks as many queries for 2 rows as for 20. The counts are in query_counts.json, so a change shows."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from billing.catalog.services import set_price
from billing.invoices import services as invoicing
from billing.metering import services as metering
from console.audit.services import record
from console.common import clock
from console.common.actor import system
from console.tenants import services as tenants
from console.tenants.closing import ask_to_close
from console.tenants.models import Project
from pool.scheduling.models import Decision, JobEvent
from tests import factories
from tests.billing import build
from tests.conftest import Actors

COUNTS = Path(__file__).with_name("query_counts.json")
_HOUR = timedelta(hours=1)


class Rows:
    """Adds one row to every list at each call."""

    def __init__(self, actors: Actors) -> None:
        self.actors = actors
        self.number = 0
        self.job = build.job(actors.a, name="first")
        for model in ("H100-80GB", "A100-40GB"):
            facts: dict[str, Any] = {"isolation": "exclusive", "per_card_hour": "30"}
            set_price(system("test"), model_name=model, valid_from=datetime(2020, 1, 1, tzinfo=UTC), **facts)

    def add(self) -> None:
        self.number += 1
        month = date(2024 + self.number // 12, self.number % 12 + 1, 1)
        begin = datetime(month.year, month.month, 3, tzinfo=UTC)
        card = build.device("A100-40GB" if self.number % 2 else "H100-80GB", f"site-{self.number}")
        project = factories.make_project(self.actors.a, f"p-{self.number}")
        build.interval(card, build.job(self.actors.a, project, f"old-{self.number}"), begin, begin + _HOUR)
        build.interval(card, self.job, clock.now())
        metering.meter_closed(clock.now())
        invoicing.refresh(self.actors.finance, self.actors.a, month, clock.now())
        factories.make_queue(self.actors.a, f"q-{self.number}")
        facts: dict[str, Any] = {"snapshot": "s", "epoch": 1, "duration_us": 1, "reasons": {}}
        Decision.objects.create(job=self.job, at=clock.now(), placed=True, **facts)
        JobEvent.objects.create(job=self.job, at=clock.now(), kind="started")
        tenants.create_token(self.actors.operator, name=f"t-{self.number}", scopes=["jobs:read"])
        self._people(project)
        record(self.actors.member_a, "job.submit", ("job", f"x-{self.number}"), tenant_id=self.actors.a.pk)

    def _people(self, project: Project) -> None:
        """A tenant, a member with a role in a project, an invitation, a service account with a token, an approval."""
        a, owner = self.actors.a, self.actors.owner_a
        other = factories.make_tenant(f"t-{self.number}")
        user = factories.make_member(a, "member", f"m-{self.number}@aurora.test")
        tenants.set_project_role(owner, self.job.project, user, "viewer")
        tenants.set_project_role(owner, project, user, "admin")
        tenants.invite(owner, a, f"i-{self.number}@aurora.test", "member")
        account = tenants.create_service_account(owner, a, name=f"s-{self.number}", role="member", project=project)
        tenants.create_service_token(owner, account, name="t", scopes=["jobs:read"])
        ask_to_close(self.actors.operator, other, "test")

    def lists(self) -> list[str]:
        job = f"api/v1/jobs/{self.job.public_id}"
        api = ["jobs", "allocations", "queues", "nodes", "devices", "usage", "invoices", "prices", "tokens", "projects"]
        return [
            *[f"api/v1/{name}" for name in api],
            *[f"{job}/{name}" for name in ("timeline", "decisions", "replicas")],
            "jobs/?state=all",
            "queues/",
            "nodes/",
            "sites/",
            "billing/usage/records/?first=2024-01-01&last=2024-12-31",
            "billing/invoices/",
            "billing/prices/",
            "settings/tokens/",
            "audit/",
            "tenants/",
            *[f"tenants/{self.actors.a.public_id}/{name}" for name in ("", "people/", "services/")],
            f"tenants/{self.actors.a.public_id}/projects/{self.job.project.public_id}/",
            "approvals/?show=all",
        ]


def count(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(f"/{path}")
    assert answer.status_code == 200, path
    return len(seen)


@pytest.fixture
def operator(actors: Actors, live: redis.Redis) -> Client:
    client = Client()
    client.force_login(actors.users["operator"])
    return client


def test_as_many_for_two_as_for_twenty(operator: Client, actors: Actors) -> None:
    rows = Rows(actors)
    for _ in range(2):
        rows.add()
    few = {}
    for path in rows.lists():
        count(operator, path)  # what is cached on a first call is not counted
        few[path] = count(operator, path)
    for _ in range(18):
        rows.add()
    many = {path: count(operator, path) for path in rows.lists()}
    assert many == few
    ids = re.compile(r"\b(job|ten|prj)_\w+")
    named = {ids.sub("<id>", path): number for path, number in many.items()}
    if connection.vendor == "sqlite":
        assert named == json.loads(COUNTS.read_text()), f"update {COUNTS.relative_to(settings.BASE_DIR)}: {named}"
