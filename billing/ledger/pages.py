"""The ledger: accounts and what they are made of, postings, the trial balance."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from billing.ledger import chart, filters, queries, services
from billing.ledger.files import ACCOUNTS, ENTRIES, POSTINGS, TRIAL, Side
from billing.ledger.forms import MoveForm
from billing.ledger.models import Account, Entry, Posting
from billing.metering.queries import may_see_money
from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.common.exports import export_response
from console.common.listing import Page, page_of
from console.common.signed_in import actor_of
from console.tenants.queries import tenant_for


def reader(request: HttpRequest) -> Actor:
    """The actor, or NotAllowed where it may read nobody's money."""
    actor = actor_of(request)
    if not may_see_money(actor):
        raise NotAllowed(_("the ledger is for owners and billing contacts of a tenant"))
    return actor


@require_GET
def accounts(request: HttpRequest) -> HttpResponse:
    """Filters: kind, tenant."""
    actor = reader(request)
    rows = filters.accounts(queries.accounts_for(actor), request.GET)
    context = {
        "tabs": filters.tabs(actor, "ledger_accounts"),
        "page": page_of(rows, request.GET, order=("tenant__slug", "pk")),
        "filters": filters.fields(actor, request.GET, list(Account.Kind.choices), pgettext("ledger", "Account")),
        "filtered": _filtered(request),
        "several": actor.sees_all_money or len(actor.tenants) > 1,
        "may_book": actor.is_finance,
    }
    return render(request, "billing/ledger_accounts.html", context)


@require_GET
def accounts_export(request: HttpRequest) -> HttpResponseBase:
    rows = filters.accounts(queries.accounts_for(reader(request)), request.GET).order_by("tenant__slug", "pk")
    return export_response(request.GET.get("format", "csv"), rows.iterator(chunk_size=1000), ACCOUNTS, "accounts")


@require_GET
def account(request: HttpRequest, account_id: str) -> HttpResponse:
    """What one account is made of, newest first, with what stood on it after each entry."""
    found = queries.account_for(reader(request), account_id)
    page = page_of(queries.statement(found), request.GET)
    context = {"account": found, "page": page, "sides": _with_balances(found, page)}
    return render(request, "billing/ledger_account.html", context)


@require_GET
def account_export(request: HttpRequest, account_id: str) -> HttpResponseBase:
    found = queries.account_for(reader(request), account_id)
    rows = queries.statement(found).iterator(chunk_size=1000)
    return export_response(
        request.GET.get("format", "csv"), rows, ENTRIES, f"statement-{found.tenant.slug}-{found.kind}"
    )


@require_http_methods(["GET", "POST"])
def postings(request: HttpRequest) -> HttpResponse:
    """Filters: kind, tenant, q (a part of the reference). POST books a movement."""
    actor = reader(request) if request.method == "GET" else _finance(request)
    form = MoveForm(actor, request.POST if request.method == "POST" else None) if actor.is_finance else None
    if request.method == "POST" and form is not None and form.is_valid() and (made := _move(actor, form)):
        messages.success(request, _("It is booked."))
        return redirect("billing:ledger_posting", made.public_id)
    rows = filters.postings(queries.postings_for(actor), request.GET)
    search = {"name": "q", "kind": "text", "label": _("Reference"), "value": filters.text(request.GET, "q")}
    context = {
        "tabs": filters.tabs(actor, "ledger_postings"),
        "page": page_of(rows, request.GET),
        "filters": [search, *filters.fields(actor, request.GET, list(Posting.Kind.choices), _("Kind"))],
        "filtered": _filtered(request),
        "several": actor.sees_all_money or len(actor.tenants) > 1,
        "form": form,
        "moves": [(Posting.Kind(kind).label, row) for kind, row in chart.MOVES.items()],
    }
    return render(request, "billing/ledger_postings.html", context, status=422 if form and form.errors else 200)


@require_GET
def postings_export(request: HttpRequest) -> HttpResponseBase:
    rows = filters.postings(queries.postings_for(reader(request)), request.GET).iterator(chunk_size=1000)
    return export_response(request.GET.get("format", "csv"), rows, POSTINGS, "postings")


@require_GET
def posting(request: HttpRequest, posting_id: str) -> HttpResponse:
    actor = reader(request)
    found = queries.posting_for(actor, posting_id)
    context = {
        "posting": found,
        "entries": queries.entries_of(found),
        "reversed_by": Posting.objects.filter(reverses=found).first(),
        "may_reverse": actor.is_finance and services.may_be_reversed(found),
        "shows_actor": actor.sees_all_money,
    }
    return render(request, "billing/ledger_posting.html", context)


@require_POST
def reverse(request: HttpRequest, posting_id: str) -> HttpResponse:
    """Books the opposite."""
    actor = reader(request)
    found = queries.posting_for(actor, posting_id)
    services.check_finance(actor)
    try:
        made = services.reverse(actor, found, filters.text(request.POST, "memo"))
    except Conflict as refusal:
        messages.warning(request, refusal.message)
        return redirect("billing:ledger_posting", found.public_id)
    messages.success(request, _("The posting is taken back by this one."))
    return redirect("billing:ledger_posting", made.public_id)


@require_GET
def trial(request: HttpRequest) -> HttpResponse:
    """Filters: tenant, last (a day, included). Sums of entries, and whether all that is kept twice agrees."""
    from billing.invoices import booking  # above this room: it knows invoices

    actor = _overseer(request)
    last = filters.day(request.GET)
    search = {"name": "last", "kind": "date", "label": _("To and including"), "value": last.isoformat() if last else ""}
    context = {
        "tabs": filters.tabs(actor, "ledger_trial"),
        "result": queries.trial_balance(filters.end_of(last), filters.tenant(actor, request.GET)),
        "faults": list(booking.quick_faults()),
        "filters": [search, *filters.tenant_field(actor, request.GET)],
        "filtered": _filtered(request),
    }
    return render(request, "billing/ledger_trial.html", context)


@require_GET
def trial_export(request: HttpRequest) -> HttpResponseBase:
    actor = _overseer(request)
    result = queries.trial_balance(filters.end_of(filters.day(request.GET)), filters.tenant(actor, request.GET))
    return export_response(request.GET.get("format", "csv"), result.rows, TRIAL, "trial-balance")


def _move(actor: Actor, form: MoveForm) -> Posting | None:
    given = form.cleaned_data
    tenant = tenant_for(actor, given["tenant"])
    try:
        return services.move(actor, tenant, given["kind"], given["amount"], given["reference"], given["memo"])
    except InvalidInput as refusal:
        for error in refusal.errors:
            form.add_error(error.field if error.field in form.fields else None, error.message)
    except Conflict as refusal:
        form.add_error("reference" if refusal.code == "posting_differs" else "amount", refusal.message)
    return None


def _with_balances(account: Account, page: Page[Entry]) -> list[Side]:
    """One query however many rows: what stood after the first of them, and from there down."""
    if not page.rows:
        return []
    stood = queries.balance_at(account, page.rows[0])
    sides = []
    for row in page.rows:
        sides.append(Side(row, chart.natural(account.kind, stood)))
        stood -= row.amount
    return sides


def _finance(request: HttpRequest) -> Actor:
    actor = actor_of(request)
    services.check_finance(actor)
    return actor


def _overseer(request: HttpRequest) -> Actor:
    actor = actor_of(request)
    if not actor.sees_all_money:
        raise NotAllowed(_("the books of all tenants are for finance, operators and auditors"))
    return actor


def _filtered(request: HttpRequest) -> bool:
    return any(filters.text(request.GET, name) for name in ("kind", "tenant", "q", "last"))
