"""Every write about signing in; each change leaves an audit entry in its own transaction."""

from console.accounts.services.attempts import note_failure, note_success, refuse_if_locked, unlock
from console.accounts.services.factors import forget_factors, require_factor, stop_requiring_factor
from console.accounts.services.sessions import end_other_sessions, end_session, expire, open_session, see

__all__ = [
    "end_other_sessions",
    "end_session",
    "expire",
    "forget_factors",
    "note_failure",
    "note_success",
    "open_session",
    "refuse_if_locked",
    "require_factor",
    "see",
    "stop_requiring_factor",
    "unlock",
]
