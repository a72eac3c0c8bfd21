"""Every write of this room."""

from pool.nodes.services.devices import nodes_with_faults, set_faults
from pool.nodes.services.enrolment import Knock, Refusal, create_join_token, revoke_join_token
from pool.nodes.services.life import lose_node, silent_nodes, stale_nodes
from pool.nodes.services.logs import LogBook
from pool.nodes.services.news import News, WrongNode, apply_news, fail_command
from pool.nodes.services.reconcile import compare, lose_replica
from pool.nodes.services.rollups import prune_logs, prune_rollups, prune_tokens, store_rollups
from pool.nodes.services.sessions import (
    Session,
    StaleSession,
    close_session,
    flush_reports,
    open_session,
    open_sessions,
    set_reachable,
)
from pool.nodes.services.short import Write, take_writes, while_log_is_moved

__all__ = [
    "Knock",
    "LogBook",
    "News",
    "Refusal",
    "Session",
    "StaleSession",
    "Write",
    "WrongNode",
    "apply_news",
    "close_session",
    "compare",
    "create_join_token",
    "fail_command",
    "flush_reports",
    "lose_node",
    "lose_replica",
    "nodes_with_faults",
    "open_session",
    "open_sessions",
    "prune_logs",
    "prune_rollups",
    "prune_tokens",
    "revoke_join_token",
    "set_faults",
    "set_reachable",
    "silent_nodes",
    "stale_nodes",
    "store_rollups",
    "take_writes",
    "while_log_is_moved",
]
