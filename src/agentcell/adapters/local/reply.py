"""What was found → the Markdown that a person reads, in the question's language.

What comes from a document is shown as code: no host makes a link, a style or maths of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcell.adapters.local.document import Document
from agentcell.adapters.local.evidence import Evidence
from agentcell.errors import ModelError
from agentcell.modality import FieldModality
from agentcell.safe_text import plain

LONGEST_QUOTE = 240
"""Letters of one quoted line; a paragraph is cut."""

_MOST_TAGS = 3


def literal(text: str) -> str:
    """Return `text` as Markdown that shows it as it stands, in one line."""
    flat = re.sub(r"\s*\n\s*", "  ", plain(text)).strip()
    if len(flat) > LONGEST_QUOTE:
        flat = f"{flat[: LONGEST_QUOTE - 1].rstrip()}…"
    ticks = "`" * (max(map(len, re.findall("`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{space}{flat}{space}{ticks}" if flat else ""


def quote(evidence: Evidence, language: str) -> str:
    """Return one line of evidence, and where it stands."""
    return f"> {literal(evidence.quote)} — {_place(evidence.tag, evidence.page, language)}"


def _place(tag: str, page: int | None, language: str) -> str:
    if page is None:
        return tag
    return f"{tag}，第 {page} 页" if language == "zh" else f"{tag}, page {page}"


def frame(evidence: Evidence, language: str) -> str:
    """Return the fixed words below a quote: for Chinese, which the small model does not speak."""
    if language != "zh":
        return ""
    if evidence.value and evidence.value != evidence.quote:
        return f"附件原文给出的答案是 {literal(evidence.value)}。"
    return "以上是附件原文里最能回答这个问题的内容。"


def no_line(tags: Sequence[str], language: str) -> str:
    """Return what to say where no line answers."""
    shown = _tags(tags, language)
    if language == "zh":
        return (
            f"我在 {shown} 里没有找到能回答这个问题的行。"
            "我是自带的小阅读器：我在文件里找文字，看不懂照片。"
        )
    return (
        f"I found no line in {shown} that answers this. I am a small built-in reader: I find"
        " lines in documents, and have no eyes for photos."
    )


def nothing_found(
    documents: Sequence[tuple[str, Document]], near: Sequence[Evidence], language: str
) -> str:
    """Return the honest answer where no line answers, with the nearest lines or the first."""
    zh = language == "zh"
    said = no_line([tag for tag, _ in documents], language)
    if near:
        head = "最接近的几行：" if zh else "The nearest lines:"
        lines = [quote(each, language) for each in near]
    else:
        tag, document = documents[0]
        head = "开头几行：" if zh else "It begins:"
        page = document.rows[0].page if document.pages > 1 else None
        lines = [
            f"> {literal(row.text)} — {_place(tag, page, language)}" for row in document.rows[:3]
        ]
    more = (
        "想问得更多，请用 `-m openai` 换一个模型。"
        if zh
        else "To ask for more, choose another model with `-m openai`."
    )
    return "\n\n".join((said, head, "\n>\n".join(lines), more))


def no_text(kinds: Sequence[FieldModality], language: str) -> str:
    """Return the honest answer about attachments that hold no text."""
    image, document = FieldModality.IMAGE in kinds, FieldModality.PDF in kinds
    if language == "zh":
        what = "这些附件" if len(kinds) > 1 else "这张图片" if image else "这个 PDF"
        more = "我看不懂照片：要问图里有什么，请用 `-m openai` 换一个模型。"
        return f"我只能读文字，{what}里没有文字。{more}"
    what = "this image" if image else "this PDF"
    if len(kinds) > 1:
        what = (
            "these images" if not document else "these PDFs" if not image else "these attachments"
        )
    verb = "have" if len(kinds) > 1 else "has"
    return (
        f"I can only read text; {what} {verb} none. I have no eyes for photos: to ask what a"
        " picture shows, choose another model with `-m openai`."
    )


def cut_note(tag: str, document: Document, language: str) -> str:
    """Return the line that says which pages were read."""
    if language == "zh":
        return f"*{tag} 共 {document.pages} 页，我读了前 {document.pages_read} 页。*"
    return f"*I read the first {document.pages_read} of the {document.pages} pages of {tag}.*"


def unread_note(tag: str, error: Exception, language: str) -> str:
    """Return the line that says that an earlier attachment could not be read."""
    reason = literal(getattr(error, "problem", None) or type(error).__name__)
    return (
        f"*我没能读 {tag}：{reason}*" if language == "zh" else f"*I could not read {tag}: {reason}*"
    )


def speechless_note(error: ModelError) -> str:
    """Return the line that says why there is a quote and no sentence."""
    return f"*Only the quote is shown. {error.problem} Fix: {error.fix}*"


def greeting(tags: Sequence[str], language: str) -> str:
    """Return what to say to a greeting or thanks, where there is something to ask about."""
    shown = _tags(tags, language)
    if language == "zh":
        return f"关于 {shown}，想知道什么尽管问，我来找能回答的那一行。"
    return f"Ask me about {shown}: I find the line that answers."


def chat_note() -> str:
    """Return the line before the small model's first words in a conversation."""
    return (
        "*This is agentcell's built-in model: very small, on this machine, often wrong. It is made"
        " to find lines in documents: attach one with `-a receipt=receipt.png`, or choose another"
        " model with `-m openai`.*"
    )


def no_chat(language: str) -> str:
    """Return what the reader says for itself where its model cannot speak."""
    if language == "zh":
        return (
            "我是 agentcell 自带的小阅读器："
            "我能在图片和 PDF 里找到回答问题的那一行，但不会用中文聊天。"
            "请用 `-a receipt=receipt.png` 附上文件再提问，或用 `-m openai` 换一个模型。"
        )
    return (
        "I am agentcell's built-in reader: I find lines in images and PDFs, and chat in simple"
        " English only. Attach a file with `-a receipt=receipt.png` and ask about it, or choose"
        " another model with `-m openai`."
    )


def forgotten_note(count: int) -> str:
    """Return the line that says that early messages no longer fit."""
    messages = "message" if count == 1 else f"{count} messages"
    return f"*The first {messages} of this conversation no longer fit, and were left out.*"


def _tags(tags: Sequence[str], language: str) -> str:
    shown = list(tags[:_MOST_TAGS])
    comma, last = ("、", " 和 ") if language == "zh" else (", ", " and ")
    if len(tags) > _MOST_TAGS:
        more = len(tags) - _MOST_TAGS
        return comma.join(shown) + (
            f" 等 {len(tags)} 个附件" if language == "zh" else f" and {more} more"
        )
    return last.join(filter(None, (comma.join(shown[:-1]), shown[-1]))) if shown else ""
