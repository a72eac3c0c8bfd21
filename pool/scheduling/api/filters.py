"""Filters of the lists of this room, as query parameters."""

from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers

from console.common.api.params import Filters
from pool.scheduling.models import Allocation, Job, JobState, Queue, ReplicaState
from pool.scheduling.models.allocation import Isolation
from pool.scheduling.queries import of_tenant


class States(serializers.CharField):
    """One state or several with commas: queued,running."""

    def to_internal_value(self, data: Any) -> list[str]:  # type: ignore[override]
        states = [state for state in str(data).split(",") if state]
        wrong = [state for state in states if state not in JobState.values]
        if wrong:
            raise serializers.ValidationError(f"{wrong[0][:40]!r} is not one of {', '.join(JobState.values)}")
        return states


class JobFilters(Filters):
    state = States(required=False, help_text="one of the states, or several with commas")
    tenant = serializers.CharField(required=False, max_length=64)
    project = serializers.CharField(required=False, max_length=64)
    queue = serializers.CharField(required=False, max_length=64)
    kind = serializers.ChoiceField(choices=Job.Kind.choices, required=False)
    text = serializers.CharField(required=False, max_length=120, help_text="part of the name, or the id")
    created_after = serializers.DateTimeField(required=False, help_text="at or after, ISO 8601 with a zone")
    created_before = serializers.DateTimeField(required=False, help_text="before, ISO 8601 with a zone")


class AllocationFilters(Filters):
    live = serializers.BooleanField(required=False, allow_null=True, default=None)
    tenant = serializers.CharField(required=False, max_length=64)
    job = serializers.CharField(required=False, max_length=40)
    node = serializers.CharField(required=False, max_length=120, help_text="name or id")
    device = serializers.CharField(required=False, max_length=40)
    isolation = serializers.ChoiceField(choices=Isolation.choices, required=False)


class QueueFilters(Filters):
    tenant = serializers.CharField(required=False, max_length=64)
    state = serializers.ChoiceField(choices=Queue.State.choices, required=False)


class ReplicaFilters(Filters):
    attempt = serializers.IntegerField(required=False, min_value=1, max_value=32767)
    state = serializers.ChoiceField(choices=ReplicaState.choices, required=False)


def narrow_jobs(rows: QuerySet[Job], wanted: dict[str, Any]) -> QuerySet[Job]:
    """Filters by slugs and names never look outside `rows`: another tenant's name narrows to nothing."""
    plain = {"project": "project__slug", "queue": "queue__name", "kind": "kind"}
    found = Q(**{column: wanted[name] for name, column in plain.items() if name in wanted})
    if "tenant" in wanted:
        found &= of_tenant(wanted["tenant"])
    if "state" in wanted:
        found &= Q(state__in=wanted["state"])
    if "text" in wanted:
        found &= Q(name__icontains=wanted["text"]) | Q(public_id=wanted["text"])
    if "created_after" in wanted:
        found &= Q(created_at__gte=wanted["created_after"])
    if "created_before" in wanted:
        found &= Q(created_at__lt=wanted["created_before"])
    return rows.filter(found)


def narrow_allocations(rows: QuerySet[Allocation], wanted: dict[str, Any]) -> QuerySet[Allocation]:
    plain = {"job": "job__public_id", "device": "device__public_id", "isolation": "isolation"}
    found = Q(**{column: wanted[name] for name, column in plain.items() if name in wanted})
    if "tenant" in wanted:
        found &= of_tenant(wanted["tenant"])
    if wanted.get("live") is not None:
        found &= Q(released_at__isnull=wanted["live"])
    if "node" in wanted:
        found &= Q(node__name=wanted["node"]) | Q(node__public_id=wanted["node"])
    return rows.filter(found)
