"""Budgets of GPU-hours."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api import params
from console.common.api.views import ApiView, idempotent
from console.common.errors import Conflict
from console.tenants.models import Project
from pool.scheduling import queries, services
from pool.scheduling.models import Budget, Queue
from pool.scheduling.sharing import budget_queries as budgets


class BudgetRequest(serializers.Serializer[Any]):
    """What is not named stays; the first time `hours` must be named."""

    hours = serializers.DecimalField(
        12, 2, required=False, default=Decimal(0), help_text="of the reference card, in each period"
    )
    period = serializers.ChoiceField(
        choices=Budget.Period.choices, required=False, help_text="begins by the tenant's time zone"
    )
    when_spent = serializers.ChoiceField(
        choices=Budget.WhenSpent.choices, required=False, help_text="what is held back once it is used up"
    )
    warn_percent = serializers.IntegerField(required=False, help_text="1 to 100: told when so much of it is used")


class BudgetRow(serializers.Serializer[Any]):
    """`used_h`: really held; `reserved_h`: what running jobs may still use until their time is over."""

    id = serializers.CharField(source="budget.public_id")
    queue = serializers.CharField(source="budget.queue.public_id", default=None, allow_null=True)
    project = serializers.CharField(source="budget.project.public_id", default=None, allow_null=True)
    tenant = serializers.CharField(source="owner.tenant.slug")
    hours = serializers.FloatField(source="most_h")
    period = serializers.CharField(source="budget.period")
    starts_at = serializers.DateTimeField(source="account.start")
    ends_at = serializers.DateTimeField(source="account.end")
    used_h = serializers.FloatField()
    reserved_h = serializers.FloatField()
    left_h = serializers.FloatField()
    state = serializers.CharField(help_text="within, near or spent")
    when_spent = serializers.CharField(source="budget.when_spent")
    warn_percent = serializers.IntegerField(source="budget.warn_percent")
    by_operator = serializers.BooleanField(source="budget.by_operator")


class Budgets(ApiView):
    room = "jobs"

    @extend_schema(responses={200: BudgetRow(many=True)}, operation_id="budgets")
    def get(self, request: Request) -> Response:
        """GPU-hour budgets of the queues and projects that you may see, with what is used of them."""
        return Response(BudgetRow(budgets.budgets_for(self.actor), many=True).data)


class _Set(ApiView):
    room = "jobs"

    def change(self, owner: Queue | Project) -> Response:
        given = params.body(BudgetRequest, self.sent)
        services.set_budget(self.actor, owner, {name: value for name, value in given.items() if name in self.sent})
        return Response(BudgetRow(budgets.budget_of(self.actor, owner)).data)

    def lift(self, owner: Queue | Project) -> Response:
        if not services.lift_budget(self.actor, owner):
            raise Conflict(_("it has no budget"), code="no_budget")
        return Response(status=204)


class OfQueue(_Set):
    @extend_schema(request=BudgetRequest, responses={200: BudgetRow}, operation_id="queues_budget_set")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Set the budget of a queue with all below it. Operators; owners, where no operator has set one."""
        return self.change(queries.queue_for(self.actor, public_id))


class OfProject(_Set):
    @extend_schema(request=BudgetRequest, responses={200: BudgetRow}, operation_id="projects_budget_set")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Set the budget of a project. Operators; owners, where no operator has set one."""
        return self.change(budgets.project_for(self.actor, public_id))


class LiftOfQueue(_Set):
    @extend_schema(request=None, responses={204: None}, operation_id="queues_budget_lift")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Lift the budget of a queue."""
        return self.lift(queries.queue_for(self.actor, public_id))


class LiftOfProject(_Set):
    @extend_schema(request=None, responses={204: None}, operation_id="projects_budget_lift")
    @idempotent
    def post(self, request: Request, public_id: str) -> Response:
        """Lift the budget of a project."""
        return self.lift(budgets.project_for(self.actor, public_id))
