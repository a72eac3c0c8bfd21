import console.common.ids
import django.db.models.deletion
import functools
from django.db import migrations, models

from billing.invoices.triggers import install
from console.common.migrating import Hook, Together


class Migration(migrations.Migration):
    """All of before in one, for new databases: Django takes 36 ms to follow each small step."""

    replaces = [
        ('invoices', '0001_initial'),
        ('invoices', '0002_triggers'),
    ]

    initial = True

    dependencies = [
        ('catalog', '0001_initial'),
        ('metering', '0001_squashed_0003_slim_indexes'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        Together(
            migrations.CreateModel(
                name='InvoiceCounter',
                fields=[
                    ('year', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                    ('last', models.PositiveIntegerField(default=0)),
                ],
            ),
            migrations.CreateModel(
                name='Invoice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('inv',), **{}), editable=False, max_length=40, unique=True)),
                    ('month', models.DateField()),
                    ('state', models.CharField(choices=[('draft', 'Draft'), ('issued', 'Issued')], default='draft', max_length=8)),
                    ('revision', models.PositiveIntegerField(default=0)),
                    ('currency', models.CharField(max_length=3)),
                    ('total', models.DecimalField(decimal_places=3, default=0, max_digits=15)),
                    ('tenant_name', models.CharField(max_length=200)),
                    ('seller_name', models.CharField(max_length=200)),
                    ('time_zone', models.CharField(max_length=64)),
                    ('year', models.PositiveSmallIntegerField(null=True)),
                    ('number', models.PositiveIntegerField(null=True)),
                    ('built_at', models.DateTimeField()),
                    ('issued_at', models.DateTimeField(null=True)),
                    ('issued_by_label', models.CharField(blank=True, default='', max_length=200)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invoices', to='tenants.tenant')),
                ],
                options={
                    'indexes': [models.Index(fields=['tenant', '-id'], name='invoice_tenant_newest')],
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'month'), name='invoice_once_per_month'), models.UniqueConstraint(fields=('year', 'number'), name='invoice_number_once_per_year'), models.CheckConstraint(condition=models.Q(models.Q(('issued_at__isnull', True), ('number__isnull', True), ('state', 'draft'), ('year__isnull', True)), models.Q(('issued_at__isnull', False), ('number__gte', 1), ('state', 'issued'), ('year__isnull', False)), _connector='OR'), name='invoice_issued_has_number')],
                },
            ),
            migrations.CreateModel(
                name='BilledUsage',
                fields=[
                    ('record', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='billed', serialize=False, to='metering.usagerecord')),
                    ('invoice', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='billed_usage', to='invoices.invoice')),
                ],
            ),
            migrations.CreateModel(
                name='InvoiceLine',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('line',), **{}), editable=False, max_length=40, unique=True)),
                    ('position', models.PositiveIntegerField()),
                    ('project_name', models.CharField(max_length=200)),
                    ('model_name', models.CharField(max_length=64)),
                    ('isolation', models.CharField(choices=[('exclusive', 'Exclusive'), ('mig', 'MIG'), ('vgpu', 'vGPU')], max_length=12)),
                    ('unit_price', models.DecimalField(decimal_places=10, max_digits=15)),
                    ('held_microseconds', models.BigIntegerField()),
                    ('card_hours', models.DecimalField(decimal_places=6, max_digits=15)),
                    ('exact_amount', models.CharField(max_length=60)),
                    ('amount', models.DecimalField(decimal_places=3, max_digits=15)),
                    ('invoice', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='invoices.invoice')),
                    ('price', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.price')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.project')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('invoice', 'position'), name='line_position_once'), models.UniqueConstraint(fields=('invoice', 'project', 'model_name', 'isolation', 'price'), name='line_product_once')],
                },
            ),
        ),
        Hook(install, Hook.noop),
    ]
