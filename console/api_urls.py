"""All routes of API v1."""

from django.contrib.auth.decorators import login_required
from django.urls import path, re_path
from django.urls.resolvers import URLPattern
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

from billing.api import invoices, ledger, usage
from console.common.api.permissions import HasActor
from console.common.api.problems import not_found
from console.tenants import api as tenants
from console.tenants import people_api
from pool.inventory import api as inventory
from pool.nodes import api as nodes
from pool.scheduling.api import (
    actions,
    budgets,
    decisions,
    defrag,
    fleet,
    jobs,
    mig,
    preemptions,
    queue_states,
    reservations,
    shares,
)

_JOB = "jobs/<str:public_id>"
_schema = SpectacularJSONAPIView.as_view(permission_classes=[HasActor])
_docs = SpectacularSwaggerSplitView.as_view(
    url_name="api-schema", template_name="api/docs.html", permission_classes=[HasActor]
)

urlpatterns: list[URLPattern] = [
    path("me", tenants.Me.as_view()),
    path("tokens", tenants.Tokens.as_view()),
    path("tokens/<str:public_id>/revoke", tenants.TokenRevoke.as_view()),
    path("projects", tenants.Projects.as_view()),
    path("projects/<str:public_id>/limits", people_api.ProjectLimits.as_view()),
    path("projects/<str:public_id>/archive", people_api.ProjectArchive.as_view()),
    path("projects/<str:public_id>/reopen", people_api.ProjectReopen.as_view()),
    path("tenants", people_api.Tenants.as_view()),
    path("tenants/<str:public_id>/members", people_api.Members.as_view()),
    path("tenants/<str:public_id>/invitations", people_api.Invitations.as_view()),
    path("tenants/<str:public_id>/invitations/<str:invitation_id>/revoke", people_api.InvitationRevoke.as_view()),
    path("tenants/<str:public_id>/projects", people_api.ProjectCreate.as_view()),
    path("jobs", jobs.Jobs.as_view()),
    path("jobs/dry-run", jobs.DryRun.as_view()),
    path(_JOB, jobs.JobPage.as_view()),
    path(f"{_JOB}/timeline", jobs.JobTimeline.as_view()),
    path(f"{_JOB}/decisions", jobs.JobDecisions.as_view()),
    path(f"{_JOB}/replicas", jobs.JobReplicas.as_view()),
    path(f"{_JOB}/logs", nodes.JobLogs.as_view()),
    path(f"{_JOB}/cancel", actions.Cancel.as_view()),
    path(f"{_JOB}/retry", actions.Retry.as_view()),
    path(f"{_JOB}/requeue", actions.Requeue.as_view()),
    path(f"{_JOB}/clone", actions.Clone.as_view()),
    path(f"{_JOB}/priority", actions.Priority.as_view()),
    path("allocations", fleet.Allocations.as_view()),
    path("allocations/<str:public_id>", fleet.AllocationPage.as_view()),
    path("queues", fleet.Queues.as_view()),
    path("queues/shares", shares.Shares.as_view()),
    path("queues/<str:public_id>", fleet.QueuePage.as_view()),
    path("queues/<str:public_id>/edit", queue_states.Edit.as_view()),
    path("queues/<str:public_id>/hold", queue_states.Hold.as_view()),
    path("queues/<str:public_id>/release", queue_states.Release.as_view()),
    path("queues/<str:public_id>/close", queue_states.Close.as_view()),
    path("queues/<str:public_id>/budget", budgets.OfQueue.as_view()),
    path("queues/<str:public_id>/budget/lift", budgets.LiftOfQueue.as_view()),
    path("projects/<str:public_id>/budget", budgets.OfProject.as_view()),
    path("projects/<str:public_id>/budget/lift", budgets.LiftOfProject.as_view()),
    path("budgets", budgets.Budgets.as_view()),
    path("sharing/rules", shares.Rules.as_view()),
    path("sharing/weights", shares.Weights.as_view()),
    path("reservations", reservations.Reservations.as_view()),
    path("reservations/<str:public_id>", reservations.ReservationPage.as_view()),
    path("reservations/<str:public_id>/cancel", reservations.Cancel.as_view()),
    path("calendar", reservations.Calendar.as_view()),
    path("decisions", decisions.Decisions.as_view()),
    path("decisions/<str:public_id>", decisions.DecisionPage.as_view()),
    path("decisions/<str:public_id>/replay", decisions.Replay.as_view()),
    path("preemptions", preemptions.Preemptions.as_view()),
    path("fragmentation", defrag.Fragmentation.as_view()),
    path("fragmentation/samples", defrag.Samples.as_view()),
    path("defrag/plans", defrag.Plans.as_view()),
    path("defrag/plans/<str:public_id>", defrag.PlanPage.as_view()),
    path("defrag/plans/<str:public_id>/approve", defrag.Approve.as_view()),
    path("defrag/plans/<str:public_id>/reject", defrag.Reject.as_view()),
    path("defrag/rules", defrag.Rules.as_view()),
    path("nodes", inventory.Nodes.as_view()),
    path("nodes/<str:public_id>", inventory.NodePage.as_view()),
    path("nodes/<str:public_id>/cordon", inventory.Cordon.as_view()),
    path("nodes/<str:public_id>/uncordon", inventory.Uncordon.as_view()),
    path("nodes/<str:public_id>/drain", inventory.Drain.as_view()),
    path("nodes/<str:public_id>/labels", inventory.NodeLabels.as_view()),
    path("devices", inventory.Devices.as_view()),
    path("devices/<str:public_id>", inventory.DevicePage.as_view()),
    path("devices/<str:public_id>/labels", inventory.DeviceLabels.as_view()),
    path("devices/<str:public_id>/mig", mig.DeviceMig.as_view()),
    path("usage", usage.Usage.as_view()),
    path("usage/summary", usage.UsageSummary.as_view()),
    path("prices", usage.Prices.as_view()),
    path("invoices", invoices.Invoices.as_view()),
    path("invoices/<str:public_id>", invoices.InvoicePage.as_view()),
    path("invoices/<str:public_id>/lines", invoices.InvoiceLines.as_view()),
    path("invoices/<str:public_id>/pdf", invoices.InvoicePdf.as_view()),
    path("invoices/<str:public_id>/settle", invoices.Settle.as_view()),
    path("ledger/accounts", ledger.Accounts.as_view()),
    path("ledger/accounts/<str:account_id>/entries", ledger.AccountEntries.as_view()),
    path("ledger/postings", ledger.Postings.as_view()),
    path("ledger/postings/<str:posting_id>", ledger.PostingPage.as_view()),
    path("ledger/postings/<str:posting_id>/reverse", ledger.Reverse.as_view()),
    path("ledger/trial-balance", ledger.TrialBalance.as_view()),
    path("schema", _schema, name="api-schema"),
    path("docs", login_required(_docs), name="api-docs"),
    re_path(r"^(?P<path>.*)$", not_found),
]
