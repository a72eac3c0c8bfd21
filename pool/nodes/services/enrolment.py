"""How nodes get in: join tokens, counted and expiring, exchanged for a credential of the node's own."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor, ActorKind
from console.common.errors import FieldError, InvalidInput, NotAllowed
from pool.inventory.models import Node, Site
from pool.inventory.services import upsert_node_from_agent
from pool.nodes.models import Agent, JoinToken

JOIN_PREFIX, AGENT_PREFIX = "weirj_", "weira_"
LONGEST = timedelta(days=365)
MOST_USES = 100_000


class Refusal(NotAllowed):
    """A node is not let in; `code` is sent to it."""

    code = "refused"


@dataclass(frozen=True, slots=True)
class Admission:
    """`credential`: given once, to a node that came with a token."""

    node_id: int
    credential: str | None


def digest(secret: str) -> str:
    """SHA-256 in hex: enough for 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create_join_token(
    actor: Actor, site: Site, *, uses: int = 1, valid: timedelta = timedelta(days=1), name_prefix: str = ""
) -> tuple[JoinToken, str]:
    """(row, the token itself, which is shown this once). Raises NotAllowed, InvalidInput."""
    if not actor.is_operator:
        raise NotAllowed("only an operator may let nodes in")
    if not 1 <= uses <= MOST_USES:
        raise InvalidInput([FieldError("uses", f"must be between 1 and {MOST_USES}")])
    if not timedelta(0) < valid <= LONGEST:
        raise InvalidInput([FieldError("valid", "must be longer than nothing and at most a year")])
    text = JOIN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = JoinToken.objects.create(
            digest=digest(text),
            site=site,
            name_prefix=name_prefix,
            uses_left=uses,
            expires_at=clock.now() + valid,
        )
        after = {"site": site.name, "uses": uses, "name_prefix": name_prefix}
        record(actor, "join_token.create", token, after=after)
    return token, text


def revoke_join_token(actor: Actor, token: JoinToken) -> None:
    """Nodes that are in stay in. Raises NotAllowed."""
    if not actor.is_operator:
        raise NotAllowed("only an operator may revoke a join token")
    with transaction.atomic():
        if JoinToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=clock.now()):
            record(actor, "join_token.revoke", token)


def admit(hello: dict[str, Any], address: str, now: datetime, stale_s: float) -> Admission:
    """Checks who says hello and makes the node as it says. Call inside a transaction.

    Raises Refusal, InvalidInput.
    """
    if hello["credential"]:
        return _admit_known(hello, address)
    if hello["token"]:
        return _admit_new(hello, address, now, stale_s)
    raise Refusal("neither a credential nor a join token", code="no_credential")


def agent_actor(node: Node, address: str = "") -> Actor:
    return Actor(kind=ActorKind.AGENT, ident=node.public_id, label=node.name, address=address)


def _admit_known(hello: dict[str, Any], address: str) -> Admission:
    name = hello["node"]["name"]
    agent = Agent.objects.select_related("node__site").filter(node__name=name).first()
    # the same work for an unknown node as for a wrong credential
    stored = agent.credential_digest if agent else "0" * 64
    if not hmac.compare_digest(digest(hello["credential"]), stored) or agent is None:
        raise Refusal(f"this credential is not that of node {name!r}", code="bad_credential")
    upsert_node_from_agent(hello["node"], site=agent.node.site, actor=agent_actor(agent.node, address))
    return Admission(agent.node_id, None)


def _admit_new(hello: dict[str, Any], address: str, now: datetime, stale_s: float) -> Admission:
    name = hello["node"]["name"]
    token = JoinToken.objects.select_related("site").filter(digest=digest(hello["token"])).first()
    if token is None or token.revoked_at is not None:
        raise Refusal("this join token is unknown or revoked", code="bad_token")
    if token.expires_at <= now:
        raise Refusal("this join token has expired", code="token_expired")
    if hello["site"] and hello["site"] != token.site.name:
        raise Refusal(f"this join token is for site {token.site.name!r}", code="wrong_site")
    if not name.startswith(token.name_prefix):
        message = f"this join token is for nodes whose name starts with {token.name_prefix!r}"
        raise Refusal(message, code="wrong_name")
    used = JoinToken.objects.filter(pk=token.pk, uses_left__gt=0).update(uses_left=F("uses_left") - 1)
    if not used:
        raise Refusal("this join token has been used up", code="token_used_up")
    return _join(hello, token, address, now, stale_s)


def _join(hello: dict[str, Any], token: JoinToken, address: str, now: datetime, stale_s: float) -> Admission:
    name = hello["node"]["name"]
    present = Agent.objects.filter(node__name=name).first()
    if present and present.connected and _is_fresh(present, now, stale_s):
        raise Refusal(f"node {name!r} is connected; a token cannot take its place", code="node_in_use")
    actor = Actor(kind=ActorKind.AGENT, ident=token.public_id, label=name, address=address)
    joined = upsert_node_from_agent(hello["node"], site=token.site, actor=actor)
    credential = AGENT_PREFIX + secrets.token_urlsafe(32)
    values = {"credential_digest": digest(credential)}
    Agent.objects.update_or_create(node_id=joined.node_id, defaults=values)
    record(actor, "node.join", ("node", joined.public_id), after={"site": token.site.name, "token": token.public_id})
    return Admission(joined.node_id, credential)


def _is_fresh(agent: Agent, now: datetime, stale_s: float) -> bool:
    return agent.last_report_at is not None and (now - agent.last_report_at).total_seconds() <= stale_s
