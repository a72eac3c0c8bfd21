"""Rows that the shared furniture itself needs."""

from django.db import models


class IdempotencyKey(models.Model):
    """IETF Idempotency-Key draft-07: one stored answer per caller and key."""

    caller = models.CharField(max_length=120)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)  # SHA-256 of method, path and body
    status = models.PositiveSmallIntegerField(null=True)  # null: the first request is still running
    body = models.BinaryField(default=b"")
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return f"{self.caller} {self.key}"


class Lease(models.Model):
    """A named lease with a fencing epoch: whoever holds it may act, and each take-over raises the epoch."""

    name = models.CharField(max_length=80, primary_key=True)
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=120, blank=True, default="")
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name}@{self.epoch}"


class PeriodicRun(models.Model):
    """When beat last sent a periodic task, so that a new leader neither skips nor repeats one."""

    name = models.CharField(max_length=120, primary_key=True)
    last_run_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
