"""Messages, before they are sent, to about how many tokens and dollars they will come to.

Nothing is sent and no tokenizer is loaded. Every number has bounds; only the provider's own count
after the answer is sure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcell.adapters.content import arguments_text, read_messages
from agentcell.adapters.gemini_settings import is_older
from agentcell.adapters.image_tokens import NOTHING, Range, image_tokens
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.parts import Media, Text, Turn
from agentcell.adapters.registry import resolve
from agentcell.adapters.text_tokens import text_tokens
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import AgentcellError
from agentcell.messages import Message
from agentcell.modality import FieldModality

USUAL_ANSWER = 500
"""Tokens of an answer, where nothing else is said."""

LONGEST_ANSWER = 16_384
"""Tokens of an answer that nothing limits: a guess at the most, and no bound."""

_OF_MESSAGE = Range(4, 3, 8)
"""What stands around each message: its role and marks."""

_OF_TOOL = Range(12, 6, 40)
_OF_TOOLS = Range(30, 10, 400)
"""What a provider says to the model about tools at all; Anthropic most, about 350 tokens."""

_PAGES_READ = 20
"""Pages whose text is looked at; longer documents are taken to go on alike."""

_UNKNOWN_PAGES = (5, 1, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatePart:
    """What one part of a request comes to.

    Parameters
    ----------
    kind
        ``text``, ``image``, ``pdf``, ``tools`` or ``thinking``.
    name
        The attachment's tag, else the role of the message.
    """

    kind: str
    name: str
    tokens: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a request comes to, in tokens of `model`."""

    model: str
    parts: tuple[EstimatePart, ...]

    @property
    def tokens(self) -> int:
        """About how many."""
        return sum(part.tokens for part in self.parts)

    @property
    def low(self) -> int:
        """At the least."""
        return sum(part.low for part in self.parts)

    @property
    def high(self) -> int:
        """At the most."""
        return sum(part.high for part in self.parts)

    @property
    def attachments(self) -> tuple[EstimatePart, ...]:
        """The images and PDFs among the parts, in order."""
        return tuple(part for part in self.parts if part.kind in {"image", "pdf"})

    def __str__(self) -> str:
        return f"about {self.tokens:,} tokens ({self.low:,} to {self.high:,})"


def estimate_tokens(
    messages: list[Message] | Outgoing,
    model: Model | str,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
    read_pdfs: bool = True,
) -> Estimate:
    """Return about how many tokens `model` will count in a request.

    Parameters
    ----------
    messages
        As they go out: what `Model.ready` returns, since scaled images count less.
    model
        Who is to be asked, or its name.
    tools, settings
        See `Model.invoke`.
    read_pdfs
        Whether the text of PDFs is looked at, which takes some milliseconds a page; else a usual
        page is taken.

    Raises
    ------
    BadRequest, Unsupported
        For messages that could not be sent.
    """
    found = resolve(model) if isinstance(model, str) else model
    asked = innermost(found)
    given = messages.messages if isinstance(messages, Outgoing) else messages
    merged = {**asked.invoke_settings, **(settings or {})}
    counting = _Counting(asked, merged, read_pdfs=read_pdfs)
    parts = [part for turn in read_messages(given, asked) for part in counting.turn(turn)]
    parts += counting.tools(tools or ())
    return Estimate(model=found.name, parts=tuple(parts))


class _Counting:
    """Counts for one model with its settings."""

    def __init__(self, model: Model, settings: Mapping[str, Any], *, read_pdfs: bool) -> None:
        self._read_pdfs = read_pdfs
        self._provider = model.provider
        self._model = model.model_name
        detail = settings.get("detail")
        self._detail = detail if isinstance(detail, str) else ""
        self._schema = settings.get("schema")

    def turn(self, turn: Turn) -> Iterator[EstimatePart]:
        """Yield what one message comes to, its texts together."""
        texts = [part.text for part in turn.parts if isinstance(part, Text)]
        texts += [f"{call.name} {arguments_text(call)}" for call in turn.calls]
        yield _part("text", turn.role, self.text("\n".join(texts)) + _OF_MESSAGE)
        for part in turn.parts:
            if isinstance(part, Media):
                name = part.tag or part.filename or part.field_name
                is_image = part.modality is FieldModality.IMAGE
                count = self._image(part) if is_image else self._pdf(part)
                yield _part("image" if is_image else "pdf", name, count)
        if turn.opaque:
            # Sealed thoughts: base64, of which nobody outside knows what it holds.
            length = sum(len(_json(each)) for each in turn.opaque)
            yield _part("thinking", turn.role, Range(length // 8, 0, length // 3))

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> Iterator[EstimatePart]:
        """Yield what the tools and the schema of the answer come to."""
        if tools:
            count = _OF_TOOLS
            for tool in tools:
                count += self.text(_json(tool)) + _OF_TOOL
            yield _part("tools", f"{len(tools)} tools", count)
        if self._schema is not None:
            yield _part("tools", "schema", self.text(_schema_text(self._schema)) + _OF_TOOL)

    def text(self, text: str) -> Range:
        """Return what a text comes to."""
        if not text:
            return NOTHING
        tokens = text_tokens(text)
        # The bounds hold what was measured of OpenAI's; others' are not public, so wider.
        low, high = (0.65, 1.6) if self._provider.startswith("openai") else (0.6, 2.0)
        most = max(tokens, min(round(tokens * high) + 1, len(text.encode("utf-8", "replace"))))
        return Range(tokens, int(tokens * low), most)

    def _image(self, part: Media) -> Range:
        if self._provider == "local":
            return Range(150, 0, 3_000)  # as the text that stands in it
        asset = part.asset or _decoded(part, ImageAsset)
        size = None
        if asset is not None and asset.width and asset.height:
            size = (asset.width, asset.height)
        return image_tokens(self._provider, self._model, size, part.detail or self._detail)

    def _pdf(self, part: Media) -> Range:
        asset = part.asset or _decoded(part, PdfAsset)
        pages = asset.pages if asset is not None else None
        page = self._page()
        if asset is None or not pages:
            about, least, most = _UNKNOWN_PAGES
            each = page + Range(500, 20, 2_000)
            return Range(each.tokens * about, each.low * least, each.high * most)
        text = self._text_of(asset, pages)
        if self._provider == "gemini":  # it reads the text from the picture of the page
            text = Range(0, 0, text.high)
        return page.times(pages) + text

    def _page(self) -> Range:
        """Return what the picture of one page comes to; providers show it at sizes of their own."""
        match self._provider:
            case "gemini" if is_older(self._model):
                return Range(258, 258, 300)
            case "gemini":
                return Range(560, 500, 1120)
            case "anthropic":
                whole = image_tokens("anthropic", self._model, (1700, 2200))
                return Range(round(whole.tokens * 0.6), round(whole.tokens * 0.25), whole.high)
            case "openai" | "openai-chat":
                shown = image_tokens("openai", self._model, (1024, 1325))
                most = image_tokens("openai", self._model, (1700, 2200))
                return Range(shown.tokens, round(shown.low * 0.25), max(shown.high, most.high))
            case "local":
                return NOTHING
        return Range(1_000, 0, 4_000)

    def _text_of(self, asset: MediaAsset, pages: int) -> Range:
        from agentcell.assets.pdf import page_texts

        usual = Range(500, 0, 2_000).times(pages)
        if not self._read_pdfs:
            return usual
        try:
            read = page_texts(asset.content, asset.filename or "the PDF", pages=_PAGES_READ)
        except AgentcellError:
            return usual
        found = self.text("\n".join(read))
        share = pages / max(1, len(read))
        wider = 1.0 if share <= 1 else 2.0
        return Range(
            round(found.tokens * share),
            round(found.low * share / wider),
            round(found.high * share * wider),
        )


def _part(kind: str, name: str, count: Range) -> EstimatePart:
    return EstimatePart(kind=kind, name=name, tokens=count.tokens, low=count.low, high=count.high)


def _decoded(part: Media, kind: type[MediaAsset]) -> MediaAsset | None:
    """Return what a data address holds, None for another address or a damaged file."""
    if not part.url.startswith("data:"):
        return None
    try:
        return kind.from_base64(part.url)
    except AgentcellError:
        return None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _schema_text(schema: object) -> str:
    from agentcell.adapters.schema import Schema

    try:
        return _json(Schema.of(schema).document)
    except ValueError:
        return str(schema)
