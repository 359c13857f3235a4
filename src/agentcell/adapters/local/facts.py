"""A document's rows -> facts: a label, its value, and the rows that show both.

Five layouts are read: ``Label: value`` in one cell, a label and its values in one row, a label
over its value, a table under a header, and values that need no label (a date, an address).
"""

# ruff: noqa: PLR2004 (distances are in heights of a letter, lengths in letters and words)

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from agentcell.adapters.local.rows import Cell, Row
from agentcell.adapters.local.terms import Named, is_aside, label_terms, term
from agentcell.adapters.local.values import Found, find_values, is_currency
from agentcell.adapters.local.words import CHINESE, content_words, folded, squashed

MAX_QUOTE = 200
"""Letters of a quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement of a document.

    Parameters
    ----------
    label, value
        As read; the label may be empty.
    quote
        The row or rows that show both.
    layout
        ``inline row over next table bare``: how label and value stand to each other.
    terms
        What the label stands for; see `terms`.
    words
        The stems of the label's words.
    columns
        In a table: each cell with its header, ``(("Qty", "6"), ("Amount", "£570.00"))``.
    """

    label: str
    value: str
    quote: str
    page: int
    row: int
    layout: str
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=8192)
def values_of(text: str) -> tuple[Found, ...]:
    """Return the values in `text`; what was looked at before is known."""
    return tuple(find_values(text))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell, and what it is: a label by itself, a value by itself, or neither."""

    cell: Cell
    named: tuple[Named, ...]
    is_value: bool
    is_label: bool
    is_whole: bool = False
    """A label with its value after a colon: no part of a row's other facts."""

    @property
    def text(self) -> str:
        return self.cell.text


@dataclass(slots=True)
class _Line:
    row: Row
    index: int
    cells: list[_Cell]
    used: set[int] = field(default_factory=set)
    """Cells that are part of a fact already."""
    is_header: bool = False

    @property
    def is_prose(self) -> bool:
        return len(self.cells) == 1 and _is_prose(self.cells[0].text)


def _is_prose(text: str) -> bool:
    """Tell whether `text` is a sentence, in which a colon or a number labels nothing."""
    if CHINESE.search(text):
        return sum(map(len, CHINESE.findall(text))) > 28
    return len(text.split()) > 11


def find_facts(rows: Sequence[Row]) -> list[Fact]:
    """Return the facts in `rows`, in their order."""
    lines = [_line(row, index) for index, row in enumerate(rows)]
    facts = list(_tables(lines))
    in_table = {fact.row for fact in facts if fact.columns}
    for line in lines:
        if not line.is_prose:
            facts += _inline(line)
        if not line.is_prose and not line.is_header:
            facts += _across(line, in_table=line.index in in_table)
    facts += _below(lines)
    facts += _stacked(lines)
    facts += _unlabelled(lines, facts)
    return sorted(facts, key=lambda fact: fact.row)


def _line(row: Row, index: int) -> _Line:
    if len(row.cells) == 1 and _is_prose(row.cells[0].text):
        return _Line(row, index, [_Cell(row.cells[0], (), is_value=False, is_label=False)])
    return _Line(row, index, [_cell(cell) for cell in row.cells])


def _cell(cell: Cell) -> _Cell:
    text = cell.text
    has_digit = any(letter.isdigit() for letter in text)
    letters = sum(letter.isalnum() for letter in text)
    valued = 0
    if has_digit:
        valued = sum(sum(letter.isalnum() for letter in found.text) for found in values_of(text))
    is_value = (has_digit and valued >= 0.6 * letters) or is_currency(text)
    named, rest = label_terms(text) if letters else ([], "")
    bare = text.rstrip().endswith((":", "："))
    is_label = not is_value and bool(named) and not content_words(rest) and not _chinese(rest)
    if bare and not is_value and letters and len(text) <= 48:
        is_label = True
    colon = _COLON.search(text)
    is_whole = bool(colon and text[: colon.start()].strip() and _is_value_of(text[colon.end() :]))
    return _Cell(
        cell, tuple(named), is_value=is_value and not is_whole, is_label=is_label, is_whole=is_whole
    )


def _chinese(text: str) -> bool:
    return bool(CHINESE.search(text))


def _fact(  # noqa: PLR0913 (each is a part of the fact)
    label: str,
    value: str,
    quote: str,
    line: _Line,
    layout: str,
    columns: tuple[tuple[str, str], ...] = (),
) -> Fact:
    named, _ = label_terms(label)
    return Fact(
        label=label.strip(),
        value=value.strip(),
        quote=clipped(quote),
        page=line.row.page,
        row=line.index,
        layout=layout,
        terms=tuple(dict.fromkeys(term.name for term in named)),
        words=tuple(content_words(label)),
        columns=columns,
    )


def clipped(quote: str) -> str:
    """Return `quote`, at most `MAX_QUOTE` letters of it, cut between words."""
    quote = quote.strip()
    if len(quote) <= MAX_QUOTE:
        return quote
    cut = quote[: MAX_QUOTE - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > MAX_QUOTE // 2 else cut).rstrip() + "…"


_COLON = re.compile(r"(?<!\d)\s*[:：]\s*(?!//)|(?<=\d)\s*[:：](?!\d)\s*|(?<=\d)\s*：\s*(?=\D)")


def _inline(line: _Line) -> Iterator[Fact]:
    """Yield the facts that stand in one cell: ``Date: 14 March``, ``Invoice no. 17``."""
    for number, cell in enumerate(line.cells):
        text = cell.text
        pairs = list(_pairs(text, cell.named))
        for label, value, pair in pairs:
            if not _is_value_of(value):
                continue
            line.used.add(number)
            alone = len(pairs) == 1 and len(line.cells) == 1
            yield _fact(label, value, line.row.text if alone else pair, line, "inline")


def _is_value_of(value: str) -> bool:
    return any(letter.isalnum() for letter in value) or "*" in value


def _pairs(text: str, named: Sequence[Named]) -> Iterator[tuple[str, str, str]]:
    """Yield each label and value in a cell's text, and the text of both."""
    plain = folded(text)
    if len(plain) != len(text):  # a character became two: places differ
        named = ()
    starts = _label_starts(text, named)
    for position, start in enumerate(starts):
        end = starts[position + 1] if position + 1 < len(starts) else len(text)
        piece = text[start:end].strip()
        within = [name for name in named if start <= name.start < end]
        colon = _COLON.search(piece)
        if colon and 0 < colon.start() <= 44 and any(map(str.isalpha, piece[: colon.start()])):
            yield piece[: colon.start()], piece[colon.end() :], piece
        elif within:
            # "Invoice no. NW-20418", "Please pay by 22 Sep 2026"
            last = within[0]
            for name in within[1:]:
                if name.name == last.name or not text[last.end : name.start].strip(" /()-"):
                    last = name
            value = text[last.end : end].strip(" .:：#-–")
            if _follows(text, last, value, is_first=not text[: last.start].strip()):
                yield text[start : last.end], value, piece


def _follows(text: str, name: Named, value: str, *, is_first: bool) -> bool:
    """Tell whether what comes after a term, without a colon, is its value."""
    if any(letter.isdigit() for letter in value) or "*" in value:
        return "(" not in value[:12] and not is_aside(text[name.end :])
    is_apart = text[name.end : name.end + 1].isspace()
    return is_first and is_apart and term(name.name).kind in ("name", "place", "text")


def _label_starts(text: str, named: Sequence[Named]) -> list[int]:
    """Return where the labels of a cell begin: at its start, and at each further term that comes
    after a value.
    """
    starts = [0]
    for before, name in zip(named, named[1:], strict=False):
        between = text[before.end : name.start]
        has_value = any(letter.isdigit() for letter in between) or (
            bool(re.search(r"[:：]\s*\S", between)) and bool(re.search(r"\s$", between))
        )
        if has_value and name.name != before.name:
            starts.append(name.start)
    return starts


def _across(line: _Line, *, in_table: bool) -> Iterator[Fact]:
    """Yield the facts that go across cells: a label, then its value or values."""
    cells = line.cells
    if len(cells) == 1:
        yield from _trailing(line)
        return
    if all(cell.is_whole for cell in cells):
        return
    if any(cell.is_value for cell in cells):
        groups = _value_groups(cells)
        for label_at, value_at in groups if len(groups) > 1 or not in_table else ():
            label = cells[label_at].text
            value = "  ".join(cells[i].text for i in value_at)
            line.used.update((label_at, *value_at))
            quote = line.row.text if len(groups) == 1 else f"{label}  {value}"
            yield _fact(label, value, quote, line, "row")
    for at, cell in enumerate(cells[:-1]):
        after = cells[at + 1]
        if at in line.used or after.is_label or after.is_value or not cell.is_label:
            continue
        if cell.is_whole or after.is_whole:
            continue
        if any(other.is_label for other in cells[at + 2 :]) or len(cells) == 2 or at % 2 == 0:
            line.used.update((at, at + 1))
            quote = line.row.text if len(cells) == 2 else f"{cell.text}  {after.text}"
            yield _fact(cell.text, after.text, quote, line, "row")
    if len(cells) >= 4 and len(cells) % 2 == 0:
        for at in range(0, len(cells), 2):
            pair = cells[at], cells[at + 1]
            if not line.used & {at, at + 1} and not any(cell.is_whole for cell in pair):
                line.used.update((at, at + 1))
                text = f"{pair[0].text}  {pair[1].text}"
                yield _fact(pair[0].text, pair[1].text, text, line, "row")
    is_pair = len(cells) == 2 and not line.used and not cells[1].is_label
    if is_pair and len(cells[0].text) <= 40 and not any(cell.is_whole for cell in cells):
        yield _fact(cells[0].text, cells[1].text, line.row.text, line, "row")


def _value_groups(cells: Sequence[_Cell]) -> list[tuple[int, list[int]]]:
    """Return the label of each run of values, as indices."""
    groups: list[tuple[int, list[int]]] = []
    label = -1
    for at, cell in enumerate(cells):
        if cell.is_whole:
            label = -1
        elif not cell.is_value:
            label = at
        elif label >= 0 and groups and groups[-1][0] == label:
            groups[-1][1].append(at)
        elif label >= 0:
            groups.append((label, [at]))
    before = [at for at, cell in enumerate(cells) if cell.is_value and (not groups or at < groups[0][0])]
    if before and not groups:  # "2 | Margherita": the number came first
        texts = [at for at, cell in enumerate(cells) if not (cell.is_value or cell.is_whole)]
        return [(texts[0], before)] if texts else []
    if before and len(groups) == 1:
        groups[0][1][:0] = before
    return groups


def _trailing(line: _Line) -> Iterator[Fact]:
    """Yield the fact of a line such as ``Coffee beans 11.75`` that is one cell."""
    text = line.cells[0].text
    found = [value for value in values_of(text) if value.kind not in ("email", "web")]
    if not found or found[-1].end < len(text.rstrip()) - 3 or 0 in line.used:
        return
    start = found[-1].start
    for value in reversed(found[:-1]):
        if text[value.end : start].strip(" xX@*×"):
            break
        start = value.start
    label = text[:start].strip(" .:-")
    if any(letter.isalpha() for letter in label):
        line.used.add(0)
        yield _fact(label, text[start:], line.row.text, line, "row")


def _tables(lines: Sequence[_Line]) -> Iterator[Fact]:
    """Yield the facts of tables: for each row, its cells under their headers."""
    for at, header in enumerate(lines):
        if not _is_header(header):
            continue
        body = list(_body(lines, at))
        for line in body:
            columns = tuple(_columns(header, line))
            if not columns:
                continue
            label = _row_label(line)
            quote = line.row.text
            rest = "  ".join(cell.text for cell in line.cells if cell.text != label)
            yield _fact(label, rest, quote, line, "table", columns)
        if body:
            layout = "over" if len(body) == 1 else "table"
            header.used.update(range(len(header.cells)))
            header.is_header = True
            for heading, text in _columns(header, body[0]):
                yield _fact(heading, text, f"{heading}  {text}", body[0], layout)


def _is_header(line: _Line) -> bool:
    cells = line.cells
    if len(cells) < 2 or any(cell.is_value for cell in cells):
        return False
    if any(len(cell.text) > 40 or cell.is_whole for cell in cells):
        return False
    if len(cells) == 2:
        return all(cell.is_label for cell in cells)
    return sum(bool(cell.named) for cell in cells) >= len(cells) / 3 or len(cells) >= 3


def _body(lines: Sequence[_Line], at: int) -> Iterator[_Line]:
    """Yield the rows of the table whose header is line `at`."""
    header = lines[at]
    before = header.row
    for line in lines[at + 1 : at + 60]:
        row = line.row
        if row.page != header.row.page or _is_header(line):
            return
        if row.top - before.top > 6 * max(row.height, before.height):
            return
        first = line.cells[0]
        if first.is_label and first.named and first.named[0].name in _SUM_TERMS:
            return
        if line.is_prose or any(cell.is_whole or _is_open(cell) for cell in line.cells):
            return
        starts_late = _distance(header.cells[0].cell, first.cell) > 4 * row.height
        if len(line.cells) <= len(header.cells) / 2 and (first.is_label or starts_late):
            return
        if len(line.cells) >= 2 or (len(header.cells) == 2 and line.cells[0].is_value):
            if not _is_aligned(header, line):
                return
            yield line
            before = row


def _is_open(cell: _Cell) -> bool:
    return cell.is_label and cell.text.endswith((":", "："))


def _is_aligned(header: _Line, line: _Line) -> bool:
    height = max(line.row.height, header.row.height)
    return all(
        min(_distance(head.cell, cell.cell) for head in header.cells) <= 3 * height
        for cell in line.cells
    )


_SUM_TERMS = frozenset(
    "total due paid subtotal tax tip service discount change tendered balance deposit".split()
)


def _columns(header: _Line, line: _Line) -> Iterator[tuple[str, str]]:
    """Yield each header with the cell under it."""
    taken: dict[int, str] = {}
    for cell in line.cells:
        at = min(range(len(header.cells)), key=lambda i: _distance(header.cells[i].cell, cell.cell))
        gap = _distance(header.cells[at].cell, cell.cell)
        if gap > 6 * max(line.row.height, header.row.height):
            continue
        taken[at] = f"{taken[at]}  {cell.text}" if at in taken else cell.text
    for at, text in sorted(taken.items()):
        yield header.cells[at].text, text


def _distance(a: Cell, b: Cell) -> float:
    """Return how far apart two columns are: 0 if they overlap or share an edge."""
    overlap = min(a.right, b.right) - max(a.left, b.left)
    middle = abs(a.left + a.right - b.left - b.right) / 2
    nearest = min(abs(a.left - b.left), abs(a.right - b.right), middle)
    return nearest if overlap <= 0 else nearest * 0.25


def _row_label(line: _Line) -> str:
    texts = [cell.text for cell in line.cells if not cell.is_value]
    return max(texts, key=lambda text: sum(map(str.isalpha, text))) if texts else ""


def _below(lines: Sequence[_Line]) -> Iterator[Fact]:
    """Yield the facts of labels over their values: in the next row, in the same place."""
    for at, line in enumerate(lines):
        for number, cell in enumerate(line.cells):
            is_tail = len(line.cells) == 1 and _ends_in_label(cell)
            if number in line.used or not (cell.is_label or is_tail):
                continue
            if any(other.is_value for other in line.cells[number + 1 : number + 2]):
                continue
            for below in lines[at + 1 : at + 3]:
                under = _under(cell.cell, line.row, below)
                if under is not None:
                    line.used.add(number)
                    quote = f"{cell.text}  {under}"
                    yield _fact(cell.text, under, quote, line, "after" if is_tail else "next")
                    break


def _ends_in_label(cell: _Cell) -> bool:
    """Tell whether a line leads to the next: "has completed the course"."""
    text = cell.text.rstrip()
    if cell.is_label or cell.is_value or cell.is_whole or not cell.named or len(text.split()) > 7:
        return False
    return len(folded(text)) == len(text) == cell.named[-1].end


def _under(label: Cell, row: Row, below: _Line) -> str | None:
    if below.row.page != row.page:
        return None
    height = max(row.height, below.row.height)
    if below.row.top - row.top > 3.2 * height:
        return None
    for cell in below.cells:
        overlap = min(label.right, cell.cell.right) - max(label.left, cell.cell.left)
        is_aligned = abs(label.left - cell.cell.left) < 1.5 * height or (
            abs(label.right - cell.cell.right) < 1.5 * height
        )
        if (is_aligned or overlap > 0) and not cell.is_label:
            return cell.text
    return None


def _stacked(lines: Sequence[_Line]) -> Iterator[Fact]:
    """Yield the facts of goods whose name stands over their numbers."""
    for line, below in zip(lines, lines[1:], strict=False):
        if line.row.page != below.row.page or line.is_prose or below.is_prose:
            continue
        if below.row.top - line.row.top > 3.2 * max(line.row.height, below.row.height):
            continue
        has_money = any(found.kind == "money" for found in values_of(below.row.text))
        own_money = any(found.kind == "money" for found in values_of(line.row.text))
        if not has_money or own_money or any(cell.named for cell in line.cells):
            continue
        if {name.name for cell in below.cells for name in cell.named} - {"quantity", "unit_price"}:
            continue
        if _letters(below.row.text) <= 4 < _letters(line.row.text):
            name = max((cell.text for cell in line.cells), key=_letters)
            quote = f"{line.row.text}  {below.row.text}"
            yield _fact(name, below.row.text, quote, line, "next")


_DETAILS = frozenset(
    """qty quantity refills refill pcs pc ea each unit units price kg lb oz ml at x sku no item code rm
    usd eur gbp disc off pack size colour color 数量 单价 件 个""".split()
)


def _letters(text: str) -> int:
    """Return how many letters of words are in `text`, those of codes and units left out."""
    words = re.findall(r"[^\W\d_]{2,}", " ".join(re.findall(r"[^\d\s]{2,}", text)))
    return sum(len(word) for word in words if folded(word) not in _DETAILS)


_PAYMENT = re.compile(
    r"\bvisa\b|master\s?card|\bamex\b|american\s?express|maestro|union\s?pay|paypal|apple\s?pay"
    r"|google\s?pay|contactless|\b(?:debit|credit)\b(?:\scard)?|bank\stransfer|direct\sdebit"
    r"|银联|微信|支付宝|alipay|wechat|刷卡|信用卡|储蓄卡|银行转账|云闪付|现金支付|\bcheque\b"
)
_COUNTED = re.compile(r"\b(\d{1,3})\s?(?:items?|articles|products)\b|共\s?(\d+)\s?件", re.IGNORECASE)
_TRAIN = re.compile(r"[GDCZTKY]\d{1,4}")
_FLIGHT = re.compile(r"[A-Z]{2}\s?\d{2,4}")
_SEAT = re.compile(r"(?:\d{1,2}\s?车\s?)?\d{1,2}[A-HJK](?:\s?号)?")
_HOLDER = re.compile(r"\d{4,}[*\s]{4,}[\dX]{3,5}\s*([\u4e00-\u9fff]{2,4})")  # on Chinese tickets
_CARD_END = re.compile(r"[*xX•.·]{2,}\s?-?\s?\d{3,6}\b|ending\s(?:in\s)?\d{4}|尾号\D{0,3}\d{4}")
_STREET = re.compile(
    r"\b\d+[a-z]?(?:[-/]\d+[a-z]?)?,?\s+(?:[\w.'’-]+\s+){1,4}(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr"
    r"|boulevard|blvd|way|square|sq|place|pl|plaza|court|ct|parkway|pkwy|highway|hwy|terrace|close"
    r"|quay|row|walk|crescent|alley|hill|gardens|pier|wharf|embankment)\b"
    r"|\b(?:jalan|jln|lorong|lrg|lot|taman|tmn|rue|via|calle|avenida|persiaran)\b|^no\.?\s?\d+\w?[,-]"
    r"|\w+(?:straße|strasse|str\.|weg|platz|gasse)\s?\d+|\bp\.?o\.?\sbox\b"
    r"|\b(?:suite|floor|unit|level|apt)\s?\.?#?\s?\d"
)
_POSTCODE = re.compile(
    r"\b[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2}\b|\b[a-z]{2},?\s\d{5}(?:-\d{4})?\b|^\d{5},?\s[a-z]{4,}"
)
_PLACE_CHINESE = re.compile(r"(?:省|市|区|县|镇|街道|路|大街|街|巷|弄|大道|大厦|广场|村)")
_HOUSE_CHINESE = re.compile(r"\d+\s?(?:号|弄|楼|室|层|幢|栋)")


def is_address(text: str) -> bool:
    """Tell whether `text` looks like a line of an address."""
    plain = folded(text)
    if len(plain) > 120:
        return False
    if len(_PLACE_CHINESE.findall(plain)) >= 2 or (
        _PLACE_CHINESE.search(plain) and _HOUSE_CHINESE.search(plain)
    ):
        return True
    return bool(_STREET.search(plain) or _POSTCODE.search(plain))


def _unlabelled(lines: Sequence[_Line], facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the facts that need no label: dates, times, addresses, cards, ways to pay."""
    under_label: dict[int, set[str]] = {}
    for fact in facts:
        if fact.layout in ("over", "next", "table") and set(fact.terms) & _DATED:
            under_label.setdefault(fact.row, set()).add(fact.value)
    for line in lines:
        if line.is_prose:
            continue
        for cell in line.cells:
            if cell.text not in under_label.get(line.index, ()):
                yield from _bare(cell, line)
    yield from _addresses(lines)


def _bare(cell: _Cell, line: _Line) -> Iterator[Fact]:
    text = cell.text
    plain = folded(text)
    names = {name.name for name in cell.named}
    for found in values_of(text):
        name = {
            "date": "date",
            "time": "time",
            "phone": "phone",
            "email": "email",
            "web": "website",
        }.get(found.kind)
        if name and not names & _DATED:
            yield _bare_fact(found.text, text, line, name)
    for name, pattern in (("train", _TRAIN), ("flight", _FLIGHT), ("seat", _SEAT)):
        if pattern.fullmatch(text.strip()):
            yield _bare_fact(text, text, line, name)
    if match := _COUNTED.search(text):
        yield _bare_fact(match[1] or match[2], text, line, "item_count")
    if match := _HOLDER.search(text):
        yield _bare_fact(match[1], text, line, "person")
    money = [found for found in values_of(text) if found.kind == "money" and found.currency]
    before = [other for other in line.cells if other.cell.left < cell.cell.left]
    is_alone = all(other.is_value for other in before)
    if len(money) == 1 and is_alone:
        yield _bare_fact(money[0].text, line.row.text, line, "amount")
    if _PAYMENT.search(plain):
        yield _bare_fact(text, line.row.text, line, "payment_method")
    if match := _CARD_END.search(text):
        yield _bare_fact(match.group(), text, line, "card")


_DATED = frozenset(
    """due_date expiry birth check_in check_out arrival departure period ship_date fax boarding
    valid_from end_date opening_hours""".split()
)


def _bare_fact(value: str, quote: str, line: _Line, *names: str) -> Fact:
    return Fact(
        label="",
        value=value.strip(),
        quote=clipped(quote),
        page=line.row.page,
        row=line.index,
        layout="bare",
        terms=names,
    )


_LAST_ADDRESS_ROW = 16
"""Unlabelled addresses stand in the head; further down, digits and names are goods."""


def _addresses(lines: Sequence[_Line]) -> Iterator[Fact]:
    """Yield runs of address lines as one fact each, with the lines that go on with one."""
    run: list[tuple[_Line, str]] = []
    for at, line in enumerate(lines):
        text = _address_text(line, lines[at + 1] if at + 1 < len(lines) else None, run)
        if text and len(run) < 5:
            run.append((line, text))
            continue
        if run:
            yield _address(run)
        run = []
    if run:
        yield _address(run)


def _address_text(line: _Line, after: _Line | None, run: Sequence[tuple[_Line, str]]) -> str:
    """Return the part of a row that is an address, or goes on with the one of the row before."""
    labels = {"address", "ship_address", "service_address"}
    for cell in line.cells:
        names = {name.name for name in cell.named}
        text = cell.text
        if cell.is_whole and names & labels:
            colon = _COLON.search(text)
            return text[colon.end() :] if colon else text
        if cell.is_label or (cell.is_whole and not is_address(text)) or line.index > _LAST_ADDRESS_ROW:
            continue
        if any(found.kind in ("money", "date", "phone", "email") for found in values_of(text)):
            continue
        if is_address(text):
            return text
        is_plain = not cell.named and 3 < len(text) <= 48 and not cell.is_whole
        goes_on = bool(run) and run[-1][1].rstrip().endswith(",")
        leads_on = text.rstrip().endswith(",") or (bool(run) and _has_address(after))
        if is_plain and (goes_on or leads_on):
            return text
    return ""


def _has_address(line: _Line | None) -> bool:
    return line is not None and any(is_address(cell.text) for cell in line.cells)


def _address(run: Sequence[tuple[_Line, str]]) -> Fact:
    joined = ", ".join(text.strip(" ,.，") for _, text in run)
    return _bare_fact(joined, joined, run[0][0], "address")


def texts_of(facts: Iterable[Fact]) -> str:
    """Return the facts' labels and values, a line each: for a look at what was read."""
    return "\n".join(f"{fact.layout}: {fact.label} = {fact.value}" for fact in facts)


def squashed_label(fact: Fact) -> str:
    """Return a fact's label without spaces: a recogniser loses some."""
    return squashed(fact.label)
