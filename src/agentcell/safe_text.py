"""A model's text, made safe to show: Markdown that cannot run, load or hide anything.

A trusted notebook runs a `<script>` that stands in Markdown, on opening. Hosts parse Markdown
differently, so what is code for one may be live HTML for another. The result here holds no tag
but our own `<pre>` and `<code>`, no image and no link whose text hides its target, wherever a
host thinks that code begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from agentcell.markdown_code import Piece, pieces

_TAG = re.compile(r"\\*<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(
    r"(?<!!)\[([^\[\]\n\\`]{1,300})\]\(\s*((?:https?|mailto):[^\s()<>\"'\\`]{1,2000})"
    r"(?:\s+\"[^\"\n]*\")?\s*\)"
)
_LINK_JOINT = re.compile(r"\](?=[(\[:])")
_MATHS = re.compile(r"(\$\$.+?\$\$|\$[^$\n]+\$)", re.DOTALL)
_LIVE_MATHS = re.compile(r"\\(?=(?:href|class|cssId|style|require|data|unicode|url)\b)")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>\"'`]{1,2000})>")
_SUSPECT = re.compile(r"<(?=[A-Za-z/!?])|!\[|\]\(")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPECIAL = re.compile(r"[^\w\s.,;%€£¥/+=-]|_|^[-+=]|^\d+(?=\.)|(?<=:)//|(?<=www)\.")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def plain(text: str) -> str:
    """Return `text` without terminal codes, control characters and direction overrides."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROLS.sub("", text)


def safe_markdown(text: str) -> str:
    """Return a model's Markdown so that no host runs, loads or hides anything.

    Tags become visible text, images become their description, a link shows where it leads.
    Code keeps its look: a block that holds a tag is given as HTML with everything escaped.
    """
    return "".join(_safe(piece) for piece in pieces(plain(text)))


def marked(markdown: str, names: Iterable[str]) -> str:
    """Return Markdown in which each of `names`, an attachment's tags, stands in bold.

    Code stays as it is, and so does a line that has marks of its own, where ours could end theirs.
    """
    known = sorted(set(names), key=len, reverse=True)
    if not any(name in markdown for name in known):
        return markdown
    wanted = re.compile("|".join(map(re.escape, known)))
    return "".join(
        piece.text if piece.kind != "text" else _bold(piece.text, wanted)
        for piece in pieces(markdown)
    )


def _bold(text: str, wanted: re.Pattern[str]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(
        line if re.search(r"[*_~]", wanted.sub("", line)) else wanted.sub(r"**\g<0>**", line)
        for line in lines
    )


def as_literal(text: str) -> str:
    """Return any text so that Markdown shows it exactly as it is, in one line.

    For file names, labels and quotes: nothing in them becomes a style, a link or maths.
    """
    flat = " ".join(plain(text).split())
    return _SPECIAL.sub(_entity, flat)


def as_html(text: str) -> str:
    """Return any text for the inside of an HTML element or a quoted attribute."""
    return escape(plain(text), quote=True)


def _entity(match: re.Match[str]) -> str:
    found = match.group()
    if found.isascii():
        return "".join(f"&#{ord(character)};" for character in found)
    return found


def _safe(piece: Piece) -> str:
    if piece.kind == "text":
        return _safe_prose(piece.text)
    if not _SUSPECT.search(piece.text):
        return piece.text
    if piece.kind == "span":
        return f"<code>{_all_entities(piece.code)}</code>"
    lines = _code_lines(piece)
    return "\n".join(lines) + "\n"


def _code_lines(piece: Piece) -> list[str]:
    """Return a block of code as `<pre><code>`, under the same quote or list marks."""
    code = [_escaped_line(line) for line in piece.code.split("\n")]
    return [
        f"{piece.prefix}<pre><code>{code[0]}",
        *(f"{piece.indent}{line}" for line in code[1:]),
        f"{piece.indent}</code></pre>",
        piece.indent.rstrip(),
    ]


def _escaped_line(line: str) -> str:
    return escape(line, quote=False).replace("![", "!&#91;").replace("](", "]&#40;")


def _all_entities(code: str) -> str:
    return re.sub(r"[^\w\s]|_", _entity, code)


def _safe_prose(text: str) -> str:
    parts = _MATHS.split(text)  # every second part is maths
    return "".join(
        _safe_maths(part) if number % 2 else _safe_words(part) for number, part in enumerate(parts)
    )


def _safe_maths(text: str) -> str:
    # Hosts hand maths to MathJax as it stands, so an entity would show: a command does not.
    text = _TAG.sub(r"\\lt ", text)
    text = _LINK_JOINT.sub("] ", _IMAGE.sub("! ", text))
    return _LIVE_MATHS.sub("", text)


def _safe_words(text: str) -> str:
    text = _AUTOLINK.sub(r"\1", text)
    text = _LINK.sub(_shown_link, text)
    text = _TAG.sub("&lt;", text)
    text = _IMAGE.sub("&#33;", text)
    text = _LINK_JOINT.sub("&#93;", text)
    return _LIVE_MATHS.sub("&#92;", text)


def _shown_link(match: re.Match[str]) -> str:
    label, target = match.group(1).strip(), match.group(2)
    return target if label == target else f"{label} ({target})"
