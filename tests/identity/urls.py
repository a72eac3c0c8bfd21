"""The provider's own pages, and a door by which a test says who is there and in which groups."""

import json
from typing import Any

from allauth.account.models import EmailAddress
from allauth.idp.oidc.models import Client
from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def person(request: HttpRequest) -> HttpResponse:
    """{"email", "password", "groups", "verified"}: made, or changed."""
    told: dict[str, Any] = json.loads(request.body)
    user, _ = User.objects.get_or_create(username=told["email"], email=told["email"])
    user.set_password(told["password"])
    user.save()
    user.groups.set([Group.objects.get_or_create(name=name)[0] for name in told["groups"]])
    EmailAddress.objects.update_or_create(
        user=user, email=told["email"], defaults={"verified": told["verified"], "primary": True}
    )
    return HttpResponse()


@csrf_exempt
def client(request: HttpRequest) -> HttpResponse:
    """{"id", "secret", "redirect"}: an application that may ask."""
    told: dict[str, Any] = json.loads(request.body)
    made, _ = Client.objects.get_or_create(id=told["id"], defaults={"name": "Weir", "scopes": "openid\nprofile\nemail"})
    made.redirect_uris = told["redirect"]
    made.set_secret(told["secret"])
    made.save()
    return HttpResponse()


urlpatterns = [
    path("test/person", person),
    path("test/client", client),
    path("accounts/", include("allauth.account.urls")),
    path("", include("allauth.idp.urls")),
]
