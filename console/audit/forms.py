"""Filters of the audit log, from the URL."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from console.audit.queries import EntryFilter

_TEXT = 200


class FilterForm(forms.Form):
    """Unusable values are errors that the page shows; the list is then empty, never unfiltered."""

    action = forms.CharField(required=False, max_length=_TEXT)
    actor = forms.CharField(required=False, max_length=_TEXT)
    obj = forms.CharField(required=False, max_length=_TEXT)
    result = forms.ChoiceField(
        required=False, choices=[("", ""), ("ok", "ok"), ("refused", "refused"), ("failed", "failed")]
    )
    request_id = forms.CharField(required=False, max_length=_TEXT)
    tenant = forms.CharField(required=False, max_length=_TEXT)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)

    def wanted(self, tenant_id: int | None) -> EntryFilter:
        given = self.cleaned_data
        return EntryFilter(
            action=given["action"],
            actor=given["actor"],
            obj=given["obj"],
            result=given["result"],
            request=given["request_id"],
            tenant_id=tenant_id,
            since=_start(given["since"]),
            # the day that was named is part of the range
            until=_start(given["until"], days=1),
        )


def _start(day: Any, days: int = 0) -> datetime | None:
    """Midnight of a day in the reader's zone, as UTC."""
    if day is None:
        return None
    local = datetime(day.year, day.month, day.day, tzinfo=timezone.get_current_timezone()) + timedelta(days=days)
    return local.astimezone(UTC)
