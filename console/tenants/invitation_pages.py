"""The page behind the link of an invitation. Open to all: the link is the key, and works once."""

from allauth.account.utils import perform_login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.common import clock
from console.common.errors import Conflict, InvalidInput, NotFound
from console.tenants import queries, services
from console.tenants.models import User
from console.tenants.org_forms import PasswordForm


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponseBase:
    """GET tells what is offered; POST accepts: as who is signed in, or with `password` as a new person."""
    user = request.user if isinstance(request.user, User) else None
    try:
        found = queries.invitation_by(token, clock.now())
        if request.method == "POST":
            return _accept(request, token, user, found.email)
    except NotFound:
        return render(request, "tenants/invitation_spent.html", status=404)
    return _offer(request, found.email, token)


def _accept(request: HttpRequest, token: str, user: User | None, email: str) -> HttpResponseBase:
    form = PasswordForm(request.POST) if user is None else None
    if form is not None and not form.is_valid():
        return _offer(request, email, token, form)
    password = form.cleaned_data["password"] if form else ""
    try:
        accepted = services.accept_invitation(token, user, password)
    except InvalidInput as refusal:
        return _offer(request, email, token, form, [error.message for error in refusal.errors])
    except Conflict as refusal:
        return _offer(request, email, token, form, [refusal.message])
    if user is not None:
        return redirect("web:overview")
    # the one way in: a second factor, where the role asks for one, is asked for as at any sign-in
    answer: HttpResponse = perform_login(request, accepted)
    return answer


def _offer(
    request: HttpRequest, email: str, token: str, form: PasswordForm | None = None, problems: list[str] | None = None
) -> HttpResponse:
    known = User.objects.filter(email=email).exists()
    found = queries.invitation_by(token, clock.now())
    signed_in = isinstance(request.user, User)
    context = {
        "invitation": found,
        "known": known,
        "mine": signed_in and request.user.email == email,  # type: ignore[union-attr]
        "signed_in": signed_in,
        "form": form or PasswordForm(),
        "problems": problems or [],
    }
    bad = bool(problems) or bool(form is not None and form.errors)
    return render(request, "tenants/invitation.html", context, status=422 if bad else 200)
