import console.common.ids
import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import functools
from django.conf import settings
from django.db import migrations, models

from console.common.migrating import Together


class Migration(migrations.Migration):
    """All of before in one, for new databases: docs/decisions/0025."""

    replaces = [
        ('tenants', '0001_initial'),
        ('tenants', '0002_project_roles_and_who_granted'),
        ('tenants', '0003_invitations'),
        ('tenants', '0004_service_accounts'),
        ('tenants', '0005_project_limits_and_archive'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        Together(
            migrations.CreateModel(
                name='User',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('password', models.CharField(max_length=128, verbose_name='password')),
                    ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                    ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                    ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                    ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                    ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                    ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                    ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                    ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('usr',), **{}), editable=False, max_length=40, unique=True)),
                    ('email', models.EmailField(max_length=254, unique=True, verbose_name='e-mail address')),
                    ('language', models.CharField(blank=True, default='', max_length=10)),
                    ('time_zone', models.CharField(blank=True, default='', max_length=64)),
                    ('theme', models.CharField(blank=True, default='', max_length=10)),
                    ('platform_role', models.CharField(blank=True, choices=[('operator', 'Operator'), ('finance', 'Finance officer'), ('auditor', 'Security auditor')], default='', max_length=16)),
                    ('platform_role_at', models.DateTimeField(blank=True, null=True)),
                    ('platform_role_by', models.CharField(blank=True, default='', max_length=200)),
                    ('kind', models.CharField(choices=[('person', 'Person'), ('service', 'Service account')], default='person', max_length=8)),
                    ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                    ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ],
                options={
                    'verbose_name': 'user',
                    'verbose_name_plural': 'users',
                    'abstract': False,
                },
                managers=[
                    ('objects', django.contrib.auth.models.UserManager()),
                ],
            ),
            migrations.CreateModel(
                name='SignInLink',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField()),
                    ('used_at', models.DateTimeField(blank=True, null=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.CreateModel(
                name='Tenant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('ten',), **{}), editable=False, max_length=40, unique=True)),
                    ('slug', models.SlugField(max_length=64, unique=True)),
                    ('name', models.CharField(max_length=200)),
                    ('currency', models.CharField(default='CNY', max_length=3)),
                    ('time_zone', models.CharField(default='Asia/Shanghai', max_length=64)),
                    ('trust_group', models.CharField(blank=True, default='', max_length=64)),
                    ('state', models.CharField(choices=[('active', 'Active'), ('suspended', 'Suspended'), ('closed', 'Closed')], default='active', max_length=16)),
                    ('limit_share_bp', models.BigIntegerField(blank=True, null=True)),
                    ('limit_running_jobs', models.PositiveIntegerField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('limit_share_bp__isnull', True), ('limit_share_bp__gte', 0), _connector='OR'), name='tenant_limit_share_not_negative')],
                },
            ),
            migrations.CreateModel(
                name='Project',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('prj',), **{}), editable=False, max_length=40, unique=True)),
                    ('slug', models.SlugField(max_length=64)),
                    ('name', models.CharField(max_length=200)),
                    ('limit_share_bp', models.BigIntegerField(blank=True, null=True)),
                    ('limit_running_jobs', models.PositiveIntegerField(blank=True, null=True)),
                    ('archived_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='tenants.tenant')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'slug'), name='project_slug_once_per_tenant'), models.CheckConstraint(condition=models.Q(('limit_share_bp__isnull', True), ('limit_share_bp__gte', 0), _connector='OR'), name='project_limit_share_not_negative')],
                },
            ),
            migrations.CreateModel(
                name='Membership',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('role', models.CharField(choices=[('owner', 'Owner'), ('member', 'Member'), ('viewer', 'Viewer'), ('billing', 'Billing contact')], max_length=16)),
                    ('granted_by', models.CharField(blank=True, default='', max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='tenants.tenant')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('user', 'tenant'), name='membership_once')],
                },
            ),
            migrations.CreateModel(
                name='Invitation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('inv',), **{}), editable=False, max_length=40, unique=True)),
                    ('email', models.EmailField(max_length=254)),
                    ('role', models.CharField(choices=[('owner', 'Owner'), ('member', 'Member'), ('viewer', 'Viewer'), ('billing', 'Billing contact')], max_length=16)),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('invited_by_label', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField()),
                    ('mailed_at', models.DateTimeField(blank=True, null=True)),
                    ('accepted_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('accepted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('invited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='tenants.tenant')),
                ],
            ),
            migrations.CreateModel(
                name='ApiToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('tok',), **{}), editable=False, max_length=40, unique=True)),
                    ('name', models.CharField(max_length=100)),
                    ('prefix', models.CharField(max_length=24)),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('scopes', models.JSONField(default=list)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('last_used_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                    ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ],
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
            migrations.CreateModel(
                name='ServiceAccount',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.CharField(default=functools.partial(console.common.ids.make, *('sva',), **{}), editable=False, max_length=40, unique=True)),
                    ('name', models.CharField(max_length=100)),
                    ('created_by', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('closed_at', models.DateTimeField(blank=True, null=True)),
                    ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='service_accounts', to='tenants.project')),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='service_account', to=settings.AUTH_USER_MODEL)),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='service_accounts', to='tenants.tenant')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='service_account_name_once')],
                },
            ),
        ),
    ]
