"""Who may do what: the rules that every row of matrix.py is derived from. In words for people: docs/access.md.

People: nobody; `stranger`, the owner of another tenant; owner, member, viewer and billing contact of the tenant whose
things are asked for; operator, finance officer and auditor, whose powers are separate.

A rule names who `may` and from whom the thing is `hidden`: they get the answer of a thing that does not exist. Anyone
else is refused (403). Nobody is sent to the sign-in page (302), by the API refused (401).
"""

from dataclasses import dataclass, field
from typing import Any, Final

WHO: Final = ("nobody", "stranger", "owner", "member", "viewer", "billing", "operator", "finance", "auditor")
SIGNED_IN: Final = frozenset(WHO[1:])
TENANT: Final = frozenset({"owner", "member", "viewer", "billing"})
_WATCHERS: Final = frozenset({"operator", "auditor"})
_STRANGE: Final = frozenset({"stranger"})


@dataclass(frozen=True)
class Rule:
    says: str
    may: frozenset[str]
    hidden: frozenset[str] = frozenset()


OPEN = Rule("Open to everyone, signed in or not: it shows nothing of anyone.", frozenset(WHO))
OWN = Rule("For everyone who is signed in: it shows and changes what is their own, or is the same for all.", SIGNED_IN)

FLEET = Rule("The whole pool is for those who see all work: operators and auditors.", _WATCHERS)
WORK = Rule(
    "Work is seen by its tenant, whatever the role there, and by operators and auditors. Finance sees money, not work.",
    TENANT | _WATCHERS,
    frozenset({"stranger", "finance"}),
)
WORK_CHANGE = Rule(
    "Work is changed by owners and members of its tenant, and by operators. Others who see it may only look.",
    frozenset({"owner", "member", "operator"}),
    WORK.hidden,
)
SUBMIT = Rule(
    "Work is submitted in a tenant by its owners and members, and by operators. To a stranger no such tenant exists.",
    WORK_CHANGE.may,
    _STRANGE,
)
SUBMITTER = Rule(
    "The form for new work is for those who may submit it somewhere.", frozenset({"stranger"}) | WORK_CHANGE.may
)
QUEUE_CHANGE = Rule(
    "Queues are held, released and closed by owners of their tenant, and by operators.",
    frozenset({"owner", "operator"}),
    WORK.hidden,
)
QUEUE_CREATE = Rule(
    "Queues are added to a tenant by its owners, and by operators. To a stranger no such tenant exists.",
    QUEUE_CHANGE.may,
    _STRANGE,
)
QUEUE_MAKER = Rule(
    "The form for a new queue is for operators, and for owners of some tenant.",
    frozenset({"stranger"}) | QUEUE_CHANGE.may,
)
SHARING_CHANGE = Rule(
    "By which rules queues share the pool is set by operators only; everyone may read them.", frozenset({"operator"})
)
DEFRAG_CHANGE = Rule(
    "Plans of moves are asked for, approved and rejected, and their rules set, by operators; auditors may look.",
    frozenset({"operator"}),
)
CUT = Rule(
    "How a card can be cut next tells what neighbours hold: operators and auditors. To who may not see the card there "
    "is none.",
    _WATCHERS,
    frozenset({"stranger", "finance"}),
)
RESERVE = Rule(
    "Capacity is reserved for a tenant by operators only. To a stranger no such tenant exists.",
    frozenset({"operator"}),
    _STRANGE,
)
HARDWARE = Rule(
    "A node or card is seen by tenants while they hold something on it, and by operators and auditors.",
    WORK.may,
    WORK.hidden,
)
HARDWARE_CHANGE = Rule("Hardware is changed by operators only.", frozenset({"operator"}), WORK.hidden)

MONEY = Rule(
    "Lists of money: owners and billing contacts, of their own tenants; operators, finance and auditors.",
    frozenset({"stranger", "owner", "billing", "operator", "finance", "auditor"}),
)
MONEY_OF_TENANT = Rule(
    "One tenant's money: its owners and billing contacts, operators, finance, auditors. Members and viewers know "
    "that it is there and may not see it.",
    MONEY.may - _STRANGE,
    _STRANGE,
)
MONEY_OF_ALL = Rule(
    "The books of the whole pool: operators, finance and auditors.", frozenset({"operator", "finance", "auditor"})
)
MONEY_CHANGE = Rule(
    "Invoices are made and issued by finance only: no operator bills.", frozenset({"finance"}), _STRANGE
)
LEDGER_CHANGE = Rule("The ledger is written in by finance only.", frozenset({"finance"}))
PRICE_CHANGE = Rule("Prices are set by finance only; everyone may read them.", frozenset({"finance"}))

TOKEN_REVOKE = Rule(
    "A token is ended by its own person, and by an operator who has its id from the audit log. Others see none.",
    frozenset({"owner", "operator"}),
    SIGNED_IN - {"owner", "operator"},
)
PEOPLE_CHANGE = Rule(
    "People, projects and service accounts of a tenant are changed by its owners, and by operators, who set it up.",
    frozenset({"owner", "operator"}),
    WORK.hidden,
)
SERVICES = Rule(
    "Service accounts are seen by who manages them: owners of the tenant, operators; and by auditors.",
    PEOPLE_CHANGE.may | {"auditor"},
    WORK.hidden,
)
TENANT_CHANGE = Rule(
    "A tenant is suspended, resumed, closed and given its quota by operators only.",
    frozenset({"operator"}),
    WORK.hidden,
)
TENANT_CREATE = Rule("Tenants are made by operators only.", frozenset({"operator"}))
REVIEW = Rule(
    "Access is reviewed by auditors, of all, and by owners, of their own tenants: an operator does not review himself.",
    frozenset({"stranger", "owner", "auditor"}),
)
APPROVALS = Rule(
    "What waits for a second person is seen by who may approve such things, and by auditors.",
    frozenset({"operator", "finance", "auditor"}),
)
APPROVE = Rule(
    "What an operator asked for is decided on by another operator. To other powers it is not there; auditors may look.",
    frozenset({"operator"}),
    SIGNED_IN - {"operator", "auditor"},
)
SESSION_END = Rule(
    "A session is ended by its own person, and by an operator. Others see none.",
    TOKEN_REVOKE.may,
    TOKEN_REVOKE.hidden,
)
SIGN_IN_POLICY = Rule("How people must sign in, and who failed to, is seen by operators and auditors.", _WATCHERS)
SIGN_IN_CHANGE = Rule("How people must sign in is set, and locks are opened, by operators.", frozenset({"operator"}))
PROVIDER_LIST = Rule(
    "Sign-in providers are seen by operators and auditors, and a tenant's by its owners.",
    frozenset({"stranger", "owner"}) | _WATCHERS,
)
PROVIDER_ADD = Rule(
    "Sign-in providers are set up by operators, and by owners for their tenant.",
    frozenset({"stranger", "owner", "operator"}),
)
PROVIDER = Rule("One provider of a tenant: its owners, operators and auditors.", PROVIDER_LIST.may - _STRANGE, _STRANGE)
PROVIDER_CHANGE = Rule(
    "A tenant's provider is changed by its owners, and by operators.", frozenset({"owner", "operator"}), _STRANGE
)
AUDIT = Rule(
    "The audit log is read by tenant owners (their part), operators and auditors.",
    frozenset({"stranger", "owner"}) | _WATCHERS,
)
AUDIT_ENTRY = Rule("One entry of a tenant: its owners, operators and auditors.", AUDIT.may - _STRANGE, _STRANGE)


@dataclass(frozen=True)
class Row:
    """One method of one route. `yes`, `hidden`, `nobody`: the status where it is not the usual one."""

    rule: Rule
    method: str
    route: str
    yes: int = 200
    body: dict[str, Any] = field(default_factory=dict)
    hidden: int = 404
    nobody: int = 0

    def expected(self, who: str) -> int:
        if who == "nobody" and (self.nobody or who not in self.rule.may):
            return self.nobody or (401 if self.route.startswith("api/") else 302)
        if who in self.rule.may:
            return self.yes
        return self.hidden if who in self.rule.hidden else 403
