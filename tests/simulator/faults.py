"""Named fault points, and the plan that says which of them kill the acting process."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from console.common import joint

MOMENTS = ("before", "after")


class Crash(BaseException):
    """The process that was acting is gone. Not an Exception: no handler of the product may swallow a kill."""


@dataclass
class Faults:
    """`plan`: (point, moment) -> at which hit of it the process dies. `fired` and `seen` count."""

    plan: dict[tuple[str, str], int] = field(default_factory=dict)
    label: str = ""
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    fired: list[tuple[str, str]] = field(default_factory=list)

    def hit(self, kind: str, moment: str) -> bool:
        """True: die here."""
        point = (f"{self.label}.{kind}", moment)
        self.seen[point] += 1
        if self.plan.get(point) != self.seen[point]:
            return False
        self.fired.append(point)
        return True

    def around(self, kind: str, work: Callable[[], Any]) -> Any:
        """`work` between two fault points."""
        if self.hit(kind, "before"):
            raise Crash
        result = work()
        if self.hit(kind, "after"):
            raise Crash
        return result


def install(faults: Faults, patch: Callable[[Any, str, Any], None]) -> None:
    """Each real commit of the database becomes two fault points; that of `console.common.joint` goes another way."""
    commit, rollback = connection.commit, connection.rollback

    def dying_commit() -> None:
        if faults.hit("commit", "before"):
            rollback()
            raise Crash
        commit()
        if faults.hit("commit", "after"):
            connection.run_on_commit = []  # the process died before its hooks ran
            raise Crash

    seal, tell = joint._seal, joint._tell

    def dying_seal(end: Callable[[], Any]) -> Any:
        if faults.hit("commit", "before"):
            raise Crash
        return seal(end)

    def dying_tell(hooks: list[Callable[[], None]]) -> None:
        if faults.hit("commit", "after"):
            raise Crash
        tell(hooks)

    patch(connection, "commit", dying_commit)
    patch(joint, "_seal", dying_seal)
    patch(joint, "_tell", dying_tell)
