"""The wording of a question -> the shape of its answer, the kind of value, and whom it is about."""

from __future__ import annotations

import re
from typing import Literal

from agentcell.adapters.local.words import CHINESE, english_words, stem, word_set

Shape = Literal["fact", "overview", "list", "extreme"]
"""One value; what a document is; its goods; the largest or smallest of something."""


DOCUMENT_NOUNS = word_set(
    """receipt invoice bill ticket document doc image picture photo photograph file pdf page
    statement order trip ride journey purchase transaction stay meal dinner lunch breakfast visit
    attachment form slip letter paper scan screenshot check cheque text table attached above below
    given shown printed written name called title answer sentence word brief short question reply
    respond only exactly first thing following number value detail info information overview line
    content please thank total here customer's kind type person people someone thing things
    customer client patient guest passenger student employee tenant member buyer"""
)
"""Words that say what is attached, or how to answer, and name nothing in it."""

ISSUER_NOUNS = word_set(
    """store shop restaurant cafe café hotel company vendor merchant seller supplier business firm
    bank clinic hospital pharmacy chemist airline school university college market supermarket
    provider utility organisation organization issuer retailer agency garage station gym salon
    employer institution bakery bar pub diner bistro outlet operator landlord carrier institute
    place brand chain eatery pizzeria bookstore bookshop brewery theatre theater cinema museum
    academy authority venue charity foundation club association society trust office ministry team
    department library hall league publisher broker insurer contractor studio church embassy court
    issuing lab laboratory taxi cab parking motel inn hostel"""
)

ISSUER_RUNS = word_set(
    """超市 餐馆 餐厅 饭店 饭馆 酒店 公司 商家 商户 卖家 医院 药店 药房 银行 学校 机构 单位 店铺
    商店 咖啡店 咖啡馆 航空公司 停车场 加油站
    宾馆 门店 店家 书店 便利店 小店 食堂 诊所 旅馆 民宿 面馆
    茶馆 饮品店 奶茶店 大学 学院 影院 电影院 火锅店 商场 商行 店 企业"""
)

_THING = (
    r"(?:image|picture|photo|photograph|document|file|pdf|attachment|receipt|page|scan|screenshot"
    r"|paper|invoice|bill|form|text|letter|report|contract|ticket|content|statement|slip)s?"
)
_POINTING = rf"(?:this|that|it|these|the|my|attached|uploaded|following|above|{_THING})"
# Possessive, so that a long question which is none of these takes no time to tell.
_POINTED = rf"{_POINTING}(?:\s{_POINTING})*+"
_OVERVIEW = re.compile(
    rf"(?:(?:please|can\syou|could\syou|and|so)\s)*+(?:"
    rf"what(?:'s|\sis|\sare)?\s(?:(?:in|on)\s)?{_POINTED}(?:\s(?:about|for|of|show|here|contain))?"
    rf"|what\s(?:do|does)\s{_POINTED}\s(?:say|show|contain|mean)"
    r"|what\s(?:do\syou|can\syou|can\si)\s(?:see|read)(?:\s(?:here|in|on)\b.*)?"
    rf"|what\s(?:kind|type|sort)\sof\s{_THING}(?:\s(?:is|are)\s{_POINTED})?"
    rf"|(?:summari[sz]e|describe|transcribe|read|explain|ocr)"
    rf"(?:\s(?:me|us|all|of|in|briefly|{_POINTING}))*+"
    r"|(?:give|write)\s(?:me\s)?(?:an?\s)?(?:short\s|brief\s)?(?:summary|overview|description)\b.*"
    rf"|tell\sme\s(?:about|what\sis\sin|what\sis\son)\s{_POINTED}"
    rf"|tell\sme\swhat\s{_POINTED}\s(?:is|says)"
    rf"|(?:a\s)?summary(?:\sof\s{_POINTED})?|extract\s(?:all\s)?(?:the\s)?text.*)(?:\splease)?"
)
_OVERVIEW_CHINESE = re.compile(
    r"(?:请问|请|帮我|能否|可以|这张|这个|这份|这是|这|图片里|图片中|图片|图里|图中|图|文件|文档|照片|上面|里面|它"
    r"|内容(?=[是写说讲有])|主要|收据|小票|发票|账单|票|的|是|上|中|里|写着|写|说|讲|有|都|了|一下|简单|些|在|，)*+"
    r"(?:什么内容|哪些内容|什么东西|什么文件|什么图片|什么票据|什么单据|什么|内容|啥|总结|概括|描述|摘要|概述|介绍)"
    r"(?:一下|这张|这个|这份|图片|图|文件|文档|内容|收据|小票|发票|账单|照片|了|的|吗|呢|主要|写|讲|说)*+"
)
_LIST = re.compile(
    r"\blist\b.*\b(?:items?|products?|goods|dishes|purchases|things|charges|lines?)\b"
    r"|\b(?:what|which)\s(?:items?|products?|goods|dishes|things|food|services)\b"
    r"(?!.*\b(?:most|least|cheapest|highest|lowest|cost|costs)\b)"
    r"|\bwhat\s(?:did|have|had)\s(?:i|we|he|she|they|the\s\w+)\s(?:buy|order|purchase|eat|get"
    r"|bought|ordered|purchased)\b|\bwhat\s(?:was|were|is|are)\s(?:the\s)?(?:bought|ordered"
    r"|purchased|items?|products?|sold)\b"
    r"|买了什么|买了哪些|买了啥|哪些商品|哪些菜|点了什么|点了哪些|列出|有哪些项目|什么商品|哪些东西"
)
_LARGEST = re.compile(
    r"\bmost\s(?:expensive|costly)|\b(?:highest|largest|biggest|dearest|priciest|costliest|maximum)\b"
    r"|最贵|最高|最大|最多"
)
_SMALLEST = re.compile(
    r"\bcheapest\b|\bleast\s(?:expensive|costly)|\b(?:lowest|smallest|minimum\sprice)\b"
    r"|最便宜|最低|最小|最少"
)


def shape_of(plain: str) -> tuple[Shape, int]:
    """Return the shape of the answer, and for an extreme 1 (the largest) or -1.

    `plain` is folded here and in all that follows, with single spaces.
    """
    bare = plain.strip(" ?？.。!！")
    if _LARGEST.search(bare):
        return "extreme", 1
    if _SMALLEST.search(bare):
        return "extreme", -1
    if _OVERVIEW.fullmatch(bare) or _OVERVIEW_CHINESE.fullmatch(bare):
        return "overview", 0
    return ("list" if _LIST.search(bare) else "fact"), 0


_COUNTERS = "个|件|份|张|瓶|人|天|晚|位|次|页"
_KINDS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("count", rf"\bhow\smany\b|多少(?:{_COUNTERS})|几(?:{_COUNTERS})"),
        ("money", r"\bhow\smuch\b|\bprice\b|\bcosts?\b|\bfees?\b|多少钱|价格|金额|多少元|什么价"),
        ("time", r"\bwhat\stime\b|几点"),
        ("date", r"\bwhen\b|\bdate\b|\bwhat\sday\b|哪天|什么时候|日期|何时|几号"),
        ("percent", r"\bpercent|%|百分|比例"),
        ("name", r"\bwho\b|\bwhose\b|谁"),
        ("place", r"\bwhere\b|哪里|在哪|地址"),
        ("code", r"\bnumbers?\b|\bno\b\.?|\bid\b|\bcode\b|#|号码|编号|号是"),
    )
)


def kind_of(plain: str) -> str:
    """Return the kind of value that the wording asks for; "" if it does not say."""
    return next((kind for kind, pattern in _KINDS if pattern.search(plain)), "")


_COUNTED = re.compile(r"\bhow\smany\s(\w+)")


def counted(plain: str) -> str:
    """Return the stem of what is counted: of hours in "how many hours of labor"; "" if nothing."""
    match = _COUNTED.search(plain)
    return stem(match[1]) if match else ""


_ISSUED = re.compile(
    r"\bwho\s(?:has\s)?(?:issued|sent|sold|billed|invoiced|charged|is\sbilling|is\scharging"
    r"|is\sinvoicing)(?:\s(?:this|that|it|the|me|us|my|our|a|an)\b|\s?\??$)"
    r"|\bwho\s(?:has\s)?(?:wrote|written|prepared|created|provided|made|signed\soff)\s(?:this|that"
    r"|the)\s(?:\w+\s)?(?:receipt|invoice|bill|document|statement|letter|report|form|quote|ticket|quotation"
    r"|estimate|certificate|order|contract)\b"
    r"|\bfrom\swhom\b|\bissued\sby\b"
    r"|\bwho(?:'s|\sis|\swas)\s(?:it|this|that|the\s\w+|this\s\w+)\sfrom\b"
    r"|\bwhere\s(?:was|were|did)\b.*\b(?:bought|purchased|buy|shop|shopped|eat|dine|stay|from"
    r"|purchase|made)\b|\bwhere\sis\s(?:it|this|that|the)\s?\w*\sfrom\b"
    r"|\bwho\s(?:do|did|should|must)\s(?:i|we|he|she|they)\s(?:\w+\s)?pay\b"
    r"|谁开的|谁发的|哪家|谁开具|谁出具|哪里买|哪儿买|在哪里?买|哪里消费|在哪里?吃|店名|商家名|谁卖"
    r"|由谁开|谁收的钱|什么店|开票方|出票人|谁寄的|由哪|谁颁发|谁签发"
    r"|哪个(?:学院|学校|大学|机构|单位|公司|部门|银行|医院|协会|商家)"
)
_WHICH_ISSUED = re.compile(
    r"\b(?:which|what)\s(?:\w+\s)?(\w+)\s(?:has\s|is\s|was\s)?(?:issued|sent|sold|made|billed"
    r"|provided|issuing|is\sthis|was\sthis|is\sit|did|issues|wrote)\b"
)
_WHICH_IS_IT = re.compile(
    r"\b(?:which|what)\s(\w+)(?:\s(?:is|was)\s(?:it|this|that)(?:\s\w+)?)?\s?\??$"
)
_NAMES = re.compile(r"\b(?:name|called|which|what|who|whose|whom)\b|叫|名|哪|什么|谁")


def asks_issuer(plain: str) -> bool:
    """Tell whether it asks who issued the document, sent it, or sold: "which shop is it?"."""
    if _ISSUED.search(plain):
        return True
    return any(
        (match := pattern.search(plain)) and match[1] in ISSUER_NOUNS
        for pattern in (_WHICH_ISSUED, _WHICH_IS_IT)
    )


def names_issuer(plain: str) -> bool:
    """Tell whether it asks what an issuer is called: "the name of the hotel", 超市叫什么."""
    nouns = any(word in ISSUER_NOUNS for word in english_words(plain))
    return (nouns or any(noun in plain for noun in ISSUER_RUNS)) and bool(_NAMES.search(plain))


_CUSTOMER = re.compile(
    r"\bwho\s(?:was|is|were|has\sbeen)\s(?:billed|invoiced|charged|the\s\w+\s(?:billed|addressed"
    r"|made\sout|issued)?\s?(?:to|for))\b|\bwho\s(?:is|was)\s(?:it|this|this\s\w+|the\s\w+)\s"
    r"(?:addressed\s|billed\s|issued\s|made\sout\s)?(?:to|for)\b"
    r"|\bwho\s(?:bought|paid|ordered|purchased|pays)\b|\bwhose\b|\bto\swhom\b"
    r"|\bwho\s(?:has\sto|have\sto|must|should|needs\sto|is\sto|will)\spay\b|开给谁|给谁|谁买的|谁付|谁的|寄给"
)


def asks_customer(plain: str) -> bool:
    """Tell whether it asks to whom the document was issued, or who paid."""
    return bool(_CUSTOMER.search(plain))


_WAY_TO_PAY = re.compile(
    r"\b(?:which|what)\s(?:\w+\s)?card\b(?!\s?n)"
    r"|\bhow\s(?:did|was|is|were|do|does|has|have|will)\b.*\b(?:pay|paid|payment|settled)\b"
)


def asks_way_to_pay(plain: str) -> bool:
    """Tell whether it asks by what means something was paid."""
    return bool(_WAY_TO_PAY.search(plain)) and not re.search(r"\bhow\s(?:much|many)\b", plain)


_PAYING = re.compile(r"\bpa(?:y|id|yment)\b|付|交|缴|还款")
_DUE = re.compile(
    r"\bdue\b|\bdeadline\b|\b(?:must|should|have\sto|has\sto|need|needs|do\si|do\swe|latest)\b"
    r"|要|应|需|必须|得"
)


def paying_date(plain: str) -> str:
    """Return the term of a date that is asked for with a payment.

    "When must I pay" asks for the due date, "when was it paid" for the date of payment; "" where
    no payment is spoken of.
    """
    if not _PAYING.search(plain):
        return "due_date" if re.search(r"\bdue\b|\bdeadline\b", plain) else ""
    return "due_date" if _DUE.search(plain) else "pay_date"


_ROUTE = re.compile(
    r"\bwhere\b.*\b(?:flight|train|bus|ferry|plane|trip|travel\w*|passenger|he|she|they)\b"
    r"|\bwhere\s(?:does|do|did|will)\b.*\b(?:start|begin|depart|go|end|arrive|lead)\b"
)


def route_end(plain: str) -> str:
    """Return the term of the end of a journey that is asked for, or ""."""
    if not _ROUTE.search(plain):
        return ""
    return (
        "origin" if re.search(r"\b(?:from|start|starts|begin|depart)\b", plain) else "destination"
    )


def is_verb(plain: str, word: str) -> bool:
    """Tell whether an English `word` is used as a verb: "can I change the date"."""
    helped = rf"\b(?:to|must|can|could|should|did|does|may|will)\s(?:\w+\s)?{word}\b"
    return bool(re.search(helped, plain))


def is_soft(word: str) -> bool:
    """Tell whether an English word says what is attached or of whom, and names nothing in it."""
    return any(
        form in DOCUMENT_NOUNS or form in ISSUER_NOUNS for form in (word, word.removesuffix("s"))
    )


_FILLER = re.compile(
    "请问|请|住了|住|多大|多重|多长|多高|多远|告诉我|帮我|看看|检查|核对|并且|并|回答|问题|一下|什么时候|多少钱|多少元|多少|什么"
    "|哪一天|哪天|哪里|哪个|哪些|哪家|哪|几|谁|怎么|如何|是不是|是否|有没有|吗|呢|吧|啊|的|是|了|在|这张|这个|这份|这|那个|那"
    "|它|上面|上|里面|里|中|图片|图|照片|小票|收据|发票|账单|单据|票据|票|文件|文档|订单|附件|截图|一共|总共|叫做|叫|名字"
    "|名称|名|有|为|和|与|及|以及|给|把|被|由|从|到|我们|我|你|他|她|您|要|需要|想|知道|用|花|付|买|卖|点|写|说|显示|号码|编号"
    "|多|少|啥|呀|次|元|块|钱|每|个|份|件|这次|本次|其中|关于|情况|信息|内容|具体|可以|能|应该|应|该"
)


def without_filler(plain: str) -> str:
    """Return `plain` without the Chinese words of asking, a space for each."""
    return " ".join(_FILLER.sub(" ", plain).split())


def chinese_focus(plain: str) -> list[str]:
    """Return the Chinese runs that name the thing asked for: 大米 of 大米多少钱."""
    return [run for run in CHINESE.findall(without_filler(plain)) if run not in ISSUER_RUNS]
