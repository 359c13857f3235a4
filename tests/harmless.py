"""A bundle of an output, to what in it could run, load or hide something, on any host."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

TAGS = {
    *("div", "span", "p", "br", "hr", "strong", "em", "details", "summary", "pre", "code"),
    *("table", "thead", "tbody", "tr", "th", "td", "ol", "ul", "li", "blockquote", "a", "s"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
}
ATTRIBUTES = {"style", "class", "dir", "open", "start", "href", "rel", "title"}
MARKDOWN_CLASS = re.compile(r"language-[^\s\"]*")
PICTURES = {"image/png", "image/jpeg"}
BASE64 = re.compile(r"[A-Za-z0-9+/=]{201,}")
DANGER = re.compile(r"url\(|expression|import|javascript|@|behavior|position|var\(", re.IGNORECASE)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.links: list[list[str]] = []
        self._open_link = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.wrong.append(f"<{tag} {name}>")
            if name == "style" and DANGER.search(value or ""):
                self.wrong.append(f"style={value}")
            if name == "href":
                self.links.append([value or "", ""])
                self._open_link = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open_link = False

    def handle_data(self, data: str) -> None:
        if self._open_link:
            self.links[-1][1] += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data}]>")


def faults_of_html(html: str) -> list[str]:
    """Return what is wrong with HTML that may hold our own elements and visible links alone."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    hiding = [
        f"{href} is shown as {text}"
        for href, text in reader.links
        if href not in {text, f"mailto:{text}"} or not re.match(r"https?://|mailto:", href)
    ]
    return [*reader.wrong, *hiding]


def faults(data: dict[str, Any]) -> list[str]:
    """Return what is wrong with an output's data."""
    wrong = []
    for kind, value in data.items():
        if kind in PICTURES:
            base64.b64decode(value, validate=True)
            continue
        if kind not in {"text/html", "text/markdown", "text/plain"}:
            wrong.append(f"the type {kind}")
        if found := UNSEEN.search(value):
            wrong.append(f"{kind} holds {found.group()!r}")
        if BASE64.search(value) and not re.search(r"(.)\1{200}", value):
            wrong.append(f"{kind} holds Base64")
    wrong += faults_of_html(data.get("text/html", ""))
    for preset in ("commonmark", "gfm-like"):
        parser = MarkdownIt(preset, {"html": True, "linkify": False})
        wrong += faults_of_html(_decoded(parser.render(data.get("text/markdown", ""))))
    return wrong


def _decoded(html: str) -> str:
    """Return a page in which addresses read as their texts do: Markdown encodes them."""
    from urllib.parse import unquote

    return re.sub(r'href="([^"]*)"', lambda m: f'href="{unquote(m[1])}"', html)
