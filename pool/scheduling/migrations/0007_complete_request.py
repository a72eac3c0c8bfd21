from django.db import migrations, models

from console.common.triggers import set_aside

_before, _after = set_aside()
_REASONS = [
    ("cancel", "Cancelled by request"),
    ("expire", "Maximum duration reached"),
    ("deadline", "Deadline reached"),
    ("requeue", "Requeued by request"),
    ("gang", "A member of the gang ended"),
    ("preempt", "Preempted"),
]


class Migration(migrations.Migration):
    """The rest of the request model: where a job wants to stand, what its cards must be like, and when it may run."""

    dependencies = [("scheduling", "0006_slim_indexes")]

    operations = [
        _before,
        migrations.AddField("job", "wishes", models.JSONField(blank=True, default=dict)),
        migrations.AddField("job", "preempt_min_runtime", models.DurationField(blank=True, null=True)),
        migrations.AddField("job", "not_before", models.DateTimeField(null=True)),
        migrations.AddField("job", "finish_by", models.DateTimeField(null=True)),
        migrations.AddField("jobrole", "wishes", models.JSONField(blank=True, default=dict)),
        migrations.AlterField(
            "job", "stop_reason", models.CharField(blank=True, choices=_REASONS, default="", max_length=8)
        ),
        _after,
    ]
