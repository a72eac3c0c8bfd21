"""What is held, and for how long. Triggers (migration 0002) keep the counters that refuse a double use."""

from functools import partial

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Isolation(models.TextChoices):
    EXCLUSIVE = "exclusive", _("Exclusive")
    MIG = "mig", _("MIG")
    VGPU = "vgpu", _("vGPU")
    HOST = "host", _("Host")  # CPU and memory of the node alone


class Allocation(models.Model):
    """A part of a device, or (device null) CPU and memory of a node alone, held by one replica.

    A replica's CPU and memory stand in the row of its first device: each row costs the database two changes more.
    Never edited but for `released_at`, which is set once.
    """

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "alc"), editable=False)
    replica = models.ForeignKey("scheduling.Replica", on_delete=models.PROTECT, related_name="allocations")
    # copies of what the replica leads to, which guards them (docs/decisions/0020)
    job = models.ForeignKey("scheduling.Job", on_delete=models.PROTECT, related_name="allocations", db_constraint=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+", db_constraint=False)
    node = models.ForeignKey(
        "inventory.Node", on_delete=models.PROTECT, related_name="allocations", db_index=False, db_constraint=False
    )
    device = models.ForeignKey("inventory.Device", null=True, on_delete=models.PROTECT, related_name="allocations")
    isolation = models.CharField(max_length=12, choices=Isolation.choices)
    share_bp = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveIntegerField(default=0)
    mig_profile = models.CharField(max_length=40, blank=True, default="")
    mig_start = models.SmallIntegerField(default=-1)
    mig_size = models.SmallIntegerField(default=0)
    cpu_milli = models.PositiveIntegerField(default=0)
    host_memory_mib = models.PositiveBigIntegerField(default=0)
    epoch = models.BigIntegerField()  # fence of the scheduler that gave it
    created_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(isolation="mig", mig_start__gte=0, mig_size__gt=0)
                | Q(~Q(isolation="mig"), mig_start=-1, mig_size=0),
                name="allocation_mig_has_placement",
            ),
            models.CheckConstraint(
                condition=Q(device__isnull=True, isolation="host", share_bp=0, memory_mib=0)
                | Q(device__isnull=False, share_bp__gt=0, share_bp__lte=10000, memory_mib__gt=0),
                name="allocation_device_or_host",
            ),
        ]
        indexes = [
            models.Index(fields=["node"], condition=Q(released_at__isnull=True), name="allocation_live_node"),
            models.Index(fields=["device"], condition=Q(released_at__isnull=True), name="allocation_live_device"),
            models.Index(fields=["tenant"], condition=Q(released_at__isnull=True), name="allocation_live_tenant"),
        ]

    def __str__(self) -> str:
        return self.public_id


class Interval(models.Model):
    """Time that a device allocation was held: append-only, closed once, with all that billing needs.

    A later change of a price attribute, project or queue cannot touch what was held before it.
    """

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "int"), editable=False)
    allocation = models.ForeignKey(Allocation, on_delete=models.PROTECT, related_name="intervals", db_index=False)
    number = models.PositiveSmallIntegerField(default=1)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=24, blank=True, default="")
    closed_at = models.DateTimeField(null=True, db_index=True)  # when the end became known
    # copies of what the allocation leads to, which guards them (docs/decisions/0020)
    job = models.ForeignKey("scheduling.Job", on_delete=models.PROTECT, related_name="+", db_constraint=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    project = models.ForeignKey(
        "tenants.Project", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    queue = models.ForeignKey(
        "scheduling.Queue", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    site = models.ForeignKey(
        "inventory.Site", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    device = models.ForeignKey(
        "inventory.Device", on_delete=models.PROTECT, related_name="intervals", db_index=False, db_constraint=False
    )
    model_name = models.CharField(max_length=64)
    vendor = models.CharField(max_length=32)
    isolation = models.CharField(max_length=12)
    share_bp = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    device_memory_mib = models.PositiveIntegerField()
    mig_profile = models.CharField(max_length=40, blank=True, default="")
    # exact shares: a 1g slice is 1/7 of the compute and 1/8 of the memory
    compute_num = models.PositiveIntegerField()
    compute_den = models.PositiveIntegerField()
    memory_num = models.PositiveIntegerField()
    memory_den = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["allocation", "number"], name="interval_once"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")),
                name="interval_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(compute_num__lte=F("compute_den"), compute_den__gt=0)
                & Q(memory_num__lte=F("memory_den"), memory_den__gt=0),
                name="interval_shares_at_most_one",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "started_at"], name="interval_tenant_start"),
            models.Index(fields=["device", "started_at"], name="interval_device_start"),
        ]

    def __str__(self) -> str:
        return self.public_id
