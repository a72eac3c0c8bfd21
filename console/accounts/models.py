"""How people sign in: locks, sessions, who needs a second factor, and OpenID providers with their roles."""

from functools import partial

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Lock(models.Model):
    """Failed sign-ins of one account or from one address. The account is what was typed: it need not exist."""

    class Kind(models.TextChoices):
        ACCOUNT = "account", _("Account")
        ADDRESS = "address", _("Address")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "lck"), editable=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    subject = models.CharField(max_length=254)
    failures = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()  # when the present count began
    locked_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "subject"], name="lock_once_per_subject")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class BrowserSession(models.Model):
    """What a person sees of a session. It goes with the session itself, however that ends."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "ses"), editable=False)
    session = models.OneToOneField("sessions.Session", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    started_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    address = models.CharField(max_length=64, blank=True, default="")
    device = models.CharField(max_length=200, blank=True, default="")  # the browser's own words
    method = models.CharField(max_length=80, blank=True, default="")  # "password totp", "passkey", "link", "oidc"

    def __str__(self) -> str:
        return f"{self.public_id} of {self.user_id}"


class SecondFactorRule(models.Model):
    """A role that must have a second factor, beside those that the settings name."""

    role = models.CharField(max_length=16, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.role


class OidcProvider(models.Model):
    """An OpenID provider: the installation's (no tenant) or a tenant's own. The client's secret rests sealed."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "idp"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40)
    issuer = models.CharField(max_length=300)
    client_id = models.CharField(max_length=191)
    secret = models.TextField()
    scopes = models.CharField(max_length=200, default="openid email profile")
    groups_claim = models.CharField(max_length=80, default="groups")
    # of e-mail addresses that this provider may speak for; set by operators only
    domains = models.JSONField(default=list)
    brings_second_factor = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class GroupRole(models.Model):
    """Who is in `group` at the provider has `role`: in `tenant`, or in the installation where there is none."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "gro"), editable=False)
    provider = models.ForeignKey(OidcProvider, on_delete=models.CASCADE, related_name="mappings")
    group = models.CharField(max_length=200)
    role = models.CharField(max_length=16)
    tenant = models.ForeignKey("tenants.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "group", "tenant"], name="group_role_once"),
            models.UniqueConstraint(
                fields=["provider", "group"], condition=models.Q(tenant=None), name="group_platform_role_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.role}"


class OidcGrant(models.Model):
    """A role that a provider gave to a person, so that it can take back what it gave and nothing else."""

    provider = models.ForeignKey(OidcProvider, on_delete=models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="oidc_grants")
    tenant = models.ForeignKey("tenants.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=16)
    granted_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "user", "tenant"], name="grant_once"),
            models.UniqueConstraint(
                fields=["provider", "user"], condition=models.Q(tenant=None), name="grant_platform_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.user_id}"
