"""Exact usage as what a page and a file show: amounts that add up to the total that is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _

from billing.format import money
from billing.metering.queries import UsageRow
from billing.rating.amounts import digits, largest_remainder
from billing.rating.amounts import money as rounded_money

WEEK, DAY_MS = 7, 86_400_000


@dataclass(frozen=True, slots=True)
class Shown:
    """`amounts`: (rounded amount, currency) for each currency of the whole table."""

    label: str
    held_us: int
    card_us: Fraction
    unrated_us: int
    amounts: tuple[tuple[Decimal, str], ...]

    @property
    def money(self) -> str:
        return " + ".join(money(value, currency) for value, currency in self.amounts if value) or "–"


def table(rows: Sequence[UsageRow], whole: UsageRow) -> tuple[list[Shown], Shown]:
    """(rows, total). The total of each currency is rounded half-up, and its parts by largest remainder."""
    currencies = sorted(whole.amounts)
    parts = {currency: _parts(rows, whole.amounts[currency], currency) for currency in currencies}
    shown = [
        _shown(row, row.label, tuple((parts[currency][i], currency) for currency in currencies))
        for i, row in enumerate(rows)
    ]
    totals = tuple((rounded_money(whole.amounts[currency], currency), currency) for currency in currencies)
    return shown, _shown(whole, _("Total"), totals)


def _parts(rows: Sequence[UsageRow], whole: Fraction, currency: str) -> list[Decimal]:
    exact = [row.amounts.get(currency, Fraction(0)) for row in rows]
    if whole <= 0 or min(exact) < 0:  # corrections: what is negative cannot be a part of a whole
        return [rounded_money(value, currency) for value in exact]
    return largest_remainder(rounded_money(whole, currency), exact, digits(currency))


def _shown(row: UsageRow, label: str, amounts: tuple[tuple[Decimal, str], ...]) -> Shown:
    return Shown(label, row.held_us, row.card_us, row.unrated_us, amounts)


def _days(labels: Sequence[str]) -> dict[str, Any]:
    """Never more than one mark a day: plotly.js would mark the hours of a few days, each with the same text."""
    if not labels:
        return {}
    first, last = date.fromisoformat(labels[0]), date.fromisoformat(labels[-1])
    if (last - first).days >= WEEK:
        return {"nticks": WEEK + 1}
    noon = datetime.combine(last, time(12))
    shown = [(noon - timedelta(days=WEEK)).isoformat(), noon.isoformat()]
    return {"dtick": DAY_MS, "tick0": labels[-1], "range": shown}


def figure(rows: Sequence[Shown], currency: str) -> dict[str, Any]:
    """Amounts by day as JSON for plotly.js; colours are tokens that static/js/charts.js replaces."""
    axis = {"gridcolor": "{line}", "zerolinecolor": "{line}", "linecolor": "{line}", "fixedrange": True}
    bars = {
        "type": "bar",
        "name": currency,
        "x": [row.label for row in rows],
        # a height on the screen, not an amount: the table beside it has the exact one
        "y": [float(sum(value for value, own in row.amounts if own == currency)) for row in rows],
        "width": 0.65 * DAY_MS,
        "marker": {"color": "{accent}"},
        "hovertemplate": "%{x}<br>%{y:,.2f} " + currency + "<extra></extra>",
    }
    layout = {
        "height": 190,
        "margin": {"l": 56, "r": 10, "t": 10, "b": 30},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "{font}", "size": 11.5, "color": "{muted}"},
        "showlegend": False,
        "hoverlabel": {"bgcolor": "{card}", "bordercolor": "{line}", "font": {"color": "{ink}"}},
        "xaxis": {**axis, "type": "date", "tickformat": "%m-%d", **_days([row.label for row in rows])},
        "yaxis": {**axis, "rangemode": "tozero", "nticks": 5, "tickformat": ",.0f"},
    }
    return {"data": [bars], "layout": layout}
