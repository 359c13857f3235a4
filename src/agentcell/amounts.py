"""Amounts of US dollars ↔ what people write and read."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

from agentcell.adapters.price_table import shown
from agentcell.errors import PriceError
from agentcell.safe_text import shown_value

MOST = Decimal(1_000_000)
"""Dollars that a budget may have: more is a slip of the keyboard."""

_AMOUNT = re.compile(
    r"(?:(?:us)?\$|usd\b)?\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*"
    r"(?:usd|us\s?\$|\$|(?:us[- ]?)?dollars?)?",
    re.IGNORECASE,
)


def amount(value: object, what: str = "The budget") -> Decimal:
    """Return an amount of US dollars: ``2``, ``2.00``, ``"$2"``, ``"2.00 usd"``.

    Parameters
    ----------
    value
        A number, or a text.
    what
        What it is, for the message of an error.

    Raises
    ------
    PriceError
        If it is anything else, another currency, or not between 0 and `MOST`.
    """
    number = _number(value, what)
    if not number.is_finite() or not 0 <= number <= MOST:
        raise PriceError(
            f"{what} is {shown_value(value)}; 0 to {MOST:,} US dollars were expected.",
            fix="write for example 2.00 usd.",
        )
    return number


def _number(value: object, what: str) -> Decimal:
    if isinstance(value, str):
        found = _AMOUNT.fullmatch(value.strip())
        if found is not None:
            return Decimal(found["number"])
        raise PriceError(_no_amount(value, what), fix="write for example 2.00 usd.")
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        try:
            return Decimal(str(value))
        except (InvalidOperation, ValueError):
            return Decimal("nan")
    raise PriceError(
        f"{what} is {shown_value(value)}; an amount of US dollars was expected.",
        fix='write for example "2.00 usd".',
    )


def _no_amount(text: str, what: str) -> str:
    """Say what is wrong with a text that is no amount of dollars."""
    words = re.findall(r"[^\W\d_]+", text)
    signs = [one for one in text if unicodedata.category(one) == "Sc" and one != "$"]
    others = [word for word in words if word.lower() not in {"us", "usd", "dollar", "dollars"}]
    if re.search(r"\d", text) and (signs or others) and not re.search(r"\de[-+]?\d", text):
        unit = (signs or others)[0]
        return f"{what} is {shown_value(text)}: budgets are in US dollars, not in {unit[:20]}."
    if re.fullmatch(r"\D*\d{1,3}(,\d+)+(\.\d*)?\D*", text):
        return f"{what} is {shown_value(text)}; an amount without commas was expected."
    return f"{what} is {shown_value(text)}; an amount of US dollars was expected."


def dollars(value: Decimal) -> str:
    """Return an amount as people read it."""
    return shown(value)


def plain_amount(value: Decimal) -> str:
    """Return an amount as one writes it: at least two places, no sign."""
    text = f"{value.normalize():f}" if value else "0"
    places = len(text.partition(".")[2])
    return text if places >= 2 else f"{value:.2f}"  # noqa: PLR2004 (cents)


def next_cent(value: Decimal) -> Decimal:
    """Return an amount rounded up to whole cents, one at the least."""
    cents = value * 100
    whole = cents.to_integral_value(rounding="ROUND_CEILING")
    return max(whole, Decimal(1)) / 100
