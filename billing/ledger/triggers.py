"""The database itself keeps the books: nothing is edited, each posting sums to zero, balances follow the entries.

Entries come first, then their posting, whose row says that they are complete: looked at then, on both databases, with
no trigger that waits for the commit, which SQLite has not. The foreign key of an entry is looked at when the
transaction ends, so entries without a posting are refused there. On PostgreSQL, where several write at once, an entry
that slips in between another's posting and its commit is found by a constraint trigger at the end.
"""

from typing import Any

from billing import refusals
from console.common.triggers import Trigger

_KEPT = "the ledger is never edited: post a reversal"
_SUM = "SELECT {what} FROM ledger_entry WHERE posting_id = NEW.{key}"
_FOREIGN = (
    "EXISTS (SELECT 1 FROM ledger_entry AS e JOIN ledger_account AS a ON a.id = e.account_id"
    " WHERE e.posting_id = NEW.id AND (a.currency <> NEW.currency OR a.tenant_id <> NEW.tenant_id))"
)
_UNEQUAL = "a posting has two entries at least, and its debits equal its credits"
_STRANGE = "the entries of a posting are of its own tenant and currency"
_COMPLETE = "a posting is complete: nothing is added to it"
_BY_HAND = "a balance follows the entries of its account"
_MOVE = "UPDATE ledger_account SET balance = balance + NEW.amount, entries = entries + 1 WHERE id = NEW.account_id"


def _sum(what: str, key: str = "id") -> str:
    return f"({_SUM.format(what=what, key=key)})"


def _check_posting() -> tuple[Trigger, Trigger]:
    unequal = f"{_sum('COUNT(*)')} < 2 OR {_sum('SUM(amount)')} <> 0"
    sqlite = (
        f"AFTER INSERT ON ledger_posting BEGIN SELECT RAISE(ABORT, '{_UNEQUAL}') WHERE {unequal};"
        f" SELECT RAISE(ABORT, '{_STRANGE}') WHERE {_FOREIGN}; END"
    )
    function = f"BEGIN {_raise(unequal, _UNEQUAL)} {_raise(_FOREIGN, _STRANGE)} RETURN NULL; END"
    name = "weir_ledger_posting_adds_up"
    return Trigger(name, "ledger_posting", sqlite), Trigger(name, "ledger_posting", "AFTER INSERT", function)


def _move_balance() -> tuple[Trigger, Trigger]:
    name = "weir_ledger_entry_moves_balance"
    sqlite = f"AFTER INSERT ON ledger_entry BEGIN {_MOVE}; END"
    function = f"BEGIN {_MOVE}; RETURN NULL; END"
    return Trigger(name, "ledger_entry", sqlite), Trigger(name, "ledger_entry", "AFTER INSERT", function)


def _raise(condition: str, text: str) -> str:
    return f"IF {condition} THEN RAISE EXCEPTION '{text}' USING ERRCODE = 'integrity_constraint_violation'; END IF;"


TRIGGERS = [
    refusals.refuse("weir_ledger_posting_no_update", "ledger_posting", "UPDATE", _KEPT),
    refusals.refuse("weir_ledger_posting_no_delete", "ledger_posting", "DELETE", _KEPT),
    refusals.refuse("weir_ledger_entry_no_update", "ledger_entry", "UPDATE", _KEPT),
    refusals.refuse("weir_ledger_entry_no_delete", "ledger_entry", "DELETE", _KEPT),
    refusals.refuse("weir_ledger_account_no_delete", "ledger_account", "DELETE", _KEPT),
    refusals.refuse(
        "weir_ledger_account_fixed", "ledger_account", "UPDATE OF id, public_id, tenant_id, kind, currency", _KEPT
    ),
    refusals.refuse(
        "weir_ledger_account_empty",
        "ledger_account",
        "INSERT",
        _BY_HAND,
        when="NEW.balance <> 0 OR NEW.entries <> 0",
    ),
    refusals.refuse(
        "weir_ledger_balance_by_entry",
        "ledger_account",
        "UPDATE OF balance, entries",
        _BY_HAND,
        when="NEW.entries <> OLD.entries + 1 OR NEW.balance - OLD.balance <>"
        " (SELECT amount FROM ledger_entry WHERE account_id = NEW.id ORDER BY id DESC LIMIT 1)",
        when_postgresql="pg_trigger_depth() < 2",  # 1: a statement of somebody, 2: the trigger of an entry
    ),
    refusals.refuse(
        "weir_ledger_entry_in_time",
        "ledger_entry",
        "INSERT",
        _COMPLETE,
        when="EXISTS (SELECT 1 FROM ledger_posting WHERE id = NEW.posting_id)",
    ),
    _move_balance(),
    _check_posting(),
]
_LATE = (
    "CREATE OR REPLACE FUNCTION weir_ledger_entry_adds_up() RETURNS trigger LANGUAGE plpgsql AS $weir$ BEGIN "
    f"{_raise(_sum('SUM(amount)', 'posting_id') + ' <> 0', _UNEQUAL)} RETURN NULL; END $weir$",
    "DROP TRIGGER IF EXISTS weir_ledger_entry_adds_up ON ledger_entry",
    "CREATE CONSTRAINT TRIGGER weir_ledger_entry_adds_up AFTER INSERT ON ledger_entry DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION weir_ledger_entry_adds_up()",
)


def install(apps: Any, editor: Any) -> None:
    """RunPython hook."""
    refusals.install(editor, TRIGGERS)
    if editor.connection.vendor == "postgresql":
        for statement in _LATE:
            editor.execute(statement, params=None)
