"""One tenant with one of everything, named so that a leak is seen."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.contrib.sessions.models import Session

from billing.catalog.services import set_price
from billing.invoices import services as invoicing
from billing.ledger.services import move
from billing.metering import services as metering
from console.accounts.models import BrowserSession, Lock
from console.accounts.services.providers import create_provider, map_group
from console.approvals.services import request_approval
from console.audit.models import AuditEntry
from console.audit.services import record
from console.common import clock
from console.common.actor import system
from console.tenants import services as tenants
from console.tenants.models import User
from console.tenants.queries import actor_for_user
from pool.nodes.models import LogChunk
from pool.scheduling.models import Decision, DefragPlan, FragmentationSample, Job, JobEvent, Reservation
from tests import factories
from tests.billing import build
from tests.conftest import Actors

NAME = "canary"
_SYSTEM = system("test")


@dataclass(frozen=True)
class World:
    """`ids`: what a route's parameter stands for, by (first part of the route, parameter)."""

    actors: Actors
    ids: dict[tuple[str, str], str]
    canaries: frozenset[str]


def make_world(actors: Actors) -> World:
    """Tenant A has a running job on a card, a finished one on an invoice, a failed one, output, a token; B nothing."""
    now = clock.now()
    card = build.device()
    project = factories.make_project(actors.a, f"{NAME}-project")
    price = set_price(
        _SYSTEM,
        model_name=card.model.name,
        isolation="exclusive",
        per_card_hour="30",
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    month = date(2026, 3, 1)
    done = build.job(actors.a, project, f"{NAME}-done")
    begin = datetime(2026, 3, 5, tzinfo=UTC)
    build.interval(card, done, begin, begin + timedelta(hours=1))
    metering.meter_closed(now)
    invoice = invoicing.refresh(actors.finance, actors.a, month, now)
    job = build.job(actors.a, project, f"{NAME}-job")
    held = build.interval(card, job, now)
    job.state = "running"
    job.spec = {"name": job.name, "project": project.slug, "queue": job.queue.name, "command": ["true"], "gpus": 1}
    job.save(update_fields=["state", "spec"])
    failed = build.job(actors.a, project, f"{NAME}-failed")
    Job.objects.filter(pk=failed.pk).update(state="failed", finished_at=now)
    replica = held.allocation.replica
    LogChunk.objects.create(replica=replica, stream="stdout", offset=0, data=f"{NAME} output".encode(), at=now)
    JobEvent.objects.create(job=job, at=now, kind="submitted", actor_label=f"{NAME}-person")
    reservation = Reservation.objects.create(
        tenant=actors.a,
        name=f"{NAME}-launch",
        cards=1,
        starts_at=now + timedelta(days=30),
        ends_at=now + timedelta(days=30, hours=2),
        created_at=now,
    )
    decision = Decision.objects.create(
        job=job, at=now, placed=True, snapshot="s", epoch=1, duration_us=1, reasons={"note": NAME}
    )
    token, _ = tenants.create_token(actors.owner_a, name=f"{NAME}-token", scopes=["jobs:read"])
    record(actors.owner_a, "job.submit", job, tenant_id=actors.a.pk, after={"name": job.name})
    entry = AuditEntry.objects.filter(tenant_id=actors.a.pk).latest("pk")
    plan = DefragPlan.objects.create(state="proposed", mode="approve", asked_by="test", created_at=now)
    FragmentationSample.objects.create(
        at=now, capacity_bp=1, free_bp=0, stranded_bp=0, spread_bp=0, stranded_devices=0, devices=1, classes=[]
    )
    posting = move(_SYSTEM, actors.a, "payment", "1", f"{NAME}-bank")
    entry_of = posting.entries.select_related("account").first()
    assert entry_of is not None
    invitation, _ = tenants.invite(actors.owner_a, actors.a, f"{NAME}@example.test", "viewer")
    service = tenants.create_service_account(actors.owner_a, actors.a, name=f"{NAME}-service", role="member")
    service_token, _ = tenants.create_service_token(
        actors.owner_a, service, name=f"{NAME}-service-token", scopes=["jobs:read"]
    )
    second = factories.make_user("second-operator@example.test", "operator")
    approval = request_approval(
        actor_for_user(second), "tenant.close", ("tenant", actors.a.public_id), f"{NAME}-tenant", {}, f"{NAME} reason"
    )
    session = _session_of(actors.users["owner_a"], now)
    lock = Lock.objects.create(kind="account", subject=f"{NAME}@aurora.test", since=now, failures=2)
    provider = create_provider(
        _SYSTEM, actors.a, secret="s", name=f"{NAME}-idp", issuer="https://login.example.com", client_id="weir"
    )
    group = map_group(_SYSTEM, provider, f"{NAME}-group", "viewer", actors.a)
    ids = {
        ("tenants", "public_id"): actors.a.public_id,
        ("tenants", "project_id"): project.public_id,
        ("tenants", "user_id"): actors.users["viewer_a"].public_id,
        ("tenants", "invitation_id"): invitation.public_id,
        ("tenants", "account_id"): service.public_id,
        ("tenants", "token_id"): service_token.public_id,
        ("approvals", "public_id"): approval.public_id,
        ("approvals", "verb"): "refuse",
        ("sites", "public_id"): card.node.site.public_id,
        ("invitation", "token"): "no-such-link",
        ("ledger", "posting_id"): posting.public_id,
        ("ledger", "account_id"): entry_of.account.public_id,
        ("defrag", "public_id"): plan.public_id,
        ("defrag", "action"): "reject",
        ("jobs", "public_id"): job.public_id,
        ("jobs", "action"): "cancel",
        ("jobs", "stream"): "stdout",
        ("decisions", "public_id"): decision.public_id,
        ("allocations", "public_id"): held.allocation.public_id,
        ("queues", "public_id"): job.queue.public_id,
        ("projects", "public_id"): project.public_id,
        ("reservations", "public_id"): reservation.public_id,
        ("queues/calendar/<str:public_id>/cancel", "public_id"): reservation.public_id,
        ("nodes", "public_id"): card.node.public_id,
        ("devices", "public_id"): card.public_id,
        ("heatmap", "node"): card.node.public_id,
        ("heatmap", "index"): "0",
        ("heatmap", "public_id"): card.public_id,
        ("heatmap", "chart"): "use",
        ("overview", "chart"): "queue",
        ("api/v1/jobs/<str:public_id>/retry", "public_id"): failed.public_id,
        ("invoices", "public_id"): invoice.public_id,
        ("invoices", "line_id"): invoice.lines.get().public_id,
        ("prices", "public_id"): price.public_id,
        ("tokens", "public_id"): token.public_id,
        ("audit", "public_id"): entry.public_id,
        ("signin", "token"): "no-such-link",
        ("settings/security/browsers/<str:public_id>/end", "public_id"): session.public_id,
        ("settings/access/failed/<str:public_id>/unlock", "public_id"): lock.public_id,
        ("settings/providers/<str:public_id>/", "public_id"): provider.public_id,
        ("settings/providers/<str:public_id>/groups", "public_id"): provider.public_id,
        ("settings/providers/<str:public_id>/groups/<str:group_id>/remove", "public_id"): provider.public_id,
        ("settings/providers/<str:public_id>/groups/<str:group_id>/remove", "group_id"): group.public_id,
        ("settings/providers/<str:public_id>/delete", "public_id"): provider.public_id,
        ("accounts/oidc/<str:provider_id>/login/", "provider_id"): "idp_none",
        ("accounts/oidc/<str:provider_id>/login/callback/", "provider_id"): "idp_none",
        ("accounts/2fa/passkeys/<int:pk>/remove/", "pk"): "1",
    }
    canaries = {NAME, actors.a.slug, "Aurora", *ids.values()} - {
        "cancel",
        "refuse",
        "reject",
        "stdout",
        "0",
        "use",
        "queue",
        "no-such-link",
        "1",
        "idp_none",
    }
    return World(actors, ids, frozenset(canaries - {price.public_id}))


def _session_of(user: User, now: datetime) -> BrowserSession:
    row = Session.objects.create(session_key=f"{NAME}-key", session_data="", expire_date=now + timedelta(days=1))
    return BrowserSession.objects.create(session=row, user=user, started_at=now, last_seen_at=now, device=NAME)
