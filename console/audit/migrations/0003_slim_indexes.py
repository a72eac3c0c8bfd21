"""Nobody asks for the beginning of an opaque id: PostgreSQL's index for that goes (docs/decisions/0014)."""

from django.db import migrations

from console.common.indexes import without_indexes


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_triggers")]
    operations = [without_indexes("audit", {"auditentry": []}, [])]
