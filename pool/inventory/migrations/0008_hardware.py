from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inventory", "0007_node_name_key")]
    operations = [
        migrations.CreateModel(
            name="Hardware",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("version", models.BigIntegerField(default=1)),
            ],
        ),
    ]
