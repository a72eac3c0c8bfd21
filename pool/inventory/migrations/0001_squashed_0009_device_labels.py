import console.common.clock
import console.common.ids
import django.db.models.deletion
import functools
import pool.inventory.naming
from django.db import migrations, models

from console.common.migrating import Hook, Together
from pool.inventory.triggers import install, install_labels, install_outages


class Migration(migrations.Migration):
    """All of before in one, for new databases: Django takes 36 ms to follow each small step."""

    replaces = [
        ('inventory', '0001_initial'),
        ('inventory', '0002_triggers'),
        ('inventory', '0003_outage'),
        ('inventory', '0004_outage_history'),
        ('inventory', '0005_mig_mode'),
        ('inventory', '0006_device_life'),
        ('inventory', '0007_node_name_key'),
        ('inventory', '0008_hardware'),
        ('inventory', '0009_device_labels'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        Together(
            migrations.CreateModel(
                name='DeviceModel',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('vendor', models.CharField(default='nvidia', max_length=32)),
                    ('name', models.CharField(max_length=64, unique=True)),
                    ('memory_mib', models.PositiveIntegerField()),
                    ('mig_family', models.CharField(blank=True, default='', max_length=64)),
                    ('weight', models.DecimalField(decimal_places=4, default=1, max_digits=10)),
                    ('power_limit_w', models.PositiveIntegerField(default=300)),
                ],
            ),
            migrations.CreateModel(
                name='Hardware',
                fields=[
                    ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                    ('version', models.BigIntegerField(default=1)),
                ],
            ),
            migrations.CreateModel(
                name='Site',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('site',), **{}), editable=False, max_length=40, unique=True)),
                    ('name', models.CharField(max_length=64, unique=True)),
                    ('provider', models.CharField(default='own', max_length=64)),
                    ('residency', models.CharField(default='CN', max_length=2)),
                    ('fabric', models.CharField(blank=True, default='', max_length=64)),
                ],
            ),
            migrations.CreateModel(
                name='Domain',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('dom',), **{}), editable=False, max_length=40, unique=True)),
                    ('kind', models.CharField(choices=[('pod', 'Pod'), ('switch', 'Switch'), ('rack', 'Rack')], max_length=8)),
                    ('name', models.CharField(max_length=64)),
                    ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='inventory.domain')),
                    ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='domains', to='inventory.site')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('site', 'kind', 'name'), name='domain_once_per_site')],
                },
            ),
            migrations.CreateModel(
                name='Node',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('node',), **{}), editable=False, max_length=40, unique=True)),
                    ('name', models.CharField(max_length=120, unique=True)),
                    ('name_key', pool.inventory.naming.NaturalKey(default='', editable=False, source='name')),
                    ('cpu_milli', models.PositiveIntegerField()),
                    ('memory_mib', models.PositiveBigIntegerField()),
                    ('labels', models.JSONField(blank=True, default=dict)),
                    ('backend', models.CharField(default='agent', max_length=16)),
                    ('state', models.CharField(choices=[('ready', 'Ready'), ('cordoned', 'Cordoned'), ('draining', 'Draining')], default='ready', max_length=16)),
                    ('reachable', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('used_cpu_milli', models.BigIntegerField(default=0)),
                    ('used_memory_mib', models.BigIntegerField(default=0)),
                    ('version', models.BigIntegerField(default=0)),
                    ('pod', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inventory.domain')),
                    ('rack', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='inventory.domain')),
                    ('switch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inventory.domain')),
                    ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='inventory.site')),
                ],
                options={
                    'indexes': [models.Index(fields=['name_key', 'id'], name='node_by_name')],
                    'constraints': [models.CheckConstraint(condition=models.Q(('used_cpu_milli__gte', 0), ('used_cpu_milli__lte', models.F('cpu_milli'))), name='node_cpu_not_oversold'), models.CheckConstraint(condition=models.Q(('used_memory_mib__gte', 0), ('used_memory_mib__lte', models.F('memory_mib'))), name='node_memory_not_oversold')],
                },
            ),
            migrations.CreateModel(
                name='Device',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('dev',), **{}), editable=False, max_length=40, unique=True)),
                    ('index', models.PositiveSmallIntegerField()),
                    ('uuid', models.CharField(max_length=80, unique=True)),
                    ('memory_mib', models.PositiveIntegerField()),
                    ('mig_enabled', models.BooleanField(default=False)),
                    ('nvlink_island', models.SmallIntegerField(default=-1)),
                    ('numa_node', models.SmallIntegerField(default=-1)),
                    ('pci_address', models.CharField(blank=True, default='', max_length=32)),
                    ('labels', models.JSONField(blank=True, default=dict)),
                    ('state', models.CharField(choices=[('ready', 'Ready'), ('cordoned', 'Cordoned'), ('faulty', 'Fault')], default='ready', max_length=16)),
                    ('state_reason', models.CharField(blank=True, default='', max_length=200)),
                    ('added_at', models.DateTimeField(default=console.common.clock.now, editable=False)),
                    ('retired_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('used_share_bp', models.IntegerField(default=0)),
                    ('used_memory_mib', models.IntegerField(default=0)),
                    ('live_shared', models.IntegerField(default=0)),
                    ('live_mig', models.IntegerField(default=0)),
                    ('mig_slots', models.IntegerField(default=0)),
                    ('model', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='devices', to='inventory.devicemodel')),
                    ('node', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='devices', to='inventory.node')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('node', 'index'), name='device_index_once_per_node'), models.CheckConstraint(condition=models.Q(('retired_at__isnull', True), ('state', 'faulty'), _connector='OR'), name='device_retired_unusable'), models.CheckConstraint(condition=models.Q(('used_share_bp__gte', 0), ('used_share_bp__lte', 10000)), name='device_share_not_oversold'), models.CheckConstraint(condition=models.Q(('used_memory_mib__gte', 0), ('used_memory_mib__lte', models.F('memory_mib'))), name='device_memory_not_oversold'), models.CheckConstraint(condition=models.Q(('live_shared', 0), ('live_mig', 0), _connector='OR'), name='device_not_mig_and_shared')],
                },
            ),
            migrations.CreateModel(
                name='Outage',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('unreachable', 'Unreachable'), ('faulty', 'Fault'), ('cordoned', 'Cordoned'), ('draining', 'Draining'), ('retired', 'Retired')], max_length=12)),
                    ('reason', models.CharField(blank=True, default='', max_length=200)),
                    ('started_at', models.DateTimeField()),
                    ('ended_at', models.DateTimeField(null=True)),
                    ('device', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='outages', to='inventory.device')),
                    ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='outages', to='inventory.node')),
                ],
                options={
                    'indexes': [models.Index(fields=['started_at'], name='outage_start')],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('device__isnull', True), ('kind__in', ('unreachable', 'cordoned', 'draining')), ('node__isnull', False)), models.Q(('device__isnull', False), ('kind__in', ('faulty', 'cordoned', 'retired')), ('node__isnull', True)), _connector='OR'), name='outage_of_node_or_device'), models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), ('ended_at__gte', models.F('started_at')), _connector='OR'), name='outage_not_negative'), models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('node', 'kind'), name='outage_open_once_per_node'), models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('device', 'kind'), name='outage_open_once_per_device')],
                },
            ),
            migrations.CreateModel(
                name='Link',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(max_length=16)),
                    ('bandwidth_gbs', models.PositiveIntegerField(default=0)),
                    ('a', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='inventory.device')),
                    ('b', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='inventory.device')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('a', 'b'), name='link_once'), models.CheckConstraint(condition=models.Q(('a__lt', models.F('b'))), name='link_ordered')],
                },
            ),
        ),
        Hook(install, Hook.noop),
        Hook(install_outages, Hook.noop),
        Hook(install_labels, Hook.noop),
    ]
