"""Who acts. Every write is recorded with an Actor, every read is scoped by one."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


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


class ProjectRole(StrEnum):
    """What a member of the tenant may do in one project, instead of what the tenant role says there."""

    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class ProjectGrant(NamedTuple):
    tenant_id: int
    role: ProjectRole


_WORKS = frozenset({TenantRole.OWNER, TenantRole.MEMBER})
_WORKS_IN_PROJECT = frozenset({ProjectRole.ADMIN, ProjectRole.MEMBER})


@dataclass(frozen=True, slots=True)
class Actor:
    """The acting party of one request, task or command.

    `tenants` maps tenant primary key to the role held there, `projects` a project's to the role held in it alone;
    `scopes` is None for a session (all that the roles allow) and the granted scopes for a token, e.g. {"jobs:read"}.

    Every right is asked here and nowhere else; the rules in words: docs/decisions/0022-roles.md.
    """

    kind: ActorKind
    ident: str
    label: str
    platform_role: PlatformRole | None = None
    tenants: dict[int, TenantRole] = field(default_factory=dict)
    projects: dict[int, ProjectGrant] = field(default_factory=dict)
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
    def is_auditor(self) -> bool:
        """Reviews everybody's access; no system actor does."""
        return self.platform_role is PlatformRole.AUDITOR

    @property
    def owned(self) -> list[int]:
        """Tenants that the actor is an owner of."""
        return [pk for pk, role in self.tenants.items() if role is TenantRole.OWNER]

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

    def owns(self, tenant_id: int) -> bool:
        return self.tenants.get(tenant_id) is TenantRole.OWNER

    def may_work_in(self, tenant_id: int, project_id: int | None = None) -> bool:
        """Submit and stop work of this tenant; with a project: of that project, where a role in it decides.

        Without a project: whether work may be done in some project of the tenant.
        """
        role = self.tenants.get(tenant_id)
        if self.is_operator or role is TenantRole.OWNER:
            return True
        if role is None:
            return False
        if project_id is None:
            return role in _WORKS or any(
                grant.tenant_id == tenant_id and grant.role in _WORKS_IN_PROJECT for grant in self.projects.values()
            )
        grant = self.projects.get(project_id)
        return role in _WORKS if grant is None else grant.role in _WORKS_IN_PROJECT

    def may_manage(self, tenant_id: int) -> bool:
        """People, projects and service accounts of this tenant: its owners; operators, who set a tenant up."""
        return self.is_operator or self.owns(tenant_id)

    def may_manage_project(self, tenant_id: int, project_id: int) -> bool:
        """Roles and service accounts of one project."""
        grant = self.projects.get(project_id)
        admin = tenant_id in self.tenants and grant is not None and grant.role is ProjectRole.ADMIN
        return admin or self.may_manage(tenant_id)

    def may_bill(self, tenant_id: int) -> bool:
        """Read the money of this tenant."""
        if self.sees_all_money:
            return True
        return self.tenants.get(tenant_id) in {TenantRole.OWNER, TenantRole.BILLING}


def system(name: str, via: str = "") -> Actor:
    """The actor of work that no person asked for: scheduler, metering, reconciler."""
    return Actor(kind=ActorKind.SYSTEM, ident=f"system:{name}", label=name, via=via)
