"""Every write about people, tenants and their keys; each leaves an audit entry in its own transaction."""

from console.tenants.services.links import consume_sign_in_link, create_sign_in_link
from console.tenants.services.people import (
    add_member,
    create_project,
    create_tenant,
    create_user,
    update_profile,
)
from console.tenants.services.tokens import create_token, revoke_token, touch_token

__all__ = [
    "add_member",
    "consume_sign_in_link",
    "create_project",
    "create_sign_in_link",
    "create_tenant",
    "create_token",
    "create_user",
    "revoke_token",
    "touch_token",
    "update_profile",
]
