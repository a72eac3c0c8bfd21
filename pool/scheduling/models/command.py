"""The outbox of commands for nodes."""

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.common import ids


class NodeCommand(models.Model):
    """Outbox: written in the transaction that changed the state, carried out at least once, idempotent."""

    class Kind(models.TextChoices):
        START = "start", _("Start")
        STOP = "stop", _("Stop")

    class State(models.TextChoices):
        PENDING = "pending", _("Pending")
        SENT = "sent", _("Sent")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        OBSOLETE = "obsolete", _("Obsolete")  # the replica ended before it was carried out

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "cmd"), editable=False)
    # the replica's node, which that guards
    node = models.ForeignKey(
        "inventory.Node", on_delete=models.PROTECT, related_name="commands", db_index=False, db_constraint=False
    )
    replica = models.ForeignKey("scheduling.Replica", on_delete=models.CASCADE, related_name="commands", db_index=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    target = models.CharField(max_length=16, default="agent")
    payload = models.JSONField()
    epoch = models.BigIntegerField()  # fence of the scheduler that wrote it
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    claim = models.CharField(max_length=64, blank=True, default="")  # who is sending it
    claim_until = models.DateTimeField(null=True)
    sends = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    detail = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replica", "kind"], name="command_once_per_replica_and_kind")]
        indexes = [
            models.Index(
                fields=["node", "id"],
                condition=models.Q(state__in=["pending", "sent"]),
                name="command_open_by_node",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.replica_id} {self.state}"
