"""The account pages: those of allauth that Weir needs, under /accounts/. Every change leaves an audit entry.

Nobody signs up, changes the address by which they are known, or signs in by a mailed code: those pages of allauth have
no route here. Passwords and sign-ins are recorded by the adapter, second factors by the views below.
"""

from typing import Any

from allauth.account import views as account
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path, re_path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _

from console.accounts import services
from console.accounts.adapter import nobody
from console.accounts.mfa_adapter import may_remove
from console.accounts.oidc import pages as oidc
from console.accounts.queries import managed_by
from console.audit.services import record
from console.common.errors import Conflict, NotAllowed
from console.tenants import queries
from console.tenants.models import User


class _Recorded:
    """Before a form view: what it changes and its entry are one transaction."""

    action = ""
    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponseBase:
        user = self.request.user
        assert isinstance(user, User)
        with transaction.atomic():
            answer: HttpResponseBase = super().form_valid(form)  # type: ignore[misc]
            record(queries.actor_for_user(user, self.request), self.action, user)
        return answer


class SetPassword(account.PasswordSetView):  # type: ignore[misc]
    """The first password. Whoever was sent here on the way to something else (`next`) goes on there."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.pk in managed_by([request.user.pk or 0]):
            raise NotAllowed(_("You sign in through an OpenID provider: there is no password to set here."))
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.GET.get(REDIRECT_FIELD_NAME):
            text = _("You signed in by a link and have no password yet. Set one first; then this goes on.")
            messages.info(request, text)
        answer: HttpResponseBase = super().get(request, *args, **kwargs)
        return answer

    def form_valid(self, form: Any) -> HttpResponseBase:
        answer: HttpResponseBase = super().form_valid(form)
        # just typed twice: it need not be asked for again
        record_authentication(self.request, self.request.user, method="password", reauthenticated=True)
        return answer


class ActivateTotp(_Recorded, totp.ActivateTOTPView):  # type: ignore[misc]
    action = "user.second_factor.add"


class DeactivateTotp(_Recorded, totp.DeactivateTOTPView):  # type: ignore[misc]
    action = "user.second_factor.remove"  # the form refuses to take the last of a person who must have one


class AddPasskey(_Recorded, webauthn.AddWebAuthnView):  # type: ignore[misc]
    action = "user.passkey.add"

    def get_initial(self) -> dict[str, Any]:
        return {**super().get_initial(), "passwordless": True}  # a passkey, unless the person wants a mere key


class RemovePasskey(_Recorded, webauthn.RemoveWebAuthnView):  # type: ignore[misc]
    action = "user.passkey.remove"

    def form_valid(self, form: Any) -> HttpResponseBase:
        if not may_remove(self.get_object()):
            raise Conflict(_("Your role requires a second factor, and this is your last. Add another one first."))
        return super().form_valid(form)


class NewRecoveryCodes(_Recorded, codes.GenerateRecoveryCodesView):  # type: ignore[misc]
    action = "user.recovery_codes"


class SecondFactor(mfa.AuthenticateView):  # type: ignore[misc]
    """The second step of a sign-in. A wrong code counts as a wrong password does."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        services.refuse_if_locked(nobody(request, email=self.stage.login.user.email))
        answer: HttpResponseBase = super().post(request, *args, **kwargs)
        return answer

    def form_invalid(self, form: Any) -> HttpResponseBase:
        user = self.stage.login.user
        actor = nobody(self.request, email=user.email)
        record(actor, "auth.second_factor", user, result="refused")
        services.note_failure(actor)
        answer: HttpResponseBase = super().form_invalid(form)
        return answer


urlpatterns: list[URLPattern] = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("password/set/", SetPassword.as_view(), name="account_set_password"),
    path("password/reset/", account.password_reset, name="account_reset_password"),
    path("password/reset/done/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/key/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("2fa/", mfa.index, name="mfa_index"),
    path("2fa/authenticate/", SecondFactor.as_view(), name="mfa_authenticate"),
    path("2fa/reauthenticate/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("2fa/totp/activate/", ActivateTotp.as_view(), name="mfa_activate_totp"),
    path("2fa/totp/deactivate/", DeactivateTotp.as_view(), name="mfa_deactivate_totp"),
    path("2fa/passkeys/", webauthn.list_webauthn, name="mfa_list_webauthn"),
    path("2fa/passkeys/add/", AddPasskey.as_view(), name="mfa_add_webauthn"),
    path("2fa/passkeys/login/", webauthn.login_webauthn, name="mfa_login_webauthn"),
    path("2fa/passkeys/reauthenticate/", webauthn.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("2fa/passkeys/<int:pk>/remove/", RemovePasskey.as_view(), name="mfa_remove_webauthn"),
    path("2fa/recovery-codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("2fa/recovery-codes/generate/", NewRecoveryCodes.as_view(), name="mfa_generate_recovery_codes"),
    *oidc.urlpatterns,
]
