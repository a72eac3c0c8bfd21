"""What this room tells the rooms above it. console/wiring.py plugs the listeners in."""

from collections.abc import Callable, Collection

from django.db import transaction

FleetListener = Callable[[Collection[int]], None]

_listeners: list[FleetListener] = []


def on_fleet_change(listener: FleetListener) -> None:
    """Calls `listener(node ids)` after each commit that changed capacity or state. Plugging twice counts once.

    A hint, never the truth: `Node.version` tells the scheduler's sweep the same a second later.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def fleet_changed(node_ids: Collection[int]) -> None:
    """Tells the listeners once the present transaction is committed."""
    if node_ids:
        transaction.on_commit(lambda: _tell(tuple(node_ids)), robust=True)


def _tell(node_ids: tuple[int, ...]) -> None:
    for listener in _listeners:
        listener(node_ids)
