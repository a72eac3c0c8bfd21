"""Who acts. Every write is recorded with an Actor, every read is scoped by one."""

from dataclasses import dataclass, field
from enum import StrEnum


class ActorKind(StrEnum):
    USER = "user"
    TOKEN = "token"
    AGENT = "agent"
    SYSTEM = "system"


class PlatformRole(StrEnum):
    """Separate powers: no account holds two."""

    OPERATOR = "operator"
    FINANCE = "finance"
    AUDITOR = "auditor"


class TenantRole(StrEnum):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"
    BILLING = "billing"


@dataclass(frozen=True, slots=True)
class Actor:
    """The acting party of one request, task or command.

    `tenants` maps tenant primary key to the role held there; `scopes` is None for a session (all that the
    roles allow) and the granted scopes for a token, e.g. {"jobs:read", "jobs:write"}.
    """

    kind: ActorKind
    ident: str
    label: str
    platform_role: PlatformRole | None = None
    tenants: dict[int, TenantRole] = field(default_factory=dict)
    scopes: frozenset[str] | None = None
    user_id: int | None = None
    via: str = ""  # "task 42", "token weir_ab12": what acted on the person's behalf
    request_id: str = ""
    address: str = ""

    @property
    def is_system(self) -> bool:
        return self.kind is ActorKind.SYSTEM

    @property
    def is_operator(self) -> bool:
        return self.is_system or self.platform_role is PlatformRole.OPERATOR

    @property
    def is_finance(self) -> bool:
        return self.is_system or self.platform_role is PlatformRole.FINANCE

    @property
    def sees_all_work(self) -> bool:
        """Jobs, queues, nodes, devices of every tenant."""
        return self.is_operator or self.platform_role is PlatformRole.AUDITOR

    @property
    def sees_all_money(self) -> bool:
        """Prices, usage and invoices of every tenant."""
        return self.is_finance or self.platform_role in {PlatformRole.OPERATOR, PlatformRole.AUDITOR}

    def has_scope(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes

    def may_work_in(self, tenant_id: int) -> bool:
        """Submit and stop work of this tenant."""
        if self.is_operator:
            return True
        return self.tenants.get(tenant_id) in {TenantRole.OWNER, TenantRole.MEMBER}

    def may_bill(self, tenant_id: int) -> bool:
        """Read the money of this tenant."""
        if self.sees_all_money:
            return True
        return self.tenants.get(tenant_id) in {TenantRole.OWNER, TenantRole.BILLING}


def system(name: str, via: str = "") -> Actor:
    """The actor of work that no person asked for: scheduler, metering, reconciler."""
    return Actor(kind=ActorKind.SYSTEM, ident=f"system:{name}", label=name, via=via)
