"""How nodes get in: join tokens, counted and expiring, exchanged for a credential of the node's own."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from console.audit.services import Entry, record, record_many
from console.common import bulk, clock
from console.common.actor import Actor, ActorKind, system
from console.common.errors import FieldError, InvalidInput, NotAllowed
from pool.inventory.models import Site
from pool.inventory.services import Ahead, join_nodes, look_ahead
from pool.nodes.models import Agent, JoinToken

JOIN_PREFIX, AGENT_PREFIX = "weirj_", "weira_"
LONGEST = timedelta(days=365)
MOST_USES = 100_000


class Refusal(NotAllowed):
    """A node is not let in; `code` is sent to it."""

    code = "refused"


@dataclass(frozen=True, slots=True)
class Knock:
    """A checked hello message and the network address that it came from."""

    hello: dict[str, Any]
    address: str

    @property
    def name(self) -> str:
        return str(self.hello["node"]["name"])


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


def look(knocks: Sequence[Knock]) -> dict[int, Ahead]:
    """By site: what `admit` needs to know of these nodes' hardware, read before its transaction.

    Nobody is let in or refused by it: what cannot be read here is read again there.
    """
    agents, tokens = _agents(knocks), _tokens(knocks)
    sites: dict[int, tuple[Site, list[dict[str, Any]]]] = {}
    for knock in knocks:
        agent, token = agents.get(knock.name), tokens.get(_key(knock))
        if token is not None:
            site = token.site
        elif agent is not None and _proves(knock, agent):
            site = agent.node.site
        else:
            continue  # a stranger costs nothing more
        sites.setdefault(site.pk, (site, []))[1].append(knock.hello["node"])
    found = {}
    for pk, (site, reports) in sites.items():
        with suppress(InvalidInput):
            found[pk] = look_ahead(reports, site)
    return found


def admit(knocks: Sequence[Knock], now: datetime, stale_s: float, seen: Mapping[int, Ahead]) -> list[Admission]:
    """Checks who says hello and makes the nodes as they say. Call inside a transaction; `seen` by `look`.

    All or none, so that after a restart of the gateway a thousand nodes are in within seconds. Raises Refusal or
    InvalidInput for the first that cannot be let in: the caller then tries each alone.
    """
    agents, tokens = _agents(knocks), _tokens(knocks)
    groups: dict[tuple[int, str], list[Knock]] = {}
    for knock in knocks:
        site, key = _check(knock, agents.get(knock.name), tokens, now, stale_s)
        groups.setdefault((site.pk, key), []).append(knock)
    by_name: dict[str, Admission] = {}
    for (_, key), group in groups.items():
        token = tokens[key] if key else None
        if token is not None:
            _use(token, len(group))
        site = token.site if token else agents[group[0].name].node.site
        by_name.update(_make(group, site, token, agents, seen, now))
    return [by_name[knock.name] for knock in knocks]


def _agents(knocks: Sequence[Knock]) -> dict[str, Agent]:
    rows = Agent.objects.select_related("node__site").filter(node__name__in=[knock.name for knock in knocks])
    return {agent.node.name: agent for agent in rows}


def _tokens(knocks: Sequence[Knock]) -> dict[str, JoinToken]:
    keys = {key for knock in knocks if (key := _key(knock))}
    if not keys:
        return {}
    return {token.digest: token for token in JoinToken.objects.select_related("site").filter(digest__in=keys)}


def _key(knock: Knock) -> str:
    """The digest of the token that it came with, "" where it came with a credential or nothing."""
    hello = knock.hello
    return "" if hello["credential"] or not hello["token"] else digest(hello["token"])


def _use(token: JoinToken, times: int) -> None:
    used = JoinToken.objects.filter(pk=token.pk, uses_left__gte=times).update(uses_left=F("uses_left") - times)
    if not used:
        raise Refusal("this join token has been used up", code="token_used_up")


def _check(
    knock: Knock, agent: Agent | None, tokens: Mapping[str, JoinToken], now: datetime, stale_s: float
) -> tuple[Site, str]:
    """(site, digest of the token, "" for a credential). Raises Refusal."""
    hello = knock.hello
    if hello["credential"]:
        if not _proves(knock, agent) or agent is None:
            raise Refusal(f"this credential is not that of node {knock.name!r}", code="bad_credential")
        return agent.node.site, ""
    if not hello["token"]:
        raise Refusal("neither a credential nor a join token", code="no_credential")
    key = _key(knock)
    token = _check_token(tokens.get(key), hello["site"], knock.name, now)
    if agent and agent.connected and _is_fresh(agent, now, stale_s):
        raise Refusal(f"node {knock.name!r} is connected; a token cannot take its place", code="node_in_use")
    return token.site, key


def _proves(knock: Knock, agent: Agent | None) -> bool:
    """Its credential is the node's. The same work for an unknown node as for a wrong credential."""
    stored = agent.credential_digest if agent else "0" * 64
    return hmac.compare_digest(digest(knock.hello["credential"] or ""), stored)


def _check_token(token: JoinToken | None, site: str, name: str, now: datetime) -> JoinToken:
    if token is None or token.revoked_at is not None:
        raise Refusal("this join token is unknown or revoked", code="bad_token")
    if token.expires_at <= now:
        raise Refusal("this join token has expired", code="token_expired")
    if site and site != token.site.name:
        raise Refusal(f"this join token is for site {token.site.name!r}", code="wrong_site")
    if not name.startswith(token.name_prefix):
        message = f"this join token is for nodes whose name starts with {token.name_prefix!r}"
        raise Refusal(message, code="wrong_name")
    return token


def _make(
    group: list[Knock],
    site: Site,
    token: JoinToken | None,
    agents: dict[str, Agent],
    seen: Mapping[int, Ahead],
    now: datetime,
) -> dict[str, Admission]:
    """Nodes of one site that came by one token, or each by its credential."""
    actor, names = _actor(group, token, agents), [knock.name for knock in group]
    ahead = seen[site.pk].only(names) if site.pk in seen else None
    if ahead is None or len(ahead.drafts) < len(names):
        ahead = look_ahead([knock.hello["node"] for knock in group], site)
    pairs = list(zip(group, join_nodes(ahead, actor), strict=True))
    if token is None:
        return {knock.name: Admission(node.node_id, None) for knock, node in pairs}
    found = {knock.name: Admission(node.node_id, AGENT_PREFIX + secrets.token_urlsafe(32)) for knock, node in pairs}
    _give_credentials(group, found, agents, now)
    after = {"site": site.name, "token": token.public_id}
    record_many(actor, [Entry("node.join", "node", node.public_id, after=after) for _, node in pairs])
    return found


def _give_credentials(
    group: list[Knock], found: Mapping[str, Admission], agents: Mapping[str, Agent], now: datetime
) -> None:
    new = []
    for knock in group:
        admission, agent = found[knock.name], agents.get(knock.name)
        secret = digest(str(admission.credential))
        if agent is not None:
            Agent.objects.filter(pk=agent.pk).update(credential_digest=secret)
            continue
        of = {"version": knock.hello["agent"], "driver": knock.hello["driver"]}
        new.append(bulk.new(Agent, node_id=admission.node_id, credential_digest=secret, joined_at=now, **of))
    bulk.insert(new)


def _actor(group: list[Knock], token: JoinToken | None, agents: dict[str, Agent]) -> Actor:
    """Who changes the inventory: one node, or for many at once the token, or the gateway that speaks for them."""
    if len(group) > 1 and token is None:
        return system("gateway")
    first = group[0]
    if token is not None:
        label = first.name if len(group) == 1 else f"{len(group)} nodes by join token"
        return Actor(kind=ActorKind.AGENT, ident=token.public_id, label=label, address=first.address)
    node = agents[first.name].node
    return Actor(kind=ActorKind.AGENT, ident=node.public_id, label=node.name, address=first.address)


def _is_fresh(agent: Agent, now: datetime, stale_s: float) -> bool:
    return agent.last_report_at is not None and (now - agent.last_report_at).total_seconds() <= stale_s
