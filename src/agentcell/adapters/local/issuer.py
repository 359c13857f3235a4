"""A document's rows -> who issued it: the shop, the company, the hotel.

Few documents say "vendor: …". The name stands at the top, often larger, and often ends in Ltd or
公司; a title (INVOICE), an address, a date or the customer's name stand there too.
"""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from agentcell.adapters.local.addresses import is_address
from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import LONGEST_CELL, values_of
from agentcell.adapters.local.rows import Row
from agentcell.adapters.local.terms import label_terms
from agentcell.adapters.local.words import CHINESE, content_words, folded, word_set

_LOOKED_AT = 12  # rows from the top


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """A name that may be the issuer's, with how likely it is: from 0 to 1."""

    name: str
    quote: str
    page: int
    row: int
    score: float


_COMPANY = re.compile(
    r"\b(?:ltd|limited|inc|llc|llp|corp|corporation|gmbh|plc|pty|sdn|bhd|s\.?a\.?r?\.?l?|co|company|ag|kg"
    r"|b\.?v|[s5]/[b8]|oy|ab|srl|s\.?r\.?l|spa|pte|enterprise|trading|group|holdings|partners|associates|bros"
    r"|consulting|services|solutions|industries|international|supplies|systems)\b\.?"
    r"|公司|集团|商行|有限|事务所|合作社"
)
_PLACE = re.compile(
    r"\b(?:store|shop|market|mart|supermarket|grocery|grocers?|restaurant|ristorante|trattoria|pizzeria"
    r"|bistro|cafe|café|coffee|bakery|boulangerie|patisserie|bar|pub|grill|kitchen|diner|deli|hotel|inn"
    r"|hostel|resort|suites|motel|pharmacy|drugstore|chemist|clinic|hospital|medical|dental|bank|airlines?"
    r"|airways|air|taxi|cabs?|parking|garage|petrol|fuel|gas|station|energy|power|water|electric|telecom"
    r"|mobile|university|college|school|academy|institute|hardware|books?|bookshop|bookstore|electronics"
    r"|fashion|boutique|salon|spa|gym|fitness|studio|cinema|theat(?:re|er)|museum|library|foods?|farm"
    r"|garden|florist|optical|motors?|auto|logistics|express|railway|rail|council|authority|department"
    r"|laborator(?:y|ies)|labs?|insurance|stationery|furniture|toys|sports?|wines?|house)\b"
    r"|超市|餐馆|餐厅|饭店|饭馆|酒店|宾馆|药店|药房|大药房|银行|学校|大学|学院|医院|诊所|商店|便利店|书店|咖啡"
    r"|小馆|面馆|茶馆|酒楼|酒家|食堂|停车场|加油站|航空|影院|影城|商场|百货|店|馆|铺|厂|中心|局|铁路"
)
_TITLE = re.compile(
    r"(?:tax\s?invoice|invoice|receipt|cash\s?(?:receipt|bill|sales?|memo)|sales\s?(?:receipt|slip)|bill"
    r"|statement|account\sstatement|bank\sstatement|pay\s?slip|pay\s?stub|boarding\s?pass|ticket|e-?ticket"
    r"|order|order\s?(?:summary|confirmation|details|receipt)|trip\s?receipt|quotation|quote|estimate"
    r"|credit\s?note|delivery\snote|packing\s?slip|guest\s?(?:folio|bill|check)|folio|booking|reservation"
    r"|confirmation|prescription|report|lab(?:oratory)?\s?report|certificate.*|simplified\stax\sinvoice"
    r"|customer\s?copy|merchant\s?copy|original|duplicate|copy|welcome.*|thank\syou.*|your\s\w+|page.*"
    r"|official\s?receipt|purchase\sorder|proforma\sinvoice|remittance\sadvice|earnings\sstatement|paid"
    r"|utility\sbill|payment\sreceipt|parking\s(?:ticket|receipt)|rental\sagreement|contract|agreement"
    r"|(?:\w+\s){0,3}(?:receipt|invoice|statement|notice|agreement|certificate|form|report|card|ticket"
    r"|bill|slip|pass|contract|quotation|confirmation|summary|itinerary|folio|license|licence)"
    r"|dine[\s-]?in|take[\s-]?(?:away|out)|table.*|ride\sreceipt|fuel\sreceipt|details|summary"
    r"|tax\sinvoice.*adjustment.*|bill\sto.*|sold\sto.*|.*\b(?:order|订单)\s?(?:confirmed|placed)\b.*"
    r"|.*(?:发票|收据|小票|账单|清单|凭证|回单|工资条|工资单|登机牌|订单详情|订单|证书|证明|报告单?|报告|结账单"
    r"|对账单|电子客票|车票|欢迎光临|谢谢.*|通知单|缴费单|处方笺?|处方|病历|合同|协议|预结单|点菜单|存根|专用)"
    r"(?:[（(].*[）)])?)"
)
_NOT_ISSUER = word_set(
    """customer guest passenger patient employee person cashier waiter doctor driver signatory
    invoice_no receipt_no order_no account_no reference table room seat gate flight tax_id
    registration_no phone fax email website transaction_no id_no card date time total
    invoice_date due_date order_date booking bill_no check_in check_out statement_date po_no
    departure arrival boarding address ship_address service_address origin destination plate
    period birth expiry certificate_no tracking quantity unit_price"""
)


def find_issuers(
    rows: Sequence[Row], facts: Sequence[Fact], hints: Sequence[str] = ()
) -> list[Issuer]:
    """Return who may have issued the document, the likeliest first.

    Parameters
    ----------
    hints
        Words of the question that say what kind of issuer it is: ``hotel``, ``超市``.
    """
    found = [_labelled(fact) for fact in facts if "vendor" in fact.terms and _is_name(fact.value)]
    if rows:
        usual = statistics.median(row.height for row in rows[:60])
        first_page = [row for row in rows if row.page == rows[0].page]
        others = _names_of_others(facts)
        for index, row in enumerate(first_page[:_LOOKED_AT]):
            if any(found.kind == "money" for found in values_of(row.text)):
                continue  # goods
            for text in (cell.text[:LONGEST_CELL] for cell in row.cells):
                name = _bare_name(text)
                score = _top_score(_Head(text, name, row, index, usual, tuple(hints)))
                if score > 0 and name not in others:
                    quote = _quote(text, row)
                    found.append(
                        Issuer(name=name, quote=quote, page=row.page, row=index, score=score)
                    )
        found += _at_the_end(first_page, others)
    return sorted(found, key=lambda issuer: -issuer.score)


def is_title(row: Row) -> bool:
    """Tell whether a row says what the document is: INVOICE, 增值税发票."""
    return any(is_title_text(cell.text) for cell in row.cells)


def is_title_text(text: str) -> bool:
    """Tell whether `text` is what a document calls itself."""
    return bool(_TITLE.fullmatch(folded(text).strip(" *-=#.!")))


def _labelled(fact: Fact) -> Issuer:
    score = 0.95 if fact.layout in ("inline", "row", "over") else 0.85
    if fact.layout == "table":
        score = 0.5
    return Issuer(name=fact.value, quote=fact.quote, page=fact.page, row=fact.row, score=score)


def _is_name(text: str) -> bool:
    letters = sum(letter.isalpha() for letter in text)
    return letters >= max(2, 0.4 * len(text.replace(" ", ""))) and len(text) <= 80


def _names_of_others(facts: Sequence[Fact]) -> set[str]:
    """Return the names that are labelled as someone else's: the customer's, the guest's."""
    return {
        fact.value
        for fact in facts
        if set(fact.terms) & {"customer", "guest", "passenger", "patient", "employee", "person"}
    }


_REGISTRATION = re.compile(r"[(（<\[][^()（）]*\d[^()（）]*[)）>\]]")


def _bare_name(text: str) -> str:
    """Return the part of a cell that can be a name: no date, no number in brackets."""
    name = text
    for found in reversed(values_of(text)):
        if found.kind in ("date", "time", "phone", "web", "email"):
            name = name[: found.start] + name[found.end :]
    name = _REGISTRATION.sub(" ", name)
    return name.strip(" -–—|·,;:*=#.'\"")


def _quote(text: str, row: Row) -> str:
    return row.text if len(row.text) <= 90 and text in row.text else text


@dataclass(frozen=True, slots=True)
class _Head:
    """A cell among the first rows, and what its look depends on."""

    text: str
    name: str
    row: Row
    index: int
    usual: float
    """The usual height of a letter."""
    hints: tuple[str, ...]

    @property
    def plain(self) -> str:
        return folded(self.name)

    @property
    def letters(self) -> int:
        return sum(letter.isalpha() for letter in self.name)

    @property
    def digits(self) -> int:
        return sum(letter.isdigit() for letter in self.name)


def _top_score(head: _Head) -> float:
    """Return how likely a cell at the top is the issuer's name, by its place, look and words."""
    if head.letters < 2 or len(head.name) > 70:
        return 0.0
    if any(found.kind in ("money", "email") for found in values_of(head.text)):
        return 0.0
    if is_title_text(head.name):
        return 0.05
    score = 0.62 - 0.035 * head.index + _by_look(head) + _by_words(head)
    return max(0.0, min(score, 0.93))


def _by_look(head: _Head) -> float:
    score = 0.08 if head.index == 0 else 0.0
    if head.usual:
        score += min(0.18, 0.22 * max(0.0, head.row.height / head.usual - 1.05))
    score -= 0.6 * max(0.0, 0.97 - head.row.confidence)
    if head.letters <= 3 and not CHINESE.search(head.name):
        score -= 0.25
    if head.name[:1].islower() or _UNLIKELY.search(head.name):
        score -= 0.12
    if head.digits > 0.3 * (head.letters + head.digits):
        score -= 0.35
    elif head.digits:
        score -= 0.04
    if len(head.plain.split()) > 7 or head.plain.endswith((".", "。", "!", "?")):
        score -= 0.15
    return score


_UNLIKELY = re.compile(r"[a-z][A-Z][a-z]*\b|[^\w\s.&'’,()/+-]{2}")  # misread logos and scribbles


def _by_words(head: _Head) -> float:
    is_company = bool(_COMPANY.search(head.plain))
    score = 0.2 if is_company else 0.0
    if _PLACE.search(head.plain):
        score += 0.09
    if any(hint in head.plain for hint in head.hints):
        score += 0.16
    if is_address(head.name):
        score -= 0.12 if is_company else 0.3
    named, rest = label_terms(head.name)
    is_label = bool(named) and (":" in head.text or "：" in head.text)
    is_all_named = not (content_words(rest) or CHINESE.search(rest))
    if any(each.name in _NOT_ISSUER for each in named) and (
        is_label or is_all_named or head.digits
    ):
        score -= 0.45
    return score


def _at_the_end(rows: Sequence[Row], others: set[str]) -> list[Issuer]:
    """Return names from thanks such as "Thank you for shopping at Green Valley"."""
    found = []
    for index, row in enumerate(rows):
        match = re.search(
            r"(?:thank\syou\sfor\s(?:shopping|dining|staying|flying|banking|visiting|choosing|parking)"
            r"(?:\s(?:at|with|in|us\sat))?|welcome\sto)\s+(?P<name>[A-Z][\w&'’. -]{2,40})",
            row.text,
            re.IGNORECASE,
        )
        if match and match["name"].lower().strip(" .!") not in ("us", "our store", "again"):
            name = match["name"].strip(" .!")
            if name not in others:
                found.append(
                    Issuer(name=name, quote=row.text, page=row.page, row=index, score=0.55)
                )
    return found
