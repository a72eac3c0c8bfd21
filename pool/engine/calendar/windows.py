"""Who may use cards that are kept for somebody else: who ends before, and who gives them back at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Entry = Literal["own", "before", "lent"]


@dataclass(frozen=True, slots=True)
class Window:
    """Cards that are kept from now on for what begins at ``start_s``. ``lends``: also to work that can be preempted,
    which is given back within ``give_back_s`` of when it is wanted."""

    key: int
    start_s: int
    lends: bool = False
    give_back_s: int = 0


@dataclass(frozen=True, slots=True)
class Visitor:
    """A waiting job. ``bound_s``: it runs no longer than that (None: nothing ends it). ``spared_s``: so long it may not
    be preempted, and takes to leave then."""

    bound_s: int | None
    preemptible: bool
    spared_s: int = 0


def may_enter(window: Window, visitor: Visitor, now_s: int, own: bool) -> Entry | None:
    """Whether a job that starts now may use the window's cards, and why: it is its own; it ends before the window
    begins (to end in the same second is to end before); or it can be sent away in time. Nothing else may."""
    if own:
        return "own"
    if visitor.bound_s is not None and now_s + visitor.bound_s <= window.start_s:
        return "before"
    if window.lends and visitor.preemptible and visitor.spared_s <= window.give_back_s:
        return "lent"
    return None
