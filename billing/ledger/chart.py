"""The chart of accounts, and which two accounts each plain movement is between."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from billing.ledger.models import DEBIT_SIDE, Account, Posting
from billing.rating.amounts import digits
from console.common.errors import FieldError, InvalidInput

A, P = Account.Kind, Posting.Kind
ORDER: Final = tuple(A)
LARGEST: Final = 10**15  # minor units


@dataclass(frozen=True, slots=True)
class Move:
    """What a finance officer books by hand: an amount out of `credit` into `debit`, as a bookkeeper says it."""

    debit: str
    credit: str
    says: str | Promise


MOVES: Final[dict[str, Move]] = {
    P.PAYMENT: Move(A.CASH, A.STORED, _("The tenant paid in: its stored value grows.")),
    P.REFUND: Move(A.STORED, A.CASH, _("Stored value is paid back.")),
    P.GRANT: Move(A.PROMOTIONS, A.CREDITS, _("Credits are given; they pay invoices before stored value does.")),
    P.WITHDRAW: Move(A.CREDITS, A.PROMOTIONS, _("Credits that are not used are taken back.")),
    P.CHARGE: Move(A.STORED, A.EARNED, _("Something outside invoices is paid from stored value.")),
    P.PREPAY: Move(A.STORED, A.DEFERRED, _("Stored value pays for time to come.")),
    P.EARN: Move(A.DEFERRED, A.EARNED, _("A part of what was prepaid has been delivered.")),
    P.LAPSE: Move(A.STORED, A.BREAKAGE, _("Stored value has lapsed by the terms of the contract.")),
}


def minor(amount: Decimal, currency: str, field: str = "amount") -> int:
    """Whole minor units: 12.34 CNY is 1234. Raises InvalidInput where the currency has fewer digits."""
    places = digits(currency)
    scaled = amount.scaleb(places) if amount.is_finite() else amount
    if not amount.is_finite() or scaled != scaled.to_integral_value() or abs(scaled) >= LARGEST:
        text = f"must be an amount of {currency} with at most {places} decimals, such as 100"
        raise InvalidInput([FieldError(field, text)])
    return int(scaled)


def major(amount: int, currency: str) -> Decimal:
    """1234 minor units of CNY are 12.34."""
    return Decimal(amount).scaleb(-digits(currency))


def natural(kind: str, balance: int) -> int:
    """A balance as a bookkeeper reads it: on the side on which its account grows."""
    return balance if kind in DEBIT_SIDE else -balance
