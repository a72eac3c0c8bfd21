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
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import path, re_path
from django.urls.resolvers import URLPattern
from django.utils.translation import gettext as _

from console.audit.services import record
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
    action = "user.second_factor.remove"


class NewRecoveryCodes(_Recorded, codes.GenerateRecoveryCodesView):  # type: ignore[misc]
    action = "user.recovery_codes"


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
    path("2fa/authenticate/", mfa.authenticate, name="mfa_authenticate"),
    path("2fa/reauthenticate/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("2fa/totp/activate/", ActivateTotp.as_view(), name="mfa_activate_totp"),
    path("2fa/totp/deactivate/", DeactivateTotp.as_view(), name="mfa_deactivate_totp"),
    path("2fa/recovery-codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("2fa/recovery-codes/generate/", NewRecoveryCodes.as_view(), name="mfa_generate_recovery_codes"),
    path("2fa/recovery-codes/download/", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
]
