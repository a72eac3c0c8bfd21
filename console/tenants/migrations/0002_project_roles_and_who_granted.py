import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='membership',
            name='granted_by',
            field=models.CharField(blank=True, default='', max_length=200),
        ),
        migrations.AddField(
            model_name='user',
            name='platform_role_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='user',
            name='platform_role_by',
            field=models.CharField(blank=True, default='', max_length=200),
        ),
        migrations.CreateModel(
            name='ProjectMembership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('admin', 'Project admin'), ('member', 'Project member'), ('viewer', 'Project viewer')], max_length=16)),
                ('granted_by', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('membership', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='project_roles', to='tenants.membership')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='roles', to='tenants.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('membership', 'project'), name='project_role_once')],
            },
        ),
    ]
