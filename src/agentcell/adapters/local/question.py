"""A question -> what it asks for: terms, the kind of value, and the words that name the thing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from agentcell.adapters.local.terms import Named, asked_terms, term
from agentcell.adapters.local.words import (
    CHINESE,
    chinese_pairs,
    english_words,
    folded,
    is_stop,
    language_of,
    stem,
)

Shape = Literal["fact", "overview", "list", "extreme"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked.

    Parameters
    ----------
    terms
        Names of terms (see `terms`), the most telling first.
    kind
        The kind of value that answers, ``money date time code …``; "" if any may.
    words
        Stems of the English words that name the thing: ``("coffe", "bean")``.
    runs
        The Chinese runs that do: ``("大米",)``.
    soft
        Stems of words such as ``receipt`` or ``hotel`` that say what is attached, or of whom.
    shape
        ``fact`` for one value, ``overview`` for what a document is, ``list`` for its items,
        ``extreme`` for the largest or smallest.
    sign
        Of an extreme: 1 for the largest, -1 for the smallest.
    search
        What to look for in sentences: all stems that carry meaning, and pairs of characters.
    """

    text: str
    language: str
    terms: tuple[str, ...] = ()
    kind: str = ""
    words: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    soft: tuple[str, ...] = ()
    shape: Shape = "fact"
    sign: int = 0
    search: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked that could be looked for."""
        return not (self.terms or self.kind or self.words or self.runs or self.shape != "fact")


_DOCUMENT_NOUNS = frozenset(
    """receipt invoice bill ticket document doc image picture photo photograph file pdf page
    statement order trip ride journey purchase transaction stay meal dinner lunch breakfast visit
    attachment form slip letter paper scan screenshot check cheque text table attached above below
    given shown printed written name called title answer sentence word brief short question reply
    respond only exactly first thing following number value detail info information overview line
    content please thank total here customer's kind type person people someone thing things""".split()
)
_ISSUER_NOUNS = frozenset(
    """store shop restaurant cafe café hotel company vendor merchant seller supplier business firm
    bank clinic hospital pharmacy chemist airline school university college market supermarket
    provider utility organisation organization issuer retailer agency garage station gym salon
    employer institution bakery bar pub diner bistro outlet operator landlord carrier institute
    place brand chain eatery pizzeria bookstore bookshop brewery theatre theater cinema museum
    academy authority venue charity foundation club association society trust office ministry team
    department library hall league publisher broker insurer contractor studio church embassy court issuing lab laboratory taxi cab parking motel inn hostel""".split()
)
_ISSUER_RUNS = (
    "超市 餐馆 餐厅 饭店 饭馆 酒店 公司 商家 商户 卖家 医院 药店 药房 银行 学校 机构 单位 店铺 商店 咖啡店"
    " 咖啡馆 航空公司 停车场 加油站 宾馆 门店 店家 书店 便利店 小店 食堂 诊所 旅馆 民宿 面馆 茶馆 饮品店"
    " 奶茶店 大学 学院 影院 电影院 火锅店 商场 商行 店 企业"
).split()
_ASKS_ISSUER = re.compile(
    r"\bwho\s(?:has\s)?(?:issued|sent|sold|billed|invoiced|charged|is\sbilling|is\scharging"
    r"|is\sinvoicing)(?:\s(?:this|that|it|the|me|us|my|our|a|an)\b|\s?\??$)"
    r"|\bwho\s(?:has\s)?(?:wrote|written|prepared|created|provided|made|signed\soff)\s(?:this|that|the)\s"
    r"(?:\w+\s)?(?:receipt|invoice|bill|document|statement|letter|report|form|quote|ticket|it)\b|\bfrom\swhom\b|\bissued\sby\b"
    r"|\bwho\s(?:is|was|'s)\s(?:it|this|that|the\s\w+|this\s\w+)\sfrom\b|\bwho(?:'s|\sis)\sit\sfrom"
    r"|\bwhere\s(?:was|were|did)\b.*\b(?:bought|purchased|buy|shop|shopped|eat|dine|stay|from"
    r"|purchase|made)\b|\bwhere\sis\s(?:it|this|that|the)\s?\w*\sfrom\b|\bwho\s(?:do|did|should|must)\s(?:i|we|he|she|they)\s(?:\w+\s)?pay\b"
    r"|谁开的|谁发的|哪家|谁开具|谁出具|哪里买|哪儿买|在哪里?买|哪里消费|在哪里?吃|店名|商家名|谁卖"
    r"|由谁开|谁收的钱|什么店|开票方|出票人|谁寄的"
)
_WHICH_ISSUED = re.compile(
    r"\b(?:which|what)\s(?:\w+\s)?(\w+)\s(?:has\s|is\s|was\s)?(?:issued|sent|sold|made|billed|provided|issuing"
    r"|is\sthis|was\sthis|is\sit|did|issues|wrote)\b"
)
_WHICH_IS_IT = re.compile(r"\b(?:which|what)\s(\w+)(?:\s(?:is|was)\s(?:it|this|that)(?:\s\w+)?)?\s?\??$")
_ASKS_NAME = re.compile(r"\b(?:name|called|which|what|who|whose|whom)\b|叫|名|哪|什么|谁")
_ASKS_CUSTOMER = re.compile(
    r"\bwho\s(?:was|is|were|has\sbeen)\s(?:billed|invoiced|charged|the\s\w+\s(?:billed|addressed|made"
    r"\sout|issued)?\s?(?:to|for))\b|\bwho\s(?:is|was)\s(?:it|this|this\s\w+|the\s\w+)\s(?:addressed\s"
    r"|billed\s|issued\s|made\sout\s)?(?:to|for)\b|\bwho\s(?:bought|paid|ordered|purchased|pays)\b"
    r"|\bwhose\b|\bto\swhom\b|开给谁|给谁|谁买的|谁付|谁的|寄给"
)
_OVERVIEW = re.compile(
    r"(?:please\s|can\syou\s|could\syou\s|and\s)*(?:"
    r"what(?:'s|\sis|\sare)?\s(?:in\s)?(?:this|that|it|these|(?:in|on)\s(?:this|the|these|it)|the)"
    r"(?:\s(?:attached|uploaded))?"
    r"(?:\s(?:image|picture|photo|document|file|pdf|attachment|receipt|page|scan|screenshot|paper"
    r"|invoice|bill|form|text|pictures|images|files))?(?:\s(?:about|for|of|show|here|contain))?"
    r"|what\s(?:do|does)\s(?:it|this|that|the|these)(?:\s\w+)?\s(?:say|show|contain|mean)"
    r"|what\s(?:do\syou|can\syou|can\si)\s(?:see|read)(?:\s.*)?|what\s(?:kind|type|sort)\sof\s.*"
    r"|(?:summari[sz]e|describe|transcribe|read|explain|ocr)\b(?:(?!\b(?:total|date|tax)\b).)*"
    r"|(?:give|write)\s(?:me\s)?(?:a\s)?(?:short\s|brief\s)?(?:summary|overview|description)\b.*"
    r"|tell\sme\s(?:about|what)\s(?:this|it|the|is|you)\b.*|(?:a\s)?summary(?:\splease)?"
    r"|extract\s(?:all\s)?(?:the\s)?text.*)"
)
_OVERVIEW_CHINESE = re.compile(
    r"(?:请|请问|帮我|能否|可以)*(?:这|这张|这个|图|图里|图片|图中|图片里|图片中|文件|文档|照片|上面|里面|它|内容|这份|这是"
    r"|主要|票|收据|小票|发票|账单|的|是|上|中|里|写着|写|说|讲|有|都|了|一下|简单|些|在|，)*"
    r"(?:什么|什么内容|哪些内容|内容|什么东西|啥|什么文件|什么图片|什么票据|什么单据|总结|概括|描述|摘要|概述|介绍)"
    r"(?:一下|这张|这个|图片|文件|文档|内容|收据|图|了|的|吗|呢|主要|写|讲|说|这份|发票|小票|账单|照片)*"
)
_LIST = re.compile(
    r"\blist\b.*\b(?:items?|products?|goods|dishes|purchases|things|charges|lines?)\b"
    r"|\b(?:what|which)\s(?:items?|products?|goods|dishes|things|food|services)\b(?!.*\b(?:most|least"
    r"|cheapest|highest|lowest|cost|costs)\b)"
    r"|\bwhat\s(?:did|have|had)\s(?:i|we|he|she|they|the\s\w+)\s(?:buy|order|purchase|eat|get|bought"
    r"|ordered|purchased)\b|\bwhat\s(?:was|were|is|are)\s(?:the\s)?(?:bought|ordered|purchased|items?"
    r"|products?|sold)\b|买了什么|买了哪些|买了啥|哪些商品|哪些菜|点了什么|点了哪些|列出|有哪些项目|什么商品|哪些东西"
)
_LARGEST = re.compile(
    r"\bmost\s(?:expensive|costly)|\b(?:highest|largest|biggest|dearest|priciest|costliest|maximum)\b"
    r"|最贵|最高|最大|最多"
)
_SMALLEST = re.compile(
    r"\bcheapest\b|\bleast\s(?:expensive|costly)|\b(?:lowest|smallest|minimum\sprice)\b|最便宜|最低|最小|最少"
)
_GENERIC = frozenset({"amount", "date", "time", "total", "person", "quantity", "unit_price"})
_KINDS = (
    (
        re.compile(
            r"\bhow\smany\b|多少(?:个|件|份|张|瓶|人|天|晚|位|次|页)|几(?:个|件|份|张|瓶|人|天|晚|位|次|页)"
        ),
        "count",
    ),
    (
        re.compile(r"\bhow\smuch\b|\bprice\b|\bcosts?\b|多少钱|价格|金额|多少元|什么价|\bfees?\b"),
        "money",
    ),
    (re.compile(r"\bwhat\stime\b|几点"), "time"),
    (re.compile(r"\bwhen\b|\bdate\b|\bwhat\sday\b|哪天|什么时候|日期|何时|几号"), "date"),
    (re.compile(r"\bpercent|%|百分|比例"), "percent"),
    (re.compile(r"\bwho\b|\bwhose\b|谁"), "name"),
    (re.compile(r"\bwhere\b|哪里|在哪|地址"), "place"),
    (re.compile(r"\bnumbers?\b|\bno\b\.?|\bid\b|\bcode\b|#|号码|编号|号是"), "code"),
)
_CHINESE_FILLER = re.compile(
    "请问|请|多大|多重|多长|多高|多远|告诉我|帮我|看看|检查|核对|并且|并|回答|问题|一下|什么时候|多少钱|多少元|多少|什么|哪一天|哪天|哪里|哪个|哪些"
    "|哪家|哪|几|谁|怎么|如何|是不是|是否|有没有|吗|呢|吧|啊|的|是|了|在|这张|这个|这份|这|那个|那|它|上面|上|里面|里|中"
    "|图片|图|照片|小票|收据|发票|账单|单据|票据|票|文件|文档|订单|附件|截图|一共|总共|叫做|叫|名字|名称|名|有|为|和|与|及"
    "|以及|给|把|被|由|从|到|我们|我|你|他|她|您|要|需要|想|知道|用|花|付|买|卖|点|写|说|显示|号码|编号|多|少|啥|呀|次"
    "|元|块|钱|每|个|份|件|这次|本次|其中|关于|情况|信息|内容|具体|可以|能|应该|应|该"
)
_SENTENCE_END = re.compile(r"(?<=[?？!！。；;\n])\s*|(?<=[a-z\u4e00-\u9fff)\]])\.(?:\s+|$)")
_PART = re.compile(r"\s*(?:,|，|、|\band\b|和|以及|还有|及|&|\bplus\b)\s*")


def softened(question: Question, known: frozenset[str]) -> Question:
    """Return `question` with the words of `known`, a document's title, said to be about it."""
    soft = tuple(word for word in question.words if word in known)
    if not soft or question.shape != "fact":
        return question
    words = tuple(word for word in question.words if word not in known)
    terms = question.terms
    if question.kind == "money" and terms in ((), ("amount",)) and not words and not question.runs:
        terms = ("total",)
    if question.kind == "name" and not terms:
        terms = ("person",)
    return replace(question, words=words, soft=(*question.soft, *soft), terms=terms)


@dataclass(frozen=True, slots=True)
class Asked:
    """One sentence that asks; `parts` holds the things that it joins by "and", if it does."""

    whole: Question
    parts: tuple[Question, ...] = ()


def parse_question(text: str) -> list[Asked]:
    """Return what `text` asks, its last sentence first; what asks for nothing is left out."""
    sentences = [piece.strip() for piece in _SENTENCE_END.split(text) if piece.strip()]
    marked = [piece for piece in sentences if piece.endswith(("?", "？"))]
    rest = [piece for piece in sentences if piece not in marked]
    asked = [_asked(sentence) for sentence in [*reversed(marked), *reversed(rest)]]
    return [each for each in asked if not each.whole.is_empty]


def _asked(sentence: str) -> Asked:
    whole = _parse(sentence)
    pieces = [piece for piece in _PART.split(sentence) if piece]
    if len(pieces) < 2 or whole.shape != "fact":  # noqa: PLR2004
        return Asked(whole)
    parts = []
    for piece in pieces:
        part = _parse(piece)
        if part.shape != "fact" or not (part.terms or part.words or part.runs):
            continue
        if not part.terms or not part.kind:  # "the coffee and the tea": both by price
            part = replace(part, kind=part.kind or whole.kind, terms=part.terms or _shared(whole))
        parts.append(part)
    distinct = {(part.terms, part.words, part.runs) for part in parts}
    return Asked(whole, tuple(parts)) if len(distinct) > 1 else Asked(whole)


def _shared(whole: Question) -> tuple[str, ...]:
    return tuple(name for name in whole.terms if name in _GENERIC)


def _parse(text: str) -> Question:
    language = language_of(text)
    plain = " ".join(folded(text).split())
    shape, sign = _shape(plain)
    question = Question(text=text, language=language, shape=shape, sign=sign)
    if shape == "overview":
        return question
    found, rest = asked_terms(text)
    kind = _asked_kind(plain)
    terms = _chosen(found, kind)
    rest = _with_dropped(folded(text), rest, found, terms)
    if "change" in terms and _is_verb(plain, "change"):
        terms = tuple(name for name in terms if name != "change")
    words = [word for word in english_words(rest) if not is_stop(word) and len(word) > 1]
    soft = [word for word in words if _is_soft(word)]
    runs = _chinese_focus(rest)
    firm = [stem(word) for word in words if not _is_soft(word)]
    terms, kind, firm, runs = _with_issuer(plain, terms, kind, firm, runs)
    if re.search(r"\b(?:which|what)\s(?:\w+\s)?card\b(?!\s?n)", plain):
        terms, kind = ("payment_method",), "text"
    if re.search(r"\bhow\s(?:did|was|is|were|do|does|has|have|will)\b(?!\smuch|\smany).*\b(?:pay|paid|payment|settled)\b", plain):
        terms, kind = ("payment_method",), "text"
    if kind == "name" and not terms:
        terms = ("person",)
    terms, kind = _with_route(plain, _with_payment(plain, terms, kind))
    if terms and terms[0] not in _GENERIC:
        wanted = term(terms[0]).kind
        is_clock = {wanted, kind} == {"date", "time"}  # "when" asks for either
        kind = ("time" if "time" in plain or "点" in plain else "") if is_clock else wanted
    elif terms and not kind:
        kind = term(terms[0]).kind
    if kind == "money" and terms in ((), ("amount",)) and not firm and not runs:
        terms = ("total",)
    if kind == "code" and not terms and not firm and not runs:
        terms = ("number",)
    return replace(
        question,
        terms=terms,
        kind=kind,
        words=tuple(dict.fromkeys(firm)),
        runs=tuple(runs),
        soft=tuple(dict.fromkeys(stem(word) for word in soft)),
        search=_search_words(plain),
    )


def _search_words(plain: str) -> tuple[str, ...]:
    words = [
        stem(word)
        for word in english_words(plain)
        if not is_stop(word) and word.removesuffix("s") not in _DOCUMENT_NOUNS
    ]
    bare = " ".join(_CHINESE_FILLER.sub(" ", plain).split())
    return tuple(dict.fromkeys([*words, *chinese_pairs(bare)]))


def _shape(plain: str) -> tuple[Shape, int]:
    bare = plain.strip(" ?？.。!！")
    if _LARGEST.search(bare):
        return "extreme", 1
    if _SMALLEST.search(bare):
        return "extreme", -1
    if _OVERVIEW.fullmatch(bare) or _OVERVIEW_CHINESE.fullmatch(bare):
        return "overview", 0
    if _LIST.search(bare):
        return "list", 0
    return "fact", 0


def _asked_kind(plain: str) -> str:
    for pattern, kind in _KINDS:
        if pattern.search(plain):
            return kind
    return ""


def _is_verb(plain: str, word: str) -> bool:
    return bool(
        re.search(rf"\b(?:to|must|can|could|should|did|does|may|will)\s(?:\w+\s)?{word}\b", plain)
    )


def _chosen(found: list[Named], kind: str) -> tuple[str, ...]:
    """Return the terms that are asked for; the generic ones only where there is no other."""
    names = list(dict.fromkeys(named.name for named in found))
    firm = {named.name for named in found if not named.asked}
    kinds = {term(name).kind for name in names}
    if kind in ("date", "time") and kinds & {"date", "time"}:
        # "By what date should it be paid" is no question about money.
        is_due = "due" in firm
        names = [name for name in names if term(name).kind in ("date", "time")]
        names += ["due_date"] if is_due else []
    if kind == "name":
        names = [name for name in names if term(name).kind in ("name", "text")]
    if kind == "money" and "money" in kinds:
        names = [name for name in names if term(name).kind in ("money", "count")]
    specific = [name for name in names if name not in _GENERIC]
    if specific:
        said = [name for name in specific if name in firm] or specific
        names = [name for name in said if term(name).kind == term(said[0]).kind]
    elif "total" in names:
        names = ["total"]
    return tuple(names)


def _with_dropped(plain: str, rest: str, found: list[Named], terms: tuple[str, ...]) -> str:
    """Return `rest` with the words of terms that are not asked for: the room of "the room's cost"."""
    for named in found:
        if named.name not in terms and named.name not in _GENERIC and not named.asked:
            rest = rest[: named.start] + plain[named.start : named.end] + rest[named.end :]
    return rest


def _is_soft(word: str) -> bool:
    singular = word.removesuffix("'s").removesuffix("s")
    return any(form in _DOCUMENT_NOUNS or form in _ISSUER_NOUNS for form in (word, singular))


def _chinese_focus(rest: str) -> list[str]:
    bare = _CHINESE_FILLER.sub(" ", rest)
    return [run for run in CHINESE.findall(bare) if run not in _ISSUER_RUNS]


_ROUTE = re.compile(
    r"\bwhere\b.*\b(?:flight|train|bus|ferry|plane|trip|travel\w*|passenger|he|she|they)\b"
)


def _with_route(plain: str, asked: tuple[tuple[str, ...], str]) -> tuple[tuple[str, ...], str]:
    terms, kind = asked
    if terms in ((), ("flight",), ("train",)) and _ROUTE.search(plain):
        return ("origin" if re.search(r"\bfrom\b", plain) else "destination",), "place"
    return terms, kind


def _with_payment(plain: str, terms: tuple[str, ...], kind: str) -> tuple[tuple[str, ...], str]:
    """Tell "when must I pay", which asks for the due date, from "when was it paid"."""
    is_paying = re.search(r"\bpa(?:y|id|yment)\b|付|交|缴|还款", plain)
    if kind != "date" or terms not in ((), ("date",)) or not is_paying:
        return terms, kind
    if re.search(r"\bdue\b|\bdeadline\b", plain):
        return ("due_date",), kind
    must = re.search(
        r"\b(?:must|should|have\sto|has\sto|need|needs|do\si|do\swe|latest)\b|要|应|需|必须|得",
        plain,
    )
    return ("due_date" if must else "pay_date",), kind


def _with_issuer(
    plain: str, terms: tuple[str, ...], kind: str, words: list[str], runs: list[str]
) -> tuple[tuple[str, ...], str, list[str], list[str]]:
    """Add the terms vendor or customer where the question asks who, or what something is called."""
    if _ASKS_CUSTOMER.search(plain) and not {"vendor"} & set(terms):
        is_named = any(term(name).kind == "name" for name in terms)
        return (terms if is_named else ("customer",)), "name", words, runs
    asks_issuer = kind in ("", "name", "place", "text") and bool(_ASKS_ISSUER.search(plain))
    if not asks_issuer and kind in ("", "name") and (match := _WHICH_ISSUED.search(plain)):
        asks_issuer = match[1] in _ISSUER_NOUNS
    match = _WHICH_IS_IT.search(plain)
    if match and kind in ("", "name") and not terms and match[1] in _ISSUER_NOUNS:
        asks_issuer = True
    if asks_issuer:
        return ("vendor",), "name", [], runs
    if terms and terms[0] not in ("vendor", "person", "order_no", "order_date", "paid", "amount"):
        return terms, kind, words, runs
    nouns = [word for word in english_words(plain) if word.removesuffix("'s") in _ISSUER_NOUNS]
    chinese = [noun for noun in _ISSUER_RUNS if noun in plain]
    names_issuer = bool(nouns or chinese) and bool(_ASKS_NAME.search(plain))
    if kind in ("money", "date", "time", "count", "percent", "code"):
        return terms, kind, words, runs
    if names_issuer or terms[:1] == ("vendor",):
        left = [run for run in runs if not any(noun in run for noun in chinese)]
        return ("vendor",), "name", words, left
    return terms, kind, words, runs
