"""Conversations → one page of HTML that holds its pictures, runs nothing and loads nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from agentcell.history.chapters import Chapter, Exported, calls, picture, sources
from agentcell.history.turn_words import facts
from agentcell.history.turns import Turn
from agentcell.safe_text import as_html, plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_STYLE = """
:root { color-scheme: light dark; --line: #ccc; --quiet: #555; --back: #f4f4f4; }
@media (prefers-color-scheme: dark) {
  :root { --line: #555; --quiet: #aaa; --back: #222; }
  body { background: #111; color: #eee; }
  a { color: #8bf; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
blockquote.question { margin: 1rem 0; padding: .2rem 1rem; border-left: 3px solid var(--line);
  white-space: pre-wrap; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .facts, ul.calls { color: var(--quiet); font-size: 85%; }
pre { background: var(--back); padding: .6rem; overflow: auto; }
code { background: var(--back); }
table { border-collapse: collapse; display: block; overflow: auto; }
th, td { border: 1px solid var(--line); padding: .2rem .6rem; }
"""

# The text is safe as it stands; this is the second wall.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_SCHEMES = ("https://", "http://", "mailto:")


def exported(title: str, chapters: list[Chapter], folder: str) -> Exported:
    """Return the page; nothing lies beside it.

    Parameters
    ----------
    title
        Any text.
    folder
        Not used here.
    """
    del folder
    body = [f"<h1>{as_html(title)}</h1>"]
    for chapter in chapters:
        if len(chapters) > 1:
            body.append(f"<h2>{as_html(chapter.name)}</h2>")
        for number, turn in enumerate(chapter.turns, start=1):
            body.append(f"<section>\n<h3>Question {number}</h3>")
            question = as_html(turn.question.strip("\n"))
            body.append(f'<blockquote class="question" dir="auto">{question}</blockquote>')
            body += _attachments(chapter, turn)
            body += _answer(turn)
            body.append("</section>")
    head = [
        "<!DOCTYPE html>",
        '<html lang="mul">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{as_html(title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
    ]
    return Exported(text="\n".join([*head, *body, "</body>", "</html>", ""]))


def as_page(text: str) -> str:
    """Return a model's Markdown as HTML that runs, loads and hides nothing.

    Tags are text, an image is its description, a link shows where it leads.

    Parameters
    ----------
    text
        Whatever a model said.
    """
    rendered: str = _parser().render(plain(text))
    return rendered


def _attachments(chapter: Chapter, turn: Turn) -> Iterator[str]:
    for block in chapter.shown(turn):
        caption = f"<strong>{as_html(block.tag)}</strong> {as_html(block.asset.describe())}"
        shown = picture(block)
        image = ""
        if shown is not None:
            data = base64.b64encode(shown.data).decode("ascii")
            image = (
                f'<img src="data:{shown.mime_type};base64,{data}" width="{shown.width}"'
                f' height="{shown.height}" alt="{as_html(shown.alt)}">'
            )
        yield f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _answer(turn: Turn) -> Iterator[str]:
    if called := [f"<li>{as_html(one)}</li>" for one in calls(turn)]:
        yield f'<ul class="calls">{"".join(called)}</ul>'
    if turn.answer.strip():
        yield f'<div dir="auto">{as_page(turn.answer)}</div>'
    if where := [f"<li>{as_html(one)}</li>" for one in sources(turn)]:
        yield f"<p>Sources:</p><ul>{''.join(where)}</ul>"
    if said := facts(turn):
        yield f'<p class="facts">{as_html(said)}</p>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    return parser


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    alt: str = self.renderInlineAsText(tokens[at].children or [], options, env)
    return as_html(f"[picture: {alt}]" if alt.strip() else "[picture]")


def _link_open(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    closing = next(n for n in range(at, len(tokens)) if tokens[n].type == "link_close")
    target = str(tokens[at].attrGet("href") or "")
    return _anchor(target) if _label(tokens, at, closing) == target else ""


def _link_close(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    opening = next(one for one in range(at, -1, -1) if tokens[one].type == "link_open")
    target = str(tokens[opening].attrGet("href") or "")
    anchor = _anchor(target)
    end = "</a>" if anchor else ""
    if _label(tokens, opening, at) == target:
        return end
    return f" ({anchor}{as_html(target)}{end})"  # only what says where it leads is a link


def _label(tokens: Sequence[Token], opening: int, closing: int) -> str:
    return "".join(one.content for one in tokens[opening + 1 : closing])


def _anchor(target: str) -> str:
    if not target.lower().startswith(_SCHEMES):
        return ""
    return f'<a href="{as_html(target)}" rel="noopener noreferrer">'
