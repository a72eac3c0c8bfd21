"""Queues: what a tenant's work waits in, and by which rules they share the pool."""

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Queue(models.Model):
    """Limits count compute share held at once, in basis points of a card; null: none.

    Quota, limit and lending limit of the other resources: null leaves a quota to be as large a part of the pool as
    that of cards, and a limit unset. What they mean: docs/decisions/0012-sharing-and-preemption.md.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        HELD = "held", _("Held")  # takes jobs, starts none
        CLOSED = "closed", _("Closed")  # takes none

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "que"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="queues")
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    name = models.SlugField(max_length=64)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    priority = models.SmallIntegerField(default=0)
    quota_share_bp = models.BigIntegerField(default=0)
    limit_share_bp = models.BigIntegerField(null=True, blank=True)
    limit_running_jobs = models.PositiveIntegerField(null=True, blank=True)
    over_quota_weight = models.DecimalField(max_digits=8, decimal_places=3, default=1)
    lending_limit_bp = models.BigIntegerField(null=True, blank=True)
    quota_gpu_memory_mib = models.BigIntegerField(null=True, blank=True)
    quota_cpu_milli = models.BigIntegerField(null=True, blank=True)
    quota_memory_mib = models.BigIntegerField(null=True, blank=True)
    limit_gpu_memory_mib = models.BigIntegerField(null=True, blank=True)
    limit_cpu_milli = models.BigIntegerField(null=True, blank=True)
    limit_memory_mib = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="queue_once_per_tenant")]

    def __str__(self) -> str:
        return self.name
