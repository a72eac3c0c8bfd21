"""GPU-hours: what was used, hour by hour, and what may be used in a period."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class UseHour(models.Model):
    """What one queue and project held of cards of one model within one hour, in basis-point-seconds of a card.

    Made from intervals (services/use.py) and made again whenever one of that hour closes: never more than a copy.
    """

    queue = models.ForeignKey("scheduling.Queue", on_delete=models.CASCADE, related_name="+", db_index=False)
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, related_name="+", db_index=False)
    model_name = models.CharField(max_length=64)
    at = models.DateTimeField()  # start of the hour
    share_s = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["at", "queue", "project", "model_name"], name="use_hour_once"),
        ]

    def __str__(self) -> str:
        return f"{self.queue_id} {self.at:%F %H}"


class Budget(models.Model):
    """What a queue with all below it, or a project, may use in each period.

    In hours of the reference card: an hour of a card that weighs four times as much counts four. Periods begin by the
    tenant's own time zone.
    """

    class Period(models.TextChoices):
        DAY = "day", _("Day")
        WEEK = "week", _("Week")
        MONTH = "month", _("Month")

    class WhenSpent(models.TextChoices):
        ALL = "all", _("Hold all work")
        OVER_QUOTA = "over_quota", _("Hold work beyond the quota")
        NOTHING = "nothing", _("Only tell")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "bud"), editable=False)
    queue = models.OneToOneField("scheduling.Queue", null=True, on_delete=models.CASCADE, related_name="budget")
    project = models.OneToOneField("tenants.Project", null=True, on_delete=models.CASCADE, related_name="budget")
    hours = models.DecimalField(max_digits=12, decimal_places=2)
    period = models.CharField(max_length=8, choices=Period.choices, default=Period.MONTH)
    when_spent = models.CharField(max_length=12, choices=WhenSpent.choices, default=WhenSpent.ALL)
    warn_percent = models.PositiveSmallIntegerField(default=80)
    by_operator = models.BooleanField(default=False)  # then the owner of the tenant cannot lift it
    warned_for = models.DateTimeField(null=True)  # start of the period for which was warned
    spent_for = models.DateTimeField(null=True)  # and for which it was told that all is used

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(queue__isnull=False, project__isnull=True) | Q(queue__isnull=True, project__isnull=False),
                name="budget_of_queue_or_project",
            ),
            models.CheckConstraint(condition=Q(hours__gte=0), name="budget_not_negative"),
            models.CheckConstraint(condition=Q(warn_percent__gte=1, warn_percent__lte=100), name="budget_warns_within"),
        ]

    def __str__(self) -> str:
        return self.public_id
