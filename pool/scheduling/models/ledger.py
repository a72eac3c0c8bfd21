"""What decisions were made on: a state of the pool now and then, and what changed since, in order."""

from django.db import models


class LedgerBase(models.Model):
    """The pool as one scheduler read it: the beginning of a chain. `content`: ledger/journal.py."""

    epoch = models.BigIntegerField()  # fence of the scheduler
    began_at = models.DateTimeField(db_index=True)
    engine = models.CharField(max_length=64)  # version of the engine that decides in this chain
    digest = models.CharField(max_length=32)
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.pk} from {self.began_at:%F %T}"


class LedgerSegment(models.Model):
    """Changes `first` to `first + count` of a chain, stored with the decisions that were made on them."""

    base = models.ForeignKey(LedgerBase, on_delete=models.CASCADE, related_name="segments", db_index=False)
    seq = models.PositiveIntegerField()
    first = models.BigIntegerField()
    count = models.PositiveIntegerField()
    digest = models.CharField(max_length=32)  # over the digest before it and `ops`: a chain
    ops = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["base", "seq"], name="ledger_segment_once")]

    def __str__(self) -> str:
        return f"{self.base_id}.{self.seq}"


class LedgerPlan(models.Model):
    """What a preemption was planned on, beyond the pool: shares, who ran, the rules, the time."""

    base = models.ForeignKey(LedgerBase, on_delete=models.CASCADE, related_name="plans", db_index=False)
    number = models.PositiveIntegerField()  # within the chain, from 0: who ran is told as changes since the one before
    preemption = models.OneToOneField("scheduling.Preemption", on_delete=models.CASCADE, related_name="ledger")
    digest = models.CharField(max_length=32)  # of the plan
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["base", "number"], name="ledger_plan_once")]

    def __str__(self) -> str:
        return f"{self.base_id} plan {self.number}"
