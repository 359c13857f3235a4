"""A model's text, made safe to show: Markdown that cannot run, load or hide anything.

A trusted notebook runs a `<script>` that stands in Markdown, on opening. Hosts parse Markdown
differently, so what is code for one may be live HTML for another. The result here holds no tag
but our own `<pre>`, `<code>` and `<span>`, without attributes, no image and no link whose text
hides its target, wherever a host thinks that code begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from agentcell.markdown_code import Piece, pieces
from agentcell.markdown_maths import runs

_TAG = re.compile(r"(?<!\\)\\*<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"(?<!\\)\\*!(?=\[)")
_LINK = re.compile(
    r"(?<!!)\[([^\[\]\n\\`]{1,300})\]\(\s*((?:https?|mailto):[^\s()<>\"'\\`]{1,2000})"
    r"(?:\s+\"[^\"\n]*\")?\s*\)"
)
_LINK_JOINT = re.compile(r"\](?=[(\[:])")
_ADDRESS_JOINT = re.compile(r"((?:https?://|www\.)[^\s<>\]]{0,2000})\](?=[(\[:])", re.IGNORECASE)
"""Hosts take a bare address with all that follows it up to a blank."""

_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>\"'`]{1,2000})>")

# Commands that give maths a link, a style or an address, and those that change what other
# commands do: a host keeps such a change for all other formulas of the page.
_LIVE_MATHS = re.compile(
    r"\\(?=(?:href|url|class|cssId|style|data|unicode|require|mmlToken|bbox|includegraphics"
    r"|html(?:Class|Id|Style|Data)|[egx]?def|let|futurelet|(?:re)?new(?:command|environment)"
    r"|DeclareMathOperator|DeclarePairedDelimiters?X?)(?![A-Za-z]))"
)
_DIAGRAM = re.compile(r"^(?=[^\n]*?(?:`{3}|~{3}))[^\n]*?mermaid", re.IGNORECASE | re.MULTILINE)
"""The first line of a diagram, which some hosts draw, and for it load the pictures it names."""

_SUSPECT = re.compile(rf"<(?=[A-Za-z/!?])|!\[|\]\(|{_LIVE_MATHS.pattern}")

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_SPECIAL = re.compile(r"[^\w\s.,;%€£¥/+=-]|_|^[-+=]|^\d+(?=\.)|(?<=:)//|(?<=www)\.")
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x9c|\x1b\\?)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c\x9e\x9f]{0,100000}(?:\x9c|\x1b\\)"
    r"|\x1b[@-Z\\-_]"
)
_UNSEEN = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]{1,16}\U000e007f)|[\U000e0000-\U000e0fff]")
"""Letters that nobody sees; England's flag and others are written with some."""

_HALF = re.compile("[\ud800-\udfff]")

_DOLLARS = re.compile(r"(?<!\\)\\*\$|&(?:#0*36|#x0*24|dollar);", re.IGNORECASE)
_DOLLAR = "<span>&#36;</span>"
"""A dollar that no host takes for the beginning of maths: maths cannot reach into an element."""


def whole_characters(text: str) -> str:
    """Return `text` with its halves of characters joined; one without its other half is ``�``.

    Services cut their pieces anywhere, and a text with a half in it can be neither sent nor saved.
    """
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unsendable(text: str) -> str:
    """Return in words what `text` holds that no service takes; empty if there is nothing."""
    if half := _HALF.search(text):
        return f"half a character (U+{ord(half.group()):04X})"
    return "a NUL character (U+0000)" if "\0" in text else ""


def shortened(text: str, most: int) -> str:
    """Return the first `most` characters of `text`, and ``…`` where there are more."""
    return text if len(text) <= most else f"{text[:most]}…"


def on_one_line(text: str, most: int) -> str:
    """Return the first `most` characters of `text` on one line, as `plain` leaves them."""
    return shortened(" ".join(plain(text).split()), most)


def shown_value(value: object, most: int = 60) -> str:
    """Return a value that was given, as an error repeats it: at most `most` characters."""
    return shortened(repr(value), most)


def plain(text: str) -> str:
    """Return `text` without terminal codes, controls, direction overrides and unseen letters."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.isascii():
        return _CONTROLS.sub("", text)
    text = _UNSEEN.sub(r"\1", text)
    return whole_characters(_CONTROLS.sub("", text))


def safe_markdown(text: str) -> str:
    """Return a model's Markdown so that no host runs, loads or hides anything.

    Tags become visible text, images become their description, a link shows where it leads.
    Code keeps its look: a block that holds a tag is given as HTML with everything escaped.
    Formulas are in the form that notebooks show, and dollars that open none stay dollars.
    """
    text = plain(text)
    has_pairs = len(_DOLLARS.findall(text)) > 1  # one alone is no formula to any host
    return "".join(_safe(piece, has_pairs=has_pairs) for piece in pieces(text))


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


def _safe(piece: Piece, *, has_pairs: bool) -> str:
    if piece.kind == "text":
        return _safe_prose(piece.text, has_pairs=has_pairs)
    if not (_SUSPECT.search(piece.text) or _DIAGRAM.search(piece.text)):
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
    line = escape(line, quote=False).replace("![", "!&#91;").replace("](", "]&#40;")
    return _no_diagram(_LIVE_MATHS.sub("&#92;", line))


def _all_entities(code: str) -> str:
    return re.sub(r"[^\w\s]|_", _entity, code)


def _safe_prose(text: str, *, has_pairs: bool) -> str:
    return "".join(
        safe_maths(run.text) if run.is_maths else _safe_words(run.text, has_pairs=has_pairs)
        for run in runs(text)
    )


def safe_maths(text: str) -> str:
    """Return a formula, in its dollars, without what would act, load or lead elsewhere."""
    # Hosts hand maths to MathJax as it stands, so an entity would show: a command does not.
    text = _TAG.sub(r"\\lt ", text)
    text = _LINK_JOINT.sub("] ", _IMAGE.sub("! ", text))
    return _LIVE_MATHS.sub("", text)


def _safe_words(text: str, *, has_pairs: bool) -> str:
    text = _AUTOLINK.sub(r"\1", text)
    text = _LINK.sub(_shown_link, text)
    text = _TAG.sub("&lt;", text)
    text = _IMAGE.sub("&#33;", text)
    text = _ADDRESS_JOINT.sub(r"\1 &#93;", text)
    text = _LINK_JOINT.sub("&#93;", text)
    text = _no_diagram(_LIVE_MATHS.sub("&#92;", text))
    return _DOLLARS.sub(_DOLLAR, text) if has_pairs else text


def _no_diagram(text: str) -> str:
    """Return `text` in which no line can be the first of a diagram."""
    return _DIAGRAM.sub(lambda line: f"{line.group()[:-7]}&#109;{line.group()[-6:]}", text)


def _shown_link(match: re.Match[str]) -> str:
    label, target = match.group(1).strip(), match.group(2)
    return target if label == target else f"{label} ({target})"
