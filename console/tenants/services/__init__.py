"""Every write about people, tenants and their keys; each leaves an audit entry in its own transaction."""

from console.tenants.services.invitations import accept_invitation, invite, mail_invitation, revoke_invitation
from console.tenants.services.links import consume_sign_in_link, create_sign_in_link
from console.tenants.services.people import create_user, set_platform_role, update_profile
from console.tenants.services.projects import create_project, rename_project, set_archived, set_project_limits
from console.tenants.services.roles import add_member, end_membership, remove_member, require_manager, set_project_role
from console.tenants.services.service_accounts import (
    close_service_account,
    create_service_account,
    create_service_token,
)
from console.tenants.services.setting_up import set_up_tenant
from console.tenants.services.tenants import (
    close_tenant,
    create_tenant,
    resume_tenant,
    set_tenant_limits,
    suspend_tenant,
)
from console.tenants.services.tokens import create_token, revoke_token, touch_token

__all__ = [
    "accept_invitation",
    "add_member",
    "close_service_account",
    "close_tenant",
    "consume_sign_in_link",
    "create_project",
    "create_service_account",
    "create_service_token",
    "create_sign_in_link",
    "create_tenant",
    "create_token",
    "create_user",
    "end_membership",
    "invite",
    "mail_invitation",
    "remove_member",
    "rename_project",
    "require_manager",
    "resume_tenant",
    "revoke_invitation",
    "revoke_token",
    "set_archived",
    "set_platform_role",
    "set_project_limits",
    "set_project_role",
    "set_tenant_limits",
    "set_up_tenant",
    "suspend_tenant",
    "touch_token",
    "update_profile",
]
