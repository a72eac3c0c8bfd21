"""Second factors: their secrets rest sealed, and who must have one does not lose the last."""

from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator

from console.accounts import policy, queries
from console.common import sealed
from console.tenants.queries import actor_for_user

_PURPOSE = "second factor"
_MARK = "sealed:"


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return _MARK + sealed.seal_text(_PURPOSE, text)

    def decrypt(self, encrypted_text: str) -> str:
        """A secret from before they were sealed is as it was."""
        if not encrypted_text.startswith(_MARK):
            return encrypted_text
        return sealed.unseal_text(_PURPOSE, encrypted_text.removeprefix(_MARK))

    def get_totp_issuer(self) -> str:
        return f"Weir {self._get_site_name()}"

    def can_delete_authenticator(self, authenticator: Any) -> bool:
        if authenticator.type == Authenticator.Type.RECOVERY_CODES:
            return True
        return may_remove(authenticator)


def may_remove(authenticator: Authenticator) -> bool:
    """Not the last factor of a person whose role requires one: they add another first."""
    others = queries.factors_of(authenticator.user_id).exclude(pk=authenticator.pk)
    if others.exists():
        return True
    return queries.required_roles().isdisjoint(policy.roles_of(actor_for_user(authenticator.user)))
