"""The one place where a session may end or be held back: time-outs, and a second factor that is still missing."""

from collections.abc import Callable

from allauth.account.internal.flows.login import get_authentication_records
from django.contrib import messages
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console.accounts import policy, queries, services
from console.accounts.policy import STATE
from console.common import clock
from console.common.actor import Actor

GetResponse = Callable[[HttpRequest], HttpResponseBase]
POLL = "X-Weir-Poll"  # a page that refreshes itself is no activity of its person (static/js/requests.js)
SET_UP = "mfa_index"
LOOK = "web:preferences"
# all that a person does who must set up a second factor
OPEN = frozenset(
    {
        SET_UP,
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_list_webauthn",
        "mfa_view_recovery_codes",
        "mfa_reauthenticate",
        "mfa_reauthenticate_webauthn",
        "account_reauthenticate",
        "account_set_password",
        "account_logout",
        "account_login",
        "oidc_login",
        "oidc_callback",
        "set_language",
        "javascript-catalog",
        "healthz",
    }
)


class SessionMiddleware:
    """Keeps the list of sessions, and ends one that was idle or open for too long."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        actor: Actor | None = request.actor  # type: ignore[attr-defined]
        if actor is not None:
            _keep_or_end(request, actor)
        return self.get_response(request)


def _keep_or_end(request: HttpRequest, actor: Actor) -> None:
    now = clock.now()
    why = queries.ended(actor, request.session, now)
    if why:
        services.expire(request, actor, why)
        request.actor = None  # type: ignore[attr-defined]
        messages.info(request, _reason(actor, why))
        return
    state = request.session.get(STATE)
    if not state or state.get("row") != request.session.session_key:
        services.open_session(request, actor, method_of(request), now)
    elif POLL not in request.headers:
        services.see(request, now)


def _reason(actor: Actor, why: str) -> str:
    limits = policy.limits_of(policy.roles_of(actor))
    if why == "idle":
        return _("You were signed out after %(minutes)d minutes without activity.") % {"minutes": limits.idle}
    return _("You were signed out: a session lasts %(minutes)d minutes.") % {"minutes": limits.absolute}


def method_of(request: HttpRequest) -> str:
    """How this session was signed in, in words of allauth's records; nothing there: by a one-time link."""
    words = []
    for record in get_authentication_records(request, request.user):
        if record.get("passwordless"):
            words.append("passkey")
        elif record["method"] == "socialaccount":
            words.append("oidc")
        else:
            words.append(str(record.get("type") or record["method"]))
    return " ".join(dict.fromkeys(words)) or "link"


class SecondFactorMiddleware:
    """Leads a person whose role requires a second factor to where it is set up; until then there is no actor.

    A program with a token of its own is not such a person: the token was made by one who had all that was asked for.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        actor: Actor | None = request.actor  # type: ignore[attr-defined]
        request.must_set_up_factor = False  # type: ignore[attr-defined]
        if actor is not None and not _by_token(request) and queries.lacks_factor(actor, request.session):
            request.must_set_up_factor = True  # type: ignore[attr-defined]
            request.held_back = actor  # type: ignore[attr-defined]
            request.actor = None  # type: ignore[attr-defined]
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> HttpResponseBase | None:
        if not getattr(request, "must_set_up_factor", False):
            return None
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name in OPEN:
            return None
        if name == LOOK and request.method == "POST":  # the language of the page, which is their own
            request.actor = request.held_back  # type: ignore[attr-defined]
            return None
        if request.path.startswith("/api/"):
            return _problem(request)
        messages.warning(request, _("Your role requires a second factor. Set one up; then you can go on."))
        return redirect(SET_UP)


def _by_token(request: HttpRequest) -> bool:
    bearer = request.headers.get("Authorization", "").lower().startswith("bearer ")
    return bearer and request.path.startswith("/api/")


def _problem(request: HttpRequest) -> JsonResponse:
    code = "second_factor_required"
    body = {
        "type": f"urn:weir:problem:{code}",
        "title": "Forbidden",
        "status": 403,
        "code": code,
        "detail": "your role requires a second factor; set one up under /accounts/2fa/",
        "request_id": getattr(request, "request_id", ""),
    }
    return JsonResponse(body, status=403, content_type="application/problem+json")
