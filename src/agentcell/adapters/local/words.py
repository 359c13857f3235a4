"""Text -> the words to match by: English stems, Chinese runs, forgiving of misread letters."""

# ruff: noqa: PLR2004 (lengths of words, in letters)

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`, as a set."""
    return frozenset(text.split())


CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_LETTERS = r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+"
_WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})?|\d+(?:[.,:/-]\d+)*")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\ua000-\ua4cf\uac00-\ud7ff]")

_TRADITIONAL = str.maketrans(
    "總計應數發單號碼稅實額間開訂購銷賣買費銀電話員價館餐廳飯務臺檯時戶賬帳聯優惠郵遞貨運"
    "備註簽證職薪資醫藥處門診檢驗報險繳欠餘結還滿減點顧謝機場達離際車終檔課級學業區縣鄉鎮"
    "樓層項類東產質廠國壹貳參肆陸萬圓錢這個張誰麼嗎裡裏稱幾後從給寫說話圖護證藥師歲齊帳統編財補將"
    "頭麵飲豬雞魚鴨麥紅綠藍黃齒牙療術麗華園鐵橋龍風雲馬鳥車輛輪軟體網絡線續專業務團隊會員號碼見視聽讀",
    "总计应数发单号码税实额间开订购销卖买费银电话员价馆餐厅饭务台台时户账账联优惠邮递货运"
    "备注签证职薪资医药处门诊检验报险缴欠余结还满减点顾谢机场达离际车终档课级学业区县乡镇"
    "楼层项类东产质厂国壹贰叁肆陆万圆钱这个张谁么吗里里称几后从给写说话图护证药师岁齐账统编财补将"
    "头面饮猪鸡鱼鸭麦红绿蓝黄齿牙疗术丽华园铁桥龙风云马鸟车辆轮软体网络线续专业务团队会员号码见视听读",
)

_ENDINGS = (
    "izations",
    "ization",
    "ational",
    "ations",
    "ation",
    "ities",
    "ments",
    "ment",
    "ings",
    "ing",
    "edly",
    "ied",
    "ies",
    "ions",
    "ion",
    "ed",
    "es",
    "ly",
    "s",
    "e",
)

_STOP = word_set(
    """a an the of on in at to for from by with and or is are was were be been being am do does did
    doing done have has had having it its this that these those there here i me my mine we us our
    you your he him his she her they them their what which who whom whose when where why how can
    could would will shall should may might must please tell show give find say says said let know
    want need like as if then than so any some all each every no not yes ok okay s t re ve ll m d
    about into out up down over under again also just only very much many more most such other
    same own mean means get got make made see look read does per one
    """
)


def folded(text: str) -> str:
    """Return `text` in one form: full-width to half, lower case, simplified characters.

    It keeps its length, so that places in it are places in `text`.
    """
    if text.isascii():
        return text.lower()
    return "".join(map(_folded_letter, text))


@cache
def _folded_letter(letter: str) -> str:
    plain = unicodedata.normalize("NFKC", letter).lower().translate(_TRADITIONAL)
    return plain if len(plain) == 1 else letter


def squashed(text: str) -> str:
    """Return the letters and digits of `text` alone: what is left where spaces were lost."""
    return "".join(letter for letter in folded(text) if letter.isalnum())


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return an English word without its usual ending: ``cost`` for ``costs`` and ``costing``."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (4 if len(ending) > 3 else 3):
            if ending == "s" and word.endswith("ss"):
                return word
            cut = word[: -len(ending)]
            if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "sl":
                cut = cut[:-1]  # shipped, shipping: ship
            return cut + "i" if ending in ("ied", "ies") else cut
    if word.endswith("y"):
        return word[:-1] + "i"
    return word


def english_words(text: str) -> list[str]:
    """Return the words and numbers of `text` that are not Chinese, folded."""
    words: list[str] = _WORD.findall(folded(text))
    return [word[:-2] if word.endswith(("'s", "’s")) else word for word in words]


def content_words(text: str) -> list[str]:
    """Return the stems of the words that carry meaning."""
    return [base for word in english_words(text) if (base := _meaning(word))]


@lru_cache(maxsize=20_000)
def _meaning(word: str) -> str:
    return "" if is_stop(word) else stem(word)


_WEAK = word_set(
    """fee last latest day charg cost item product pric servic dish goods purchas bought includ
    us use used made set need requir happen list written going sent currenc spent spend money
    monei state given amount shop go eat ate din travel took take place hold occur creat sign
    visit travell charged total pay paid pai good unit piec achiev receiv obtain complet earn
    got reach rang level result measur report"""
)
"""Stems that name no thing of their own; not finding them says little."""


def weight_of(stem_of_word: str) -> float:
    """Return how much a word tells: 1, or a quarter for one that names no thing of its own."""
    return 0.25 if stem_of_word in _WEAK else 1.0


def is_stop(word: str) -> bool:
    """Tell whether `word` carries no meaning of its own; ``what's`` carries none either."""
    return word.replace("’", "'").partition("'")[0] in _STOP


def chinese_runs(text: str) -> list[str]:
    """Return the runs of Chinese characters in `text`, folded."""
    return CHINESE.findall(folded(text))


def chinese_pairs(text: str) -> list[str]:
    """Return each two neighbouring Chinese characters of `text`; what one searches prose by."""
    return [run[i : i + 2] for run in chinese_runs(text) for i in range(max(1, len(run) - 1))]


def likeness(asked: str, seen: str) -> float:
    """Return from 0 to 1 how well a stem that was read is the one that was asked for.

    1 if they are the same, less where one begins the other or one letter in five differs: a
    recogniser takes 0 for O and l for I.
    """
    if asked == seen:
        return 1.0
    shorter, longer = sorted((asked, seen), key=len)
    if len(shorter) >= 4 and longer.startswith(shorter):
        return 0.9 if len(longer) - len(shorter) <= 3 else 0.6
    if not 4 <= len(asked) <= 40 or abs(len(asked) - len(seen)) > 2 or asked.isdigit():
        return 0.0
    allowed = 1 if len(asked) < 8 else 2
    if asked.translate(_LOOKALIKES) == seen.translate(_LOOKALIKES):
        return 0.95
    return 0.8 if _distance_within(asked, seen, allowed) else 0.0


_LOOKALIKES = str.maketrans("01lij!|5s8b", "oiiiiiissbb")


def _distance_within(a: str, b: str, allowed: int) -> bool:
    """Tell whether at most `allowed` letters must be changed, added or dropped to make a of b."""
    if a[0] != b[0] and a[-1] != b[-1]:
        return False
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            change = before + (letter != other)
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, change)
        if min(row) > allowed:
            return False
    return row[-1] <= allowed


def common_run(asked: str, seen: str) -> int:
    """Return the length of the longest piece that both hold."""
    best = 0
    for start in range(len(asked)):
        while start + best < len(asked) and asked[start : start + best + 1] in seen:
            best += 1
    return best


def language_of(question: str) -> str:
    """Return ``en``, ``zh`` or ``other``, by the script and the commonest small words."""
    if _KANA.search(question):
        return "other"
    if CHINESE.search(question):
        return "zh"
    letters = [letter for letter in question if letter.isalpha()]
    if _OTHER_SCRIPT.search(question):
        return "other"
    if any(not letter.isascii() for letter in letters) or "¿" in question:
        foreign, english = _count(question, _FOREIGN), _count(question, _STOP)
        return "en" if english > foreign else "other"
    return "other" if _count(question, _FOREIGN) > _count(question, _STOP) else "en"


def _count(text: str, words: frozenset[str]) -> int:
    return sum(word in words for word in _WORD.findall(text.lower()))


_FOREIGN = word_set(
    """el la los las un una de del que es cual cuál cuánto cuanto quién quien dónde cuando cuándo y
    por para le les des du quel quelle est combien qui où quand et dans sur der die das ist und
    wie viel wer wo wann welche welches ein eine auf von zu il lo gli quanto chi dove quale è di
    che o os uma qual quanto quem onde het een wat hoeveel wie waar är vad hur en"""
).difference(_STOP)
