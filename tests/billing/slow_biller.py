"""An independent biller, slow and plain: it imports nothing of ours.

It walks time in steps of a quarter of an hour (no zone changes its clocks at any other moment), asks of each step
which local day and which price it lies in, and adds up. Money by integers only.
"""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

STEP = timedelta(minutes=15)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR_US = 3_600_000_000


def quarter_after(moment: datetime) -> datetime:
    return EPOCH + ((moment - EPOCH) // STEP + 1) * STEP


def price_at(prices: list[tuple[datetime, str | None]], moment: datetime) -> tuple[datetime, str] | None:
    """The last of `prices` (by time) that had begun; None where there was none or it was withdrawn."""
    found = None
    for start, amount in prices:
        if start <= moment:
            found = (start, amount)
    return None if found is None or found[1] is None else (found[0], found[1])


def bill(
    intervals: list[dict[str, object]], prices: dict[tuple[str, str], list[tuple[datetime, str | None]]], zone: str
) -> dict[tuple[str, str, str, str, datetime], tuple[int, int]]:
    """(month, project, model, isolation, start of the price) -> (microseconds, amount in cents), as invoiced.

    Each of `intervals` has start, end, project, model, isolation, num, den (the charged share).
    """
    held: dict[tuple[str, str, str, str, datetime], int] = {}
    cost: dict[tuple[str, str, str, str, datetime], Fraction] = {}
    for interval in intervals:
        product = (str(interval["model"]), str(interval["isolation"]))
        moment, end = interval["start"], interval["end"]
        assert isinstance(moment, datetime)
        assert isinstance(end, datetime)
        while moment < end:
            following = min([quarter_after(moment), end, *[s for s, _ in prices[product] if moment < s]])
            version = price_at(prices[product], moment)
            if version is not None:
                month = moment.astimezone(ZoneInfo(zone)).strftime("%Y-%m")
                key = (month, str(interval["project"]), *product, version[0])
                length = (following - moment) // timedelta(microseconds=1)
                share = Fraction(int(str(interval["num"])), int(str(interval["den"])))
                held[key] = held.get(key, 0) + length
                cost[key] = cost.get(key, Fraction(0)) + Fraction(version[1]) * share * length / HOUR_US
            moment = following
    return {key: (held[key], to_cents(cost[key])) for key in held}


def to_cents(amount: Fraction) -> int:
    """Halves up, by whole numbers."""
    return (amount.numerator * 200 + amount.denominator) // (2 * amount.denominator)
