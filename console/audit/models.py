"""The hash-chained audit log. One chain a writer: a single global head would serialise all writers."""

from functools import partial

from django.db import models

from console.common import ids


class AuditChain(models.Model):
    """Head of one writer's chain; advanced by a conditional UPDATE in the writer's own transaction."""

    chain_id = models.CharField(max_length=64, primary_key=True)
    seq = models.BigIntegerField(default=0)
    head = models.CharField(max_length=64, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.chain_id


class AuditEntry(models.Model):
    """Append-only. `text` is the canonical JSON that was hashed; the columns repeat it for searching."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "aud"), editable=False)
    chain_id = models.CharField(max_length=64)
    seq = models.BigIntegerField()
    at = models.DateTimeField(db_index=True)
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=80)
    actor_label = models.CharField(max_length=200)
    via = models.CharField(max_length=120, blank=True, default="")
    tenant_id = models.BigIntegerField(null=True)  # no foreign key: the log outlives what it tells of
    action = models.CharField(max_length=80)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=80)
    result = models.CharField(max_length=16, default="ok")
    request_id = models.CharField(max_length=64, blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    text = models.TextField()
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain_id", "seq"], name="audit_seq_once_per_chain")]
        indexes = [
            models.Index(fields=["tenant_id", "-at"], name="audit_tenant_at"),
            models.Index(fields=["object_id", "-at"], name="audit_object_at"),
        ]

    def __str__(self) -> str:
        return f"{self.chain_id}#{self.seq} {self.action}"
