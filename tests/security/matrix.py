"""Every method of every route under the rule that decides who may call it. A route without a row fails the walk.

Objects are those of tenants' world.py: work, hardware, money and a token of tenant A ("aurora"). Bodies are valid, so
that who may gets the answer of a success.
"""

from typing import Any, Final

from tests.security.rules import (
    APPROVALS,
    APPROVE,
    AUDIT,
    AUDIT_ENTRY,
    CUT,
    DEFRAG_CHANGE,
    FLEET,
    HARDWARE,
    HARDWARE_CHANGE,
    LEDGER_CHANGE,
    MONEY,
    MONEY_CHANGE,
    MONEY_OF_ALL,
    MONEY_OF_TENANT,
    OPEN,
    OWN,
    PEOPLE_CHANGE,
    PRICE_CHANGE,
    PROVIDER,
    PROVIDER_ADD,
    PROVIDER_CHANGE,
    PROVIDER_LIST,
    QUEUE_CHANGE,
    QUEUE_CREATE,
    QUEUE_MAKER,
    RESERVE,
    REVIEW,
    SERVICES,
    SESSION_END,
    SHARING_CHANGE,
    SIGN_IN_CHANGE,
    SIGN_IN_POLICY,
    SUBMIT,
    SUBMITTER,
    TENANT_CHANGE,
    TENANT_CREATE,
    TOKEN_REVOKE,
    WORK,
    WORK_CHANGE,
    Row,
    Rule,
)

_PASSWORD = "a long pass phrase 1"
_JOB: dict[str, Any] = {"name": "walk", "tenant": "aurora", "command": ["true"], "gpus": 1}
_FORM = {"name": "walk", "tenant": "aurora", "command": "true", "gpu_mode": "whole"}
_PRICE = {"model_name": "T4", "isolation": "exclusive", "per_card_hour": "3"}
_MOVE = {"tenant": "aurora", "kind": "payment", "amount": "1", "reference": "walk"}
_TOKEN: dict[str, Any] = {"name": "walk", "scopes": ["jobs:read"]}
_RESERVATION: dict[str, Any] = {
    "tenant": "aurora",
    "name": "walk",
    "cards": 1,
    "starts_at": "2040-01-02T08:00:00Z",
    "ends_at": "2040-01-02T10:00:00Z",
}
_BUDGETED = ("queues", "projects")
_RULES = (
    {"reclaim_to": "quota", "cooldown_min": "5", "history_strength": "0", "history_window_days": "7"}
    | {
        "starve_after_min": "10",
        "starve_cards": "2",
        "starve_most": "4",
        "assumed_runtime_h": "24",
    }
    | {f"weight_{at}": "1" for at in range(8)}
)
_LABELLED = ("nodes", "devices")
_LABELS: dict[str, Any] = {"labels": {"walk": "yes"}}
_LABEL_LINES = {"labels": "walk=yes"}
_NEW_TENANT = {"slug": "walk", "name": "Walk", "currency": "CNY", "time_zone": "UTC"}
_SUSPEND = {"action": "suspend", "running": "keep", "reason": "walk"}
_INVITE = {"email": "walk@example.test", "role": "member", "days": "7"}
_LIMITS = {"limit_share_bp": 10_000, "limit_running_jobs": None}
_GROUP = {"group": "walk", "tenant": "aurora", "role": "viewer"}
_CORDON = {"state": "cordoned", "reason": "walk"}


def _gets(rule: Rule, *routes: str, yes: int = 200) -> list[Row]:
    return [Row(rule, "GET", route, yes) for route in routes]


ROWS: Final[list[Row]] = [
    # open to all
    *_gets(OPEN, "healthz", "accounts/inactive/", "accounts/password/reset/", "accounts/password/reset/done/"),
    *_gets(OPEN, "accounts/password/reset/key/done/"),
    *_gets(OPEN, "signin/<str:token>/", yes=404),  # a link that was never given out
    *_gets(OPEN, "i18n/setlang/", yes=302),
    Row(OPEN, "POST", "i18n/setlang/", 302),
    Row(OPEN, "POST", "preferences/", 302),
    Row(OPEN, "GET", "accounts/login/", 302, nobody=200),
    Row(OPEN, "POST", "accounts/login/", 302, nobody=200),
    Row(OPEN, "POST", "accounts/password/reset/", 200),  # the form again: an address is missing
    # one's own, and lists that hold what one may see
    *_gets(OWN, "", "overview/strip", "overview/events", "overview/jobs", "preferences/", "search/", "i18n/js/"),
    *_gets(OWN, "jobs/", "jobs/export/", "queues/", "queues/export/", "nodes/", "sites/"),
    *_gets(OWN, "queues/shares/", "queues/preemptions/", "queues/preemptions/export/"),
    *_gets(OWN, "api/v1/queues/shares", "api/v1/preemptions", "api/v1/sharing/rules"),
    *_gets(OWN, "queues/budgets/", "queues/shares/trend.json", "api/v1/budgets"),
    *_gets(OWN, "queues/calendar/", "api/v1/reservations", "api/v1/calendar"),
    *_gets(OWN, "api/v1/decisions"),
    *_gets(OWN, "devices/", yes=302),
    *_gets(OWN, "billing/prices/", "billing/prices/export/"),
    *_gets(OWN, "billing/", yes=302),
    *_gets(OWN, "api/v1/me", "api/v1/projects", "api/v1/jobs", "api/v1/allocations", "api/v1/queues", "api/v1/nodes"),
    *_gets(OWN, "api/v1/devices", "api/v1/prices", "api/v1/tokens", "api/v1/schema"),
    Row(OWN, "GET", "api/v1/docs", nobody=302),
    *_gets(OWN, "settings/tokens/"),
    Row(OWN, "POST", "settings/tokens/", 200, {**_TOKEN, "days": "90"}),
    Row(OWN, "POST", "api/v1/tokens", 201, _TOKEN),
    Row(OWN, "GET", "accounts/logout/"),
    Row(OWN, "POST", "accounts/logout/", 302),
    *_gets(OWN, "accounts/reauthenticate/", "accounts/password/change/", "accounts/2fa/"),
    Row(OWN, "POST", "accounts/reauthenticate/", 302, {"password": _PASSWORD}),
    Row(
        OWN,
        "POST",
        "accounts/password/change/",
        302,
        {"oldpassword": _PASSWORD, "password1": "long new one 5", "password2": "long new one 5"},
    ),
    *_gets(OWN, "accounts/password/set/", yes=302),  # to the change of a password: these people have one
    Row(OWN, "POST", "accounts/password/set/", 302),
    # a second factor: the password is asked for again first; without a factor there is none to take away
    *_gets(OWN, "accounts/2fa/authenticate/", "accounts/2fa/reauthenticate/", yes=302),
    Row(OWN, "POST", "accounts/2fa/authenticate/", 302),
    Row(OWN, "POST", "accounts/2fa/reauthenticate/", 302),
    *_gets(OWN, "accounts/2fa/totp/activate/", "accounts/2fa/recovery-codes/generate/", yes=302),
    Row(OWN, "POST", "accounts/2fa/totp/activate/", 302),
    Row(OWN, "POST", "accounts/2fa/recovery-codes/generate/", 302),
    *_gets(OWN, "accounts/2fa/totp/deactivate/", "accounts/2fa/recovery-codes/", yes=404),
    Row(OWN, "POST", "accounts/2fa/totp/deactivate/", 404),
    *_gets(OWN, "accounts/2fa/passkeys/"),
    *_gets(OWN, "accounts/2fa/passkeys/add/", "accounts/2fa/passkeys/<int:pk>/remove/", yes=302),
    Row(OWN, "POST", "accounts/2fa/passkeys/add/", 302),
    Row(OWN, "POST", "accounts/2fa/passkeys/<int:pk>/remove/", 302),
    Row(OWN, "GET", "accounts/2fa/passkeys/reauthenticate/", 302),  # to the password: these people have no passkey
    Row(OWN, "POST", "accounts/2fa/passkeys/reauthenticate/", 302),
    Row(OPEN, "GET", "accounts/2fa/passkeys/login/", 302),
    Row(OPEN, "POST", "accounts/2fa/passkeys/login/", 302),
    *_gets(OPEN, "accounts/oidc/<str:provider_id>/login/", "accounts/oidc/<str:provider_id>/login/callback/", yes=404),
    *_gets(OPEN, "accounts/oidc/cancelled/", yes=302),
    *_gets(OWN, "accounts/oidc/again/", yes=404),  # these people have a password
    # how one signs in, and who must do so how
    *_gets(PROVIDER_LIST, "settings/providers/"),
    Row(PROVIDER_ADD, "GET", "settings/providers/new/"),
    Row(PROVIDER_ADD, "POST", "settings/providers/new/", 422),
    Row(PROVIDER, "GET", "settings/providers/<str:public_id>/"),
    Row(PROVIDER_CHANGE, "POST", "settings/providers/<str:public_id>/", 422),
    Row(PROVIDER_CHANGE, "POST", "settings/providers/<str:public_id>/groups", 302, _GROUP),
    Row(PROVIDER_CHANGE, "POST", "settings/providers/<str:public_id>/groups/<str:group_id>/remove", 302),
    Row(PROVIDER_CHANGE, "POST", "settings/providers/<str:public_id>/delete", 302),
    *_gets(OWN, "settings/security/", "settings/security/browsers/export/"),
    Row(OWN, "POST", "settings/security/browsers/end-others", 302),
    Row(SESSION_END, "POST", "settings/security/browsers/<str:public_id>/end", 302),
    *_gets(SIGN_IN_POLICY, "settings/access/", "settings/access/failed/"),
    Row(SIGN_IN_CHANGE, "POST", "settings/access/", 302, {"role": "finance", "required": "yes"}),
    Row(SIGN_IN_CHANGE, "POST", "settings/access/failed/<str:public_id>/unlock", 302),
    # the whole pool
    *_gets(FLEET, "overview/trends/<str:chart>.json", "heatmap/layout.json", "heatmap/tenants.json", "heatmap/table/"),
    *_gets(FLEET, "heatmap/nodes/<str:node>/<int:index>/"),
    *_gets(FLEET, "fragmentation/", "defrag/", "defrag/export/", "defrag/<str:public_id>/"),
    *_gets(FLEET, "api/v1/fragmentation", "api/v1/fragmentation/samples", "api/v1/defrag/rules"),
    *_gets(FLEET, "api/v1/defrag/plans", "api/v1/defrag/plans/<str:public_id>"),
    *_gets(CUT, "devices/<str:public_id>/next-profiles", "api/v1/devices/<str:public_id>/mig"),
    *_gets(DEFRAG_CHANGE, "defrag/rules/"),
    Row(DEFRAG_CHANGE, "POST", "defrag/rules/", 200),  # the form again: nothing was filled in
    Row(DEFRAG_CHANGE, "POST", "defrag/ask", 302),
    Row(DEFRAG_CHANGE, "POST", "defrag/<str:public_id>/<str:action>", 302),
    Row(DEFRAG_CHANGE, "POST", "api/v1/defrag/plans"),
    Row(DEFRAG_CHANGE, "POST", "api/v1/defrag/rules", body={"parallel": 3}),
    Row(DEFRAG_CHANGE, "POST", "api/v1/defrag/plans/<str:public_id>/approve"),
    Row(DEFRAG_CHANGE, "POST", "api/v1/defrag/plans/<str:public_id>/reject"),
    # hardware
    *_gets(HARDWARE, "heatmap/nodes/<str:node>/", "heatmap/devices/<str:public_id>/now"),
    *_gets(HARDWARE, "heatmap/devices/<str:public_id>/history/<str:chart>.json"),
    *_gets(HARDWARE, "heatmap/nodes/<str:node>/<int:index>/open", yes=302),
    *_gets(HARDWARE, "nodes/<str:public_id>/", "devices/<str:public_id>/"),
    *_gets(HARDWARE, "api/v1/nodes/<str:public_id>", "api/v1/devices/<str:public_id>"),
    Row(HARDWARE_CHANGE, "POST", "nodes/<str:public_id>/state", 302, _CORDON),
    Row(HARDWARE_CHANGE, "POST", "devices/<str:public_id>/state", 302, _CORDON),
    Row(HARDWARE_CHANGE, "POST", "devices/<str:public_id>/mig", 302),
    *(Row(HARDWARE_CHANGE, "POST", f"api/v1/nodes/<str:public_id>/{act}") for act in ("cordon", "uncordon", "drain")),
    *(Row(HARDWARE_CHANGE, "POST", f"{kind}/<str:public_id>/labels", 302, _LABEL_LINES) for kind in _LABELLED),
    *(Row(HARDWARE_CHANGE, "POST", f"api/v1/{kind}/<str:public_id>/labels", body=_LABELS) for kind in _LABELLED),
    # work
    *_gets(WORK, "jobs/<str:public_id>/", "jobs/<str:public_id>/log/", "jobs/<str:public_id>/log/<str:stream>/"),
    *_gets(WORK, "queues/<str:public_id>/", "api/v1/queues/<str:public_id>", "api/v1/allocations/<str:public_id>"),
    *_gets(WORK, "api/v1/jobs/<str:public_id>", "api/v1/jobs/<str:public_id>/timeline"),
    *_gets(WORK, "api/v1/jobs/<str:public_id>/decisions", "api/v1/jobs/<str:public_id>/replicas"),
    *_gets(WORK, "api/v1/jobs/<str:public_id>/logs"),
    *_gets(WORK, "decisions/<str:public_id>/", "api/v1/decisions/<str:public_id>"),
    *_gets(FLEET, "api/v1/decisions/<str:public_id>/replay"),
    Row(WORK_CHANGE, "POST", "jobs/<str:public_id>/<str:action>", 302),
    *(Row(WORK_CHANGE, "POST", f"api/v1/jobs/<str:public_id>/{act}") for act in ("cancel", "retry", "requeue")),
    Row(WORK_CHANGE, "POST", "api/v1/jobs/<str:public_id>/priority", body={"priority": 1}),
    Row(WORK_CHANGE, "POST", "api/v1/jobs/<str:public_id>/clone", 201, {"name": "walk-again"}),
    Row(QUEUE_CHANGE, "POST", "queues/<str:public_id>/state", 302, {"state": "held"}),
    *(Row(QUEUE_CHANGE, "POST", f"api/v1/queues/<str:public_id>/{act}") for act in ("hold", "release", "close")),
    Row(QUEUE_CHANGE, "GET", "queues/<str:public_id>/edit/"),
    Row(QUEUE_CHANGE, "POST", "queues/<str:public_id>/edit/", 302, {"limit_running_jobs": "5"}),
    Row(QUEUE_CHANGE, "POST", "api/v1/queues/<str:public_id>/edit", body={"limit_running_jobs": 5}),
    *_gets(WORK, "queues/<str:public_id>/trend.json"),
    *(Row(QUEUE_CHANGE, "POST", f"api/v1/{of}/<str:public_id>/budget", body={"hours": "5"}) for of in _BUDGETED),
    *(Row(QUEUE_CHANGE, "POST", f"api/v1/{of}/<str:public_id>/budget/lift", 409) for of in _BUDGETED),
    Row(QUEUE_MAKER, "GET", "queues/budgets/set/"),
    Row(QUEUE_MAKER, "POST", "queues/budgets/set/", 422, {"hours": "5"}),
    Row(SHARING_CHANGE, "GET", "queues/calendar/new/"),
    Row(SHARING_CHANGE, "POST", "queues/calendar/new/", 422, {"name": "walk"}),
    Row(RESERVE, "POST", "api/v1/reservations", 201, _RESERVATION, hidden=422),
    *_gets(WORK, "api/v1/reservations/<str:public_id>"),
    Row(QUEUE_CHANGE, "POST", "queues/calendar/<str:public_id>/cancel", 302),
    Row(QUEUE_CHANGE, "POST", "api/v1/reservations/<str:public_id>/cancel"),
    Row(SHARING_CHANGE, "GET", "queues/rules/"),
    Row(SHARING_CHANGE, "POST", "queues/rules/", 302, _RULES),
    Row(SHARING_CHANGE, "POST", "api/v1/sharing/rules", body={"cooldown_s": 60}),
    Row(SHARING_CHANGE, "POST", "api/v1/sharing/weights", body={"model": "H100-80GB", "hundredths": 250}),
    Row(QUEUE_CREATE, "POST", "api/v1/queues", 201, {"tenant": "aurora", "name": "walk"}, hidden=422),
    Row(QUEUE_MAKER, "GET", "queues/new/"),
    Row(QUEUE_CREATE, "POST", "queues/new/", 302, {"tenant": "aurora", "name": "walk"}, hidden=422),
    Row(SUBMITTER, "GET", "jobs/submit/"),
    Row(SUBMIT, "POST", "jobs/submit/", 302, _FORM, hidden=422),
    Row(SUBMIT, "POST", "jobs/submit/check/", 200, _FORM, hidden=200),  # a part of the form, with its errors in it
    Row(SUBMIT, "POST", "api/v1/jobs", 201, _JOB, hidden=422),
    Row(SUBMIT, "POST", "api/v1/jobs/dry-run", 200, _JOB, hidden=422),
    # money
    *_gets(MONEY, "billing/usage/", "billing/usage/export/", "billing/usage/chart/", "billing/usage/records/"),
    *_gets(MONEY, "billing/usage/records/export/", "billing/invoices/", "billing/invoices/export/"),
    *_gets(MONEY, "api/v1/usage", "api/v1/usage/summary", "api/v1/invoices"),
    *_gets(MONEY_OF_TENANT, "billing/invoices/<str:public_id>/", "billing/invoices/<str:public_id>/pdf"),
    *_gets(MONEY_OF_TENANT, "billing/invoices/<str:public_id>/export/"),
    *_gets(MONEY_OF_TENANT, "billing/invoices/<str:public_id>/lines/<str:line_id>/"),
    *_gets(MONEY_OF_TENANT, "billing/invoices/<str:public_id>/lines/<str:line_id>/export/"),
    *_gets(MONEY_OF_TENANT, "api/v1/invoices/<str:public_id>", "api/v1/invoices/<str:public_id>/lines"),
    *_gets(MONEY_OF_TENANT, "api/v1/invoices/<str:public_id>/pdf"),
    *_gets(MONEY_OF_ALL, "billing/usage/reconciliation/", "billing/usage/reconciliation/export/"),
    Row(MONEY_CHANGE, "POST", "billing/invoices/draft", 302, {"tenant": "aurora", "month": "2026-03"}),
    Row(MONEY_CHANGE, "POST", "billing/invoices/<str:public_id>/refresh", 302),
    Row(MONEY_CHANGE, "POST", "billing/invoices/<str:public_id>/issue", 302),
    Row(MONEY_CHANGE, "POST", "billing/invoices/<str:public_id>/settle", 302),
    Row(MONEY_CHANGE, "POST", "api/v1/invoices/<str:public_id>/settle", 409),  # a draft: nothing is open
    *_gets(MONEY, "billing/ledger/accounts/", "billing/ledger/accounts/export/", "api/v1/ledger/accounts"),
    *_gets(MONEY, "billing/ledger/postings/", "billing/ledger/postings/export/", "api/v1/ledger/postings"),
    *_gets(MONEY_OF_TENANT, "billing/ledger/accounts/<str:account_id>/"),
    *_gets(MONEY_OF_TENANT, "billing/ledger/accounts/<str:account_id>/export/"),
    *_gets(MONEY_OF_TENANT, "billing/ledger/postings/<str:posting_id>/", "api/v1/ledger/postings/<str:posting_id>"),
    *_gets(MONEY_OF_TENANT, "api/v1/ledger/accounts/<str:account_id>/entries"),
    *_gets(MONEY_OF_ALL, "billing/ledger/trial/", "billing/ledger/trial/export/", "api/v1/ledger/trial-balance"),
    Row(LEDGER_CHANGE, "POST", "billing/ledger/postings/", 302, _MOVE),
    Row(LEDGER_CHANGE, "POST", "api/v1/ledger/postings", 201, _MOVE),
    Row(MONEY_CHANGE, "POST", "billing/ledger/postings/<str:posting_id>/reverse", 302),
    Row(MONEY_CHANGE, "POST", "api/v1/ledger/postings/<str:posting_id>/reverse", 201),
    Row(PRICE_CHANGE, "POST", "billing/prices/", 302, _PRICE),
    Row(PRICE_CHANGE, "POST", "billing/prices/<str:public_id>/cancel", 302),
    # tenants, people and access
    *_gets(OWN, "tenants/"),
    Row(TENANT_CREATE, "GET", "tenants/new/"),
    Row(TENANT_CREATE, "POST", "tenants/new/", 302, _NEW_TENANT),
    *_gets(WORK, "tenants/<str:public_id>/", "tenants/<str:public_id>/people/"),
    *_gets(WORK, "tenants/<str:public_id>/projects/<str:project_id>/"),
    Row(TENANT_CHANGE, "POST", "tenants/<str:public_id>/state", 302, _SUSPEND),
    Row(TENANT_CHANGE, "POST", "tenants/<str:public_id>/quota", 200, {"cards": "4"}),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/people/invite", 200, _INVITE),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/people/<str:user_id>/role", 302, {"role": "billing"}),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/invitations/<str:invitation_id>/revoke", 302),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/projects/new", 302, {"slug": "walk", "name": "Walk"}),
    Row(
        PEOPLE_CHANGE,
        "POST",
        "tenants/<str:public_id>/projects/<str:project_id>/change",
        302,
        {"action": "rename", "name": "Walk"},
    ),
    *_gets(SERVICES, "tenants/<str:public_id>/services/"),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/services/", 302, {"name": "walk", "role": "member"}),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/services/token", 422, {"name": "walk"}),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/services/<str:account_id>/close", 302),
    Row(PEOPLE_CHANGE, "POST", "tenants/<str:public_id>/services/tokens/<str:token_id>/revoke", 302),
    *_gets(OPEN, "invitation/<str:token>/", yes=404),  # a link that was never given out
    Row(OPEN, "POST", "invitation/<str:token>/", 404),
    *_gets(OWN, "api/v1/tenants"),
    *_gets(WORK, "api/v1/tenants/<str:public_id>/members", "api/v1/tenants/<str:public_id>/invitations"),
    Row(PEOPLE_CHANGE, "POST", "api/v1/tenants/<str:public_id>/invitations", 201, {**_INVITE, "days": 7}),
    Row(PEOPLE_CHANGE, "POST", "api/v1/tenants/<str:public_id>/invitations/<str:invitation_id>/revoke"),
    Row(PEOPLE_CHANGE, "POST", "api/v1/tenants/<str:public_id>/projects", 201, {"slug": "walk", "name": "Walk"}),
    Row(PEOPLE_CHANGE, "POST", "api/v1/projects/<str:public_id>/limits", body=_LIMITS),
    *(Row(PEOPLE_CHANGE, "POST", f"api/v1/projects/<str:public_id>/{act}") for act in ("archive", "reopen")),
    *_gets(REVIEW, "access/"),
    *_gets(APPROVALS, "approvals/"),
    Row(APPROVE, "POST", "approvals/<str:public_id>/<str:verb>", 302),
    Row(HARDWARE_CHANGE, "POST", "sites/<str:public_id>/drain", 302, {"reason": "walk"}),
    # tokens and audit
    Row(TOKEN_REVOKE, "POST", "settings/tokens/<str:public_id>/revoke", 302),
    Row(TOKEN_REVOKE, "POST", "api/v1/tokens/<str:public_id>/revoke"),
    *_gets(AUDIT, "audit/"),
    *_gets(AUDIT_ENTRY, "audit/<str:public_id>/"),
]
ROUTES: Final[dict[str, set[str]]] = {row.route: {r.method for r in ROWS if r.route == row.route} for row in ROWS}

# allauth and Django answer these with their own pages whatever the method
FOREIGN: Final[tuple[str, ...]] = ("accounts/", "i18n/")
# routes that are asked for in their own tests: links with secrets in them, and the API's answer to the unknown
ELSEWHERE: Final[frozenset[str]] = frozenset(
    {
        r"accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        r"api/v1/^(?P<path>.*)$",
    }
)
