"""Text -> the dates in it, each as the days it can mean."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

Day = tuple[int | None, int | None, int | None]
"""Year, month and day of month; None where the text does not say."""


@dataclass(frozen=True, slots=True)
class DateFound:
    """A date in a text: where it begins and ends, and the days that it can mean."""

    start: int
    end: int
    days: frozenset[Day]


_MONTHS = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
    "0ct": 10,  # as a recogniser reads it
}
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|[o0]ct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_SHORT_YEAR = r"(?P<year>(?:19|20)\d\d|['’]?\d\d)"
_YEAR_END = r"(?=\D|$|\d\d?[:：]\d\d)"  # a recogniser may lose the space before the time
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}\s?年\s?(?P<m>\d\d?)\s?月(?:\s?(?P<d>\d\d?)\s?[日号])?",
        rf"(?<![\d./-]){_YEAR}\s?[-/.]\s?(?P<m>\d\d?)\s?[-/.]\s?(?P<d>\d\d?)(?=T?(?:\d\d:|\D|$))",
        rf"(?<![\d./-])(?P<a>\d\d?)\s?(?P<by>[-/.])\s?(?P<b>\d\d?)\s?(?P=by)\s?{_SHORT_YEAR}{_YEAR_END}",
        rf"(?<!\d)(?P<d>\d\d?)(?:st|nd|rd|th)?[\s.,-]*(?:of\s)?{_MONTH}[\s.,-]*{_SHORT_YEAR}(?!:){_YEAR_END}",
        rf"(?<![a-z]){_MONTH}[\s.]*(?P<d>\d\d?)(?:st|nd|rd|th)?[\s.,]+{_SHORT_YEAR}(?!:){_YEAR_END}",
        rf"(?<![a-z]){_MONTH}[\s.,-]*{_YEAR}(?!\d)",
        r"(?<!\d)(?P<m>\d\d?)\s?月\s?(?P<d>\d\d?)\s?[日号]",
        rf"(?<!\d)(?P<d>\d\d?)(?:st|nd|rd|th)?\s{_MONTH}(?![a-z])",
        rf"(?<![a-z]){_MONTH}\.?\s(?P<d>\d\d?)(?:st|nd|rd|th)?(?![\d:.,])",
        r"(?<!\d)(?P<year>20[0-4]\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?![\d-])",
    )
]

_ANY_MONTH = re.compile(r"jan|feb|mar|apr|may|jun|jul|aug|sep|[o0]ct|nov|dec", re.IGNORECASE)
_DATES_IN_NUMBERS = [pattern for pattern in _DATES if "month" not in pattern.pattern]


def find_dates(text: str) -> Iterator[DateFound]:
    """Yield the dates in `text`; those written in full come before those without a year."""
    taken: list[tuple[int, int]] = []
    has_month = bool(_ANY_MONTH.search(text))
    for pattern in _DATES if has_month else _DATES_IN_NUMBERS:
        for match in pattern.finditer(text):
            days = _days(match.groupdict())
            start, end = match.span()
            if days and all(end <= left or start >= right for left, right in taken):
                taken.append((start, end))
                yield DateFound(start, end, days)


def _days(parts: dict[str, str | None]) -> frozenset[Day]:
    year = _year(parts.get("year"))
    if parts.get("a"):  # 03/04/2026: two ways to read it
        a, b = int(parts["a"] or 0), int(parts["b"] or 0)
        return frozenset(day for day in ((year, a, b), (year, b, a)) if _is_day(day))
    name = parts.get("month")
    month = _MONTHS[name[:3].lower()] if name else int(parts.get("m") or 0)
    day_of_month = int(parts.get("d") or 0) or None
    day = (year, month, day_of_month)
    return frozenset({day}) if _is_day(day) else frozenset()


_FULL_YEAR = 100
_LAST_CENTURY = 70  # '70 is 1970, '69 is 2069


def _year(text: str | None) -> int | None:
    if not text:
        return None
    digits = int(text.strip("'’"))
    if digits >= _FULL_YEAR:
        return digits
    return digits + (2000 if digits < _LAST_CENTURY else 1900)


def _is_day(day: Day) -> bool:
    year, month, day_of_month = day
    try:
        dt.date(year or 2024, month or 0, day_of_month or 1)
    except ValueError:
        return False
    return True
