"""Requests that a second person decides on."""

from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from console.common import clock, ids


class Approval(models.Model):
    """Something dangerous that one person asks for and another allows; carried out once, when it is approved."""

    class State(models.TextChoices):
        PENDING = "pending", _("Waits for a second person")
        EXECUTED = "executed", _("Approved and done")
        REFUSED = "refused", _("Refused")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        EXPIRED = "expired", _("Expired")
        FAILED = "failed", _("Approved, but could not be done")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "apr"), editable=False)
    kind = models.CharField(max_length=40)  # of console.approvals.actions
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=120)
    label = models.CharField(max_length=200)  # as people call the object
    tenant_id = models.BigIntegerField(null=True)
    arguments = models.JSONField(default=dict)
    reason = models.CharField(max_length=300)
    state = models.CharField(max_length=12, choices=State.choices, default=State.PENDING)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    requested_label = models.CharField(max_length=200)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_label = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=500, blank=True, default="")  # why it was refused, or could not be done

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "object_id"], condition=Q(state="pending"), name="approval_pending_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"

    @property
    def state_now(self) -> str:
        """One that nobody decided in time is expired, whether or not that was written down yet."""
        late = self.state == self.State.PENDING and self.expires_at <= clock.now()
        return str(self.State.EXPIRED if late else self.state)

    @property
    def state_word(self) -> str:
        return str(self.State(self.state_now).label)
