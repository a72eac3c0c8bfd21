"""What the settings say of roles: who needs a second factor at least, and how long a session lasts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from console.common.actor import Actor, PlatformRole, TenantRole

# key in the session: {"started", "seen": seconds since 1970, "row": the session's key once it is in the list}
STATE = "weir"
ROLES: tuple[str, ...] = (*PlatformRole, *TenantRole)


@dataclass(frozen=True, slots=True)
class Limits:
    """Minutes of a session: without activity, and in all."""

    idle: int
    absolute: int

    def over(self, started: datetime, seen: datetime, now: datetime) -> str:
        """Why the session has ended: "idle", "absolute", or "" while it has not."""
        if now - started >= timedelta(minutes=self.absolute):
            return "absolute"
        return "idle" if now - seen >= timedelta(minutes=self.idle) else ""


def roles_of(actor: Actor) -> set[str]:
    """All that a person is, anywhere."""
    own = {str(actor.platform_role)} if actor.platform_role else set()
    return own | {str(role) for role in actor.tenants.values()}


def limits_of(roles: Iterable[str]) -> Limits:
    """The shortest of those of the roles."""
    held = list(roles) or ["*"]
    return Limits(
        idle=min(_minutes(settings.WEIR_SESSION_IDLE_MINUTES, role) for role in held),
        absolute=min(_minutes(settings.WEIR_SESSION_MINUTES, role) for role in held),
    )


def _minutes(table: dict[str, int], role: str) -> int:
    return table.get(role, table["*"])
