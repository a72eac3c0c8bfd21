"""People, tenants, projects, roles, invitations, service accounts and API tokens."""

from functools import partial

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.common import ids


class User(AbstractUser):
    """Signs in by e-mail through allauth. The user name is internal."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "usr"), editable=False)
    email = models.EmailField(_("e-mail address"), unique=True)
    language = models.CharField(max_length=10, default="", blank=True)
    time_zone = models.CharField(max_length=64, default="", blank=True)
    theme = models.CharField(max_length=10, default="", blank=True)

    class Role(models.TextChoices):
        OPERATOR = "operator", _("Operator")
        FINANCE = "finance", _("Finance officer")
        AUDITOR = "auditor", _("Security auditor")

    class Kind(models.TextChoices):
        PERSON = "person", _("Person")
        SERVICE = "service", _("Service account")  # acts by tokens only: never signs in

    # one column: separate powers, so no account can hold two
    platform_role = models.CharField(max_length=16, choices=Role.choices, blank=True, default="")
    platform_role_at = models.DateTimeField(null=True, blank=True)
    platform_role_by = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.PERSON)


class Tenant(models.Model):
    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        SUSPENDED = "suspended", _("Suspended")
        CLOSED = "closed", _("Closed")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "ten"), editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    currency = models.CharField(max_length=3, default="CNY")
    time_zone = models.CharField(max_length=64, default="Asia/Shanghai")  # decides billing days and months
    # tenants of one group trust each other enough to share a card by vgpu; empty: trusts only itself
    trust_group = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    # null: no limit. Compute share held at once, in basis points of a card
    limit_share_bp = models.BigIntegerField(null=True, blank=True)
    limit_running_jobs = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(limit_share_bp__isnull=True) | models.Q(limit_share_bp__gte=0),
                name="tenant_limit_share_not_negative",
            )
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def trust_key(self) -> str:
        """What placement compares: the group, or the tenant itself."""
        return self.trust_group or self.public_id


class Project(models.Model):
    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "prj"), editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="projects")
    slug = models.SlugField(max_length=64)
    name = models.CharField(max_length=200)
    # its part of what the tenant may hold at once; null: whatever the tenant has left
    limit_share_bp = models.BigIntegerField(null=True, blank=True)
    limit_running_jobs = models.PositiveIntegerField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)  # takes no new work; its past stays
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="project_slug_once_per_tenant"),
            models.CheckConstraint(
                condition=models.Q(limit_share_bp__isnull=True) | models.Q(limit_share_bp__gte=0),
                name="project_limit_share_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        MEMBER = "member", _("Member")
        VIEWER = "viewer", _("Viewer")
        BILLING = "billing", _("Billing contact")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    granted_by = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)  # since when this role is held

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "tenant"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.tenant_id}"


class ProjectMembership(models.Model):
    """What a member of the tenant may do in one project; ends with the membership."""

    class Role(models.TextChoices):
        ADMIN = "admin", _("Project admin")
        MEMBER = "member", _("Project member")
        VIEWER = "viewer", _("Project viewer")

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="project_roles")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="roles")
    role = models.CharField(max_length=16, choices=Role.choices)
    granted_by = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["membership", "project"], name="project_role_once")]

    def __str__(self) -> str:
        return f"{self.membership_id} {self.role} of project {self.project_id}"


class Invitation(models.Model):
    """To a tenant, by mail. The link is shown once; only its digest is kept."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "inv"), editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=16, choices=Membership.Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    invited_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.email} to {self.tenant_id}"


class ServiceAccount(models.Model):
    """A program's account in one tenant, or in one project of it. Its tokens are its only way in."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "sva"), editable=False)
    user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="service_account")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="service_accounts")
    project = models.ForeignKey(Project, null=True, on_delete=models.PROTECT, related_name="service_accounts")
    name = models.CharField(max_length=100)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="service_account_name_once")]

    def __str__(self) -> str:
        return self.name


class ApiToken(models.Model):
    """The secret is shown once; only its SHA-256 is kept."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "tok"), editable=False)
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=24)
    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    # null: whatever the user may see; set: narrowed to this tenant
    tenant = models.ForeignKey(Tenant, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SignInLink(models.Model):
    """A one-time sign-in link, printed by `manage.py up`. Only the digest is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"link for {self.user_id}"
