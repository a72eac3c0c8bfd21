"""By which rules queues share the pool, what a card of each model counts, and how shares went."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class SharingRules(models.Model):
    """One row, of the whole pool. Times in seconds."""

    class ReclaimTo(models.TextChoices):
        FAIR_SHARE = "fair_share", _("Fair share")
        QUOTA = "quota", _("Quota")

    reclaim_to = models.CharField(max_length=12, choices=ReclaimTo.choices, default=ReclaimTo.FAIR_SHARE)
    cooldown_s = models.PositiveIntegerField(default=300)  # a job that was preempted is left alone for so long
    within_quota = models.BooleanField(default=False)  # work that cannot be preempted stays within its queue's quota
    # time-based shares: who used much in the window gets less of what is beyond the quotas; strength 0: off
    history_strength = models.PositiveSmallIntegerField(default=0)
    history_window_s = models.PositiveIntegerField(default=7 * 86_400)
    history_half_life_s = models.PositiveIntegerField(null=True)  # null: the whole window counts alike

    # reserved starts: a job of so many cards that waits so long (null: none does) gets one, so many at once
    starve_after_s = models.PositiveIntegerField(null=True, default=600)
    starve_cards = models.PositiveIntegerField(default=2)
    starve_most = models.PositiveIntegerField(default=4)
    # so long running work that nothing ends is taken to run; null: for ever, so that nobody's start waits for its end
    assumed_runtime_s = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(pk=1), name="sharing_rules_once"),
            models.CheckConstraint(
                condition=Q(history_window_s__gt=0)
                & (Q(history_half_life_s__isnull=True) | Q(history_half_life_s__gt=0)),
                name="sharing_history_above_zero",
            ),
        ]

    def __str__(self) -> str:
        return self.reclaim_to


class DeviceWeight(models.Model):
    """What a card of a model counts, in hundredths of the reference card; a model without a row counts 100."""

    model = models.OneToOneField("inventory.DeviceModel", on_delete=models.CASCADE, related_name="share_weight")
    hundredths = models.PositiveIntegerField(default=100)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(hundredths__gt=0), name="device_weight_above_zero")]

    def __str__(self) -> str:
        return f"{self.model_id} {self.hundredths}"


class QueueSample(models.Model):
    """What a queue held, wanted and was entitled to at a moment, in basis points of a reference card."""

    queue = models.ForeignKey("scheduling.Queue", on_delete=models.CASCADE, related_name="samples", db_index=False)
    at = models.DateTimeField()
    used_bp = models.BigIntegerField()
    wanted_bp = models.BigIntegerField()
    entitled_bp = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "at"], name="queue_sample_once")]
        indexes = [models.Index(fields=["at"], name="queue_sample_at")]

    def __str__(self) -> str:
        return f"{self.queue_id} {self.at:%F %T}"
