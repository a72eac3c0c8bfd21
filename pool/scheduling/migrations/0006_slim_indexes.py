"""An index that another begins with is not needed; writing it was (docs/decisions/0014)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from console.common.indexes import without_indexes

_LOSE: dict[str, list[str]] = {
    "allocation": ["node"],
    "attempt": ["job"],
    "decision": ["job"],
    "interval": ["allocation", "device", "project", "queue", "site", "tenant"],
    "job": ["queue", "tenant"],
    "jobevent": ["job"],
    "jobrole": ["job"],
    "nodecommand": ["node", "replica"],
    "replica": ["attempt", "node", "role"],
    "queue": [],
}


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0006_device_life"),
        ("scheduling", "0005_mig_mode"),
        ("tenants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(model_name="job", name="job_deadline"),
        without_indexes(
            "scheduling",
            _LOSE,
            [
                migrations.AlterField(
                    "allocation",
                    "node",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="allocations",
                        to="inventory.node",
                    ),
                ),
                migrations.AlterField(
                    "attempt",
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="scheduling.job",
                    ),
                ),
                migrations.AlterField(
                    "decision",
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="scheduling.job",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "allocation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intervals",
                        to="scheduling.allocation",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "device",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intervals",
                        to="inventory.device",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.project",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "queue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="scheduling.queue",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "site",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="inventory.site",
                    ),
                ),
                migrations.AlterField(
                    "interval",
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                migrations.AlterField(
                    "job",
                    "queue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="jobs",
                        to="scheduling.queue",
                    ),
                ),
                migrations.AlterField(
                    "job",
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="jobs",
                        to="tenants.tenant",
                    ),
                ),
                migrations.AlterField(
                    "jobevent",
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="scheduling.job",
                    ),
                ),
                migrations.AlterField(
                    "jobrole",
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="roles",
                        to="scheduling.job",
                    ),
                ),
                migrations.AlterField(
                    "nodecommand",
                    "node",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="commands",
                        to="inventory.node",
                    ),
                ),
                migrations.AlterField(
                    "nodecommand",
                    "replica",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="commands",
                        to="scheduling.replica",
                    ),
                ),
                migrations.AlterField(
                    "replica",
                    "attempt",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replicas",
                        to="scheduling.attempt",
                    ),
                ),
                migrations.AlterField(
                    "replica",
                    "node",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replicas",
                        to="inventory.node",
                    ),
                ),
                migrations.AlterField(
                    "replica",
                    "role",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="scheduling.jobrole",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("deadline_at__isnull", False)), fields=["deadline_at"], name="job_deadline"
            ),
        ),
    ]
