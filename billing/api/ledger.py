"""Accounts, postings and the trial balance."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from billing.api.usage import require_money
from billing.ledger import chart, files, queries, services
from billing.ledger.chart import MOVES
from billing.ledger.models import Account, Entry, Posting
from console.common.api import params
from console.common.api.views import ApiView, ListView, idempotent
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.tenants.queries import tenants_for


class AccountRow(serializers.ModelSerializer[Account]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    balance = serializers.SerializerMethodField(help_text="on the side on which the account grows")
    grows_by = serializers.SerializerMethodField(help_text="debit or credit")

    class Meta:
        model = Account
        fields = ["id", "tenant", "kind", "currency", "balance", "grows_by", "entries"]

    def get_balance(self, account: Account) -> str:
        return str(files.natural(account))

    def get_grows_by(self, account: Account) -> str:
        return "debit" if account.grows_by_debit else "credit"


class LedgerEntryRow(serializers.ModelSerializer[Entry]):
    posting = serializers.CharField(source="posting.public_id")
    account = serializers.CharField(source="account.public_id")
    kind = serializers.CharField(source="account.kind", help_text="of the account")
    amount = serializers.SerializerMethodField(help_text="debit positive, credit negative")

    class Meta:
        model = Entry
        fields = ["posting", "account", "kind", "amount"]

    def get_amount(self, entry: Entry) -> str:
        return str(chart.major(entry.amount, entry.account.currency))


class PostingRow(serializers.ModelSerializer[Posting]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    reverses = serializers.CharField(source="reverses.public_id", default=None, allow_null=True)
    about = serializers.CharField(source="about_id", help_text="such as the id of an invoice; empty: of nothing else")

    class Meta:
        model = Posting
        fields = ["id", "tenant", "kind", "currency", "at", "reference", "memo", "about", "reverses", "digest"]


class PostingDetail(PostingRow):
    entries = serializers.SerializerMethodField()

    class Meta(PostingRow.Meta):
        fields = [*PostingRow.Meta.fields, "entries"]

    @extend_schema_field(LedgerEntryRow(many=True))
    def get_entries(self, posting: Posting) -> Any:
        return LedgerEntryRow(queries.entries_of(posting), many=True).data


class MoveRequest(serializers.Serializer[Any]):
    tenant = serializers.CharField(max_length=64, help_text="slug")
    kind = serializers.ChoiceField(choices=[(kind, Posting.Kind(kind).label) for kind in MOVES])
    amount = serializers.DecimalField(15, 3, help_text="in the tenant's currency, more than nothing")
    reference = serializers.CharField(
        max_length=100,
        help_text="names the fact, such as a bank's number; the same again books nothing twice, for ever",
    )
    memo = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class ReverseRequest(serializers.Serializer[Any]):
    memo = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class AccountFilters(params.Filters):
    tenant = serializers.CharField(required=False, max_length=64)
    kind = serializers.ChoiceField(choices=Account.Kind.choices, required=False)


class PostingFilters(params.Filters):
    tenant = serializers.CharField(required=False, max_length=64)
    kind = serializers.ChoiceField(choices=Posting.Kind.choices, required=False)
    about = serializers.CharField(required=False, max_length=40, help_text="id of an invoice")


class TrialFilters(serializers.Serializer[Any]):
    tenant = serializers.CharField(required=False, max_length=64)
    before = serializers.DateTimeField(required=False, help_text="only what was booked before")


class TrialRow(serializers.Serializer[Any]):
    currency = serializers.CharField()
    kind = serializers.CharField()
    debits = serializers.SerializerMethodField()
    credits = serializers.SerializerMethodField()

    def get_debits(self, row: queries.TrialRow) -> str:
        return str(chart.major(row.debits, row.currency))

    def get_credits(self, row: queries.TrialRow) -> str:
        return str(chart.major(row.credits, row.currency))


class Trial(serializers.Serializer[Any]):
    holds = serializers.BooleanField(help_text="debits equal credits in each currency")
    rows = TrialRow(many=True)


class Accounts(ListView):
    """Accounts of your tenants, with what stands on them."""

    room = "billing"
    filters = AccountFilters
    row = AccountRow
    columns = files.ACCOUNTS
    file_name = "accounts"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Account]:
        require_money(self.actor)
        return _narrowed(queries.accounts_for(self.actor), wanted)


class AccountEntries(ListView):
    """What an account is made of, newest first."""

    room = "billing"
    filters = params.Filters
    row = LedgerEntryRow
    columns = files.ENTRIES
    file_name = "statement"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Entry]:
        require_money(self.actor)
        return queries.statement(queries.account_for(self.actor, self.kwargs["account_id"]))


class Postings(ListView):
    """Postings of your tenants, newest first."""

    room = "billing"
    filters = PostingFilters
    row = PostingRow
    columns = files.POSTINGS
    file_name = "postings"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Posting]:
        require_money(self.actor)
        rows = _narrowed(queries.postings_for(self.actor), wanted)
        return rows.filter(about_id=wanted["about"]) if "about" in wanted else rows

    @extend_schema(request=MoveRequest, responses={201: PostingDetail}, operation_id="ledger_postings_create")
    @idempotent
    def post(self, request: Request) -> Response:
        """Book a movement by hand. Finance; 409 (balance_too_low, posting_differs) where it cannot be."""
        services.check_finance(self.actor)
        given = params.body(MoveRequest, self.sent)
        tenant = tenants_for(self.actor).filter(slug=given.pop("tenant")).first()
        if tenant is None:
            raise InvalidInput([FieldError("tenant", "is not a tenant")])
        made = services.move(self.actor, tenant, **given)
        headers = {"Location": f"/api/v1/ledger/postings/{made.public_id}"}
        return Response(PostingDetail(made).data, status=201, headers=headers)


class PostingPage(ApiView):
    room = "billing"

    @extend_schema(responses={200: PostingDetail}, operation_id="ledger_posting")
    def get(self, request: Request, posting_id: str) -> Response:
        """One posting with its entries, which sum to zero."""
        require_money(self.actor)
        return Response(PostingDetail(queries.posting_for(self.actor, posting_id)).data)


class Reverse(ApiView):
    room = "billing"

    @extend_schema(request=ReverseRequest, responses={201: PostingDetail}, operation_id="ledger_reverse")
    @idempotent
    def post(self, request: Request, posting_id: str) -> Response:
        """Take a posting back by opposite entries. Finance; 409 where what it moved is spent."""
        require_money(self.actor)
        found = queries.posting_for(self.actor, posting_id)
        given = params.body(ReverseRequest, self.sent)
        made = services.reverse(self.actor, found, given["memo"])
        return Response(PostingDetail(made).data, status=201)


class TrialBalance(ApiView):
    room = "billing"

    @extend_schema(parameters=[TrialFilters], responses={200: Trial}, operation_id="ledger_trial_balance")
    def get(self, request: Request) -> Response:
        """Debits and credits of each account of the chart, summed from entries."""
        if not self.actor.sees_all_money:
            raise NotAllowed("the books of all tenants are for finance, operators and auditors")
        wanted = params.read(TrialFilters, request.query_params)
        tenant = None
        if "tenant" in wanted:
            tenant = tenants_for(self.actor).filter(slug=wanted["tenant"]).first()
            if tenant is None:
                raise InvalidInput([FieldError("tenant", "is not a tenant")])
        return Response(Trial(queries.trial_balance(wanted.get("before"), tenant)).data)


def _narrowed(rows: QuerySet[Any], wanted: dict[str, Any]) -> QuerySet[Any]:
    if "tenant" in wanted:
        rows = rows.filter(tenant__slug=wanted["tenant"])
    return rows.filter(kind=wanted["kind"]) if "kind" in wanted else rows
