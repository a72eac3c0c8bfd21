"""The way to an OpenID provider and back: /accounts/oidc/."""

from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.urls.resolvers import URLPattern
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET


@login_not_required
@never_cache
@require_GET
def login(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    from console.accounts.oidc.provider import Adapter, Login

    return _served(Login, Adapter, request, provider_id)


@login_not_required
@never_cache
@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    from console.accounts.oidc.provider import Adapter, Callback

    return _served(Callback, Adapter, request, provider_id)


def _served(view: Any, adapter: Any, request: HttpRequest, provider_id: str) -> HttpResponseBase:
    try:
        answer: HttpResponseBase = view.adapter_view(adapter(request, provider_id))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return answer


@login_not_required
@require_GET
def cancelled(request: HttpRequest) -> HttpResponse:
    messages.info(request, _("Nobody was signed in: it was stopped at the provider."))
    return redirect("account_login")


@require_GET
def again(request: HttpRequest) -> HttpResponse:
    """Before a factor changes: who knows no password here shows at the provider again who they are."""
    account = SocialAccount.objects.filter(user_id=request.user.pk).order_by("-last_login").first()
    if account is None:
        raise Http404
    wanted = get_next_redirect_url(request) or reverse("mfa_index")
    return redirect(f"{reverse('oidc_login', args=[account.provider])}?{urlencode({'next': wanted})}")


urlpatterns: list[URLPattern] = [
    path("oidc/cancelled/", cancelled, name="socialaccount_login_cancelled"),
    path("oidc/again/", again, name="oidc_again"),
    path("oidc/<str:provider_id>/login/", login, name="oidc_login"),
    path("oidc/<str:provider_id>/login/callback/", callback, name="oidc_callback"),
]
