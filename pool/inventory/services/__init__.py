"""Every write to the inventory."""

from pool.inventory.services.history import remember
from pool.inventory.services.importing import Count, ImportReport, import_fleet
from pool.inventory.services.joining import (
    Ahead,
    Joined,
    join_nodes,
    look_ahead,
    upsert_node_from_agent,
    upsert_nodes_from_agents,
)
from pool.inventory.services.labels import set_device_labels, set_node_labels
from pool.inventory.services.locks import lock_nodes
from pool.inventory.services.states import set_device_state, set_mig_enabled, set_node_state

__all__ = [
    "Ahead",
    "Count",
    "ImportReport",
    "Joined",
    "import_fleet",
    "join_nodes",
    "lock_nodes",
    "look_ahead",
    "remember",
    "set_device_labels",
    "set_device_state",
    "set_mig_enabled",
    "set_node_labels",
    "set_node_state",
    "upsert_node_from_agent",
    "upsert_nodes_from_agents",
]
