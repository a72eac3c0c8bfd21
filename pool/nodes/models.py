"""Agents, how they get in, and what they report."""

from functools import partial

from django.db import models

from console.common import ids


class JoinToken(models.Model):
    """Lets an agent in. Only the SHA-256 is kept. `nodes_pattern` is a prefix of the node names it may join."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "join"), editable=False)
    digest = models.CharField(max_length=64, unique=True)
    site = models.ForeignKey("inventory.Site", on_delete=models.PROTECT, related_name="+")
    name_prefix = models.CharField(max_length=120, blank=True, default="")
    uses_left = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.public_id


class Agent(models.Model):
    """The agent of a node: its credential, its session and its last proof of life."""

    node = models.OneToOneField("inventory.Node", on_delete=models.CASCADE, related_name="agent")
    credential_digest = models.CharField(max_length=64)  # SHA-256 of what it was given when it joined
    version = models.CharField(max_length=32, blank=True, default="")
    driver = models.CharField(max_length=32, blank=True, default="")
    session = models.BigIntegerField(default=0)  # raised at each connection: late news of an old one is refused
    connected = models.BooleanField(default=False)
    # written in small batches, not with each report: Valkey has the exact time, this is the durable floor
    last_report_at = models.DateTimeField(null=True)
    joined_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"agent of {self.node_id}"


class Checkpoint(models.Model):
    """When a replica last saved its state, by the server's clock. A replica that never told so has no row."""

    replica = models.OneToOneField(
        "scheduling.Replica", on_delete=models.CASCADE, primary_key=True, related_name="checkpoint"
    )
    at = models.DateTimeField()
    told_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.replica_id} saved at {self.at}"


class LogChunk(models.Model):
    """A piece of a replica's output. Sent again after a cut, stored once: (replica, stream, offset) is unique."""

    replica = models.ForeignKey("scheduling.Replica", on_delete=models.CASCADE, related_name="log_chunks")
    stream = models.CharField(max_length=6)  # stdout, stderr
    offset = models.BigIntegerField()  # bytes from the start of the stream
    data = models.BinaryField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replica", "stream", "offset"], name="log_chunk_once")]

    def __str__(self) -> str:
        return f"{self.replica_id} {self.stream}@{self.offset}"


class NodeRollup(models.Model):
    """Telemetry of all devices of a node over one period, packed: one row instead of one a device.

    `payload`: little-endian uint16 [devices, 5]: utilisation (1/100 %), memory (1/100 %), temperature (1/10 °C),
    power (W), samples.
    """

    node = models.ForeignKey("inventory.Node", on_delete=models.CASCADE, related_name="rollups")
    period_s = models.PositiveIntegerField()
    starts_at = models.DateTimeField()
    payload = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "period_s", "starts_at"], name="rollup_once")]
        indexes = [models.Index(fields=["starts_at"], name="rollup_time")]

    def __str__(self) -> str:
        return f"{self.node_id} {self.starts_at}"


class PoolSample(models.Model):
    """The whole pool once a minute: what the overview's trends are drawn from. One small row, kept for months.

    Shares are basis points of a card; `utilisation_bp` and `memory_bp` are means over `reporting` devices.
    """

    at = models.DateTimeField(unique=True)  # start of the minute: a second writer of it changes nothing
    devices = models.PositiveIntegerField()
    reporting = models.PositiveIntegerField()
    share_bp = models.BigIntegerField()  # allocated, all devices together
    utilisation_bp = models.PositiveIntegerField(null=True)
    memory_bp = models.PositiveIntegerField(null=True)
    power_w = models.PositiveBigIntegerField(default=0)
    queued_jobs = models.PositiveIntegerField(default=0)
    running_jobs = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"pool at {self.at}"
