"""Facts about hardware: site > pod > switch > rack > node > NVLink island > device."""

from functools import partial

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from console.common import clock, ids
from pool.inventory.naming import NaturalKey


class Site(models.Model):
    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "site"), editable=False)
    name = models.CharField(max_length=64, unique=True)
    provider = models.CharField(max_length=64, default="own")
    residency = models.CharField(max_length=2, default="CN")  # ISO 3166-1: the law that data there is under
    fabric = models.CharField(max_length=64, blank=True, default="")  # NDR200, RoCE v2 ...

    def __str__(self) -> str:
        return self.name


class Domain(models.Model):
    """A topology domain between site and node: pod, switch or rack."""

    class Kind(models.TextChoices):
        POD = "pod", _("Pod")
        SWITCH = "switch", _("Switch")
        RACK = "rack", _("Rack")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "dom"), editable=False)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="domains")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=64)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "kind", "name"], name="domain_once_per_site")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class DeviceModel(models.Model):
    vendor = models.CharField(max_length=32, default="nvidia")
    name = models.CharField(max_length=64, unique=True)  # H100-80GB, T4 ...
    memory_mib = models.PositiveIntegerField()
    mig_family = models.CharField(max_length=64, blank=True, default="")  # key of pool.engine.mig_tables
    # what a card of this model is worth against others: fair shares of mixed fleets compare by it
    weight = models.DecimalField(max_digits=10, decimal_places=4, default=1)
    power_limit_w = models.PositiveIntegerField(default=300)

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    class State(models.TextChoices):
        READY = "ready", _("Ready")
        CORDONED = "cordoned", _("Cordoned")
        DRAINING = "draining", _("Draining")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "node"), editable=False)
    name = models.CharField(max_length=120, unique=True)
    name_key = NaturalKey(source="name")  # what lists order by
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="nodes")
    pod = models.ForeignKey(Domain, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    switch = models.ForeignKey(Domain, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    rack = models.ForeignKey(Domain, null=True, blank=True, on_delete=models.PROTECT, related_name="nodes")
    cpu_milli = models.PositiveIntegerField()
    memory_mib = models.PositiveBigIntegerField()
    labels = models.JSONField(default=dict, blank=True)
    backend = models.CharField(max_length=16, default="agent")  # where commands for it go
    state = models.CharField(max_length=16, choices=State.choices, default=State.READY)
    reachable = models.BooleanField(default=False)  # an agent reported lately; set by the node room
    created_at = models.DateTimeField(auto_now_add=True)
    # kept by triggers on allocations; the CHECK is what refuses a double use
    used_cpu_milli = models.BigIntegerField(default=0)
    used_memory_mib = models.BigIntegerField(default=0)
    # raised by triggers on every change that placement must know of
    version = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(used_cpu_milli__gte=0, used_cpu_milli__lte=models.F("cpu_milli")),
                name="node_cpu_not_oversold",
            ),
            models.CheckConstraint(
                condition=models.Q(used_memory_mib__gte=0, used_memory_mib__lte=models.F("memory_mib")),
                name="node_memory_not_oversold",
            ),
        ]
        indexes = [models.Index(fields=["name_key", "id"], name="node_by_name")]

    def __str__(self) -> str:
        return self.name


class Device(models.Model):
    class State(models.TextChoices):
        READY = "ready", _("Ready")
        CORDONED = "cordoned", _("Cordoned")
        FAULTY = "faulty", _("Fault")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "dev"), editable=False)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="devices")
    index = models.PositiveSmallIntegerField()
    uuid = models.CharField(max_length=80, unique=True)
    model = models.ForeignKey(DeviceModel, on_delete=models.PROTECT, related_name="devices")
    memory_mib = models.PositiveIntegerField()
    mig_enabled = models.BooleanField(default=False)
    nvlink_island = models.SmallIntegerField(default=-1)  # -1: none; equal numbers on a node are one island
    numa_node = models.SmallIntegerField(default=-1)
    pci_address = models.CharField(max_length=32, blank=True, default="")
    labels = models.JSONField(default=dict, blank=True)  # beside those of its node, and before them
    state = models.CharField(max_length=16, choices=State.choices, default=State.READY)
    state_reason = models.CharField(max_length=200, blank=True, default="")
    # its life in the pool: capacity counts from the first until the second. A row is never deleted: its past was
    # capacity. A card that comes back has retired_at None again; the time between is an Outage of kind "retired"
    added_at = models.DateTimeField(default=clock.now, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)
    # kept by triggers; the CHECKs refuse a double use against any writer
    used_share_bp = models.IntegerField(default=0)
    used_memory_mib = models.IntegerField(default=0)
    live_shared = models.IntegerField(default=0)  # allocations by exclusive or vgpu
    live_mig = models.IntegerField(default=0)  # allocations by MIG slice
    mig_slots = models.IntegerField(default=0)  # bit i: memory slot i is held

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "index"], name="device_index_once_per_node"),
            models.CheckConstraint(
                condition=models.Q(retired_at__isnull=True) | models.Q(state="faulty"), name="device_retired_unusable"
            ),
            models.CheckConstraint(
                condition=models.Q(used_share_bp__gte=0, used_share_bp__lte=10000),
                name="device_share_not_oversold",
            ),
            models.CheckConstraint(
                condition=models.Q(used_memory_mib__gte=0, used_memory_mib__lte=models.F("memory_mib")),
                name="device_memory_not_oversold",
            ),
            models.CheckConstraint(
                condition=models.Q(live_shared=0) | models.Q(live_mig=0), name="device_not_mig_and_shared"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id}/{self.index}"


class Hardware(models.Model):
    """One row, or none: its version rises with each change of what hardware there is, whatever state it is in.

    Submissions read it along with their queue, and so are judged by the hardware of now.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.BigIntegerField(default=1)

    def __str__(self) -> str:
        return f"hardware {self.version}"


class Outage(models.Model):
    """Time in which a node, or one card, could take no new work, and why. Append-only: it begins, and ends once.

    Written with the change of state itself (services/history.py), never with a report; I3 needs it.
    """

    class Kind(models.TextChoices):
        UNREACHABLE = "unreachable", _("Unreachable")  # from the node's last proof of life
        FAULTY = "faulty", _("Fault")
        CORDONED = "cordoned", _("Cordoned")
        DRAINING = "draining", _("Draining")
        RETIRED = "retired", _("Retired")  # the card is not in the node: no capacity at all

    # one of the two: what is said of a node holds for every card in it
    node = models.ForeignKey(Node, null=True, on_delete=models.PROTECT, related_name="outages")
    device = models.ForeignKey(Device, null=True, on_delete=models.PROTECT, related_name="outages")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    reason = models.CharField(max_length=200, blank=True, default="")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(node__isnull=False, device__isnull=True, kind__in=("unreachable", "cordoned", "draining"))
                | Q(node__isnull=True, device__isnull=False, kind__in=("faulty", "cordoned", "retired")),
                name="outage_of_node_or_device",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")), name="outage_not_negative"
            ),
            models.UniqueConstraint(
                fields=["node", "kind"], condition=Q(ended_at__isnull=True), name="outage_open_once_per_node"
            ),
            models.UniqueConstraint(
                fields=["device", "kind"], condition=Q(ended_at__isnull=True), name="outage_open_once_per_device"
            ),
        ]
        indexes = [models.Index(fields=["started_at"], name="outage_start")]

    def __str__(self) -> str:
        return f"{self.kind} from {self.started_at}"


class Link(models.Model):
    """A connection between two devices of a node."""

    a = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    b = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16)  # nvlink, pcie
    bandwidth_gbs = models.PositiveIntegerField(default=0)  # GB/s, one way

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["a", "b"], name="link_once"),
            models.CheckConstraint(condition=models.Q(a__lt=models.F("b")), name="link_ordered"),
        ]

    def __str__(self) -> str:
        return f"{self.a_id}-{self.b_id} {self.kind}"
