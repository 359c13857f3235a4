"""A request → what it would send, part by part, and what that would cost; nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from agentcell.adapters.estimate import Estimate, EstimatePart, estimate_tokens
from agentcell.adapters.logs import request_as_sent
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.recording.model import RecordingModel
from agentcell.adapters.uploads import UploadsFiles
from agentcell.agents.exchange import Ask
from agentcell.assets.asset import MediaAsset
from agentcell.assets.prepare import Form
from agentcell.budget import Budget, CostQuestion, Foreseen, foreseen, question
from agentcell.errors import AgentcellError, BudgetExceeded, PriceError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, media_blocks
from agentcell.request import Request

How: TypeAlias = Literal["inline", "upload", "url", "file id", "text", "page images", "refused"]

HOW_TEXTS: dict[How, str] = {
    "inline": "with the question",
    "upload": "uploaded once, then by its file id",
    "url": "by its address, which the service reads",
    "file id": "by its file id",
    "text": "as text",
    "page images": "as images of its pages",
    "refused": "refused",
}
"""How an attachment goes out, as a person reads it after "goes"; to be translated."""

_CONTENT = {
    *("model", "messages", "input", "contents", "system", "instructions"),
    *("system_instruction", "systemInstruction", "tools"),
}
"""What a request's body says besides its settings, by the names of the providers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """About how many tokens: about, at the least, at the most."""

    tokens: int
    low: int
    high: int

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.tokens:,} tokens"
        return f"about {self.tokens:,} tokens ({self.low:,} to {self.high:,})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DryAttachment:
    """One attachment as it would go out.

    Parameters
    ----------
    place
        The number of its message, from 1.
    is_new
        Whether it belongs to this question, and not to an earlier turn or the instructions.
    given
        What was attached, in words: ``PNG image, 60 × 90 px, 1 kB``.
    sent
        What would go out for it, in words; several for the pages of a PDF, none for a text.
    how
        The way it goes.
    notes
        What was done to it and why, a sentence each.
    refusal
        Why this model does not take it; empty if it does.
    tokens
        What it comes to; None where nobody can say.
    """

    tag: str
    place: int
    is_new: bool
    given: str
    sent: tuple[str, ...]
    how: How
    notes: tuple[str, ...] = ()
    refusal: str = ""
    tokens: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryMessage:
    """One message as it would go out.

    Parameters
    ----------
    text
        Its texts, with tags where attachments stand.
    origin
        ``instructions``, ``history`` or ``question``.
    calls
        Of an assistant's message: the tools that were called, by name.
    tokens
        What its texts come to, attachments not counted; None where nobody can say.
    """

    role: str
    text: str = field(repr=False)
    origin: Literal["instructions", "history", "question"]
    calls: tuple[str, ...] = ()
    tokens: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryTool:
    """One tool that the model could call."""

    name: str
    needs_approval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a request would send, and what that would cost.

    Parameters
    ----------
    settings
        As the model's service would get them, by its own names.
    is_replayed
        Whether the answer would come from a recording, so that nobody is asked or paid.
    tokens
        The estimate of the whole request; None where the request could not be sent.
    foreseen
        What it would cost.
    budget
        What may be spent; None: anything.
    spent
        US dollars until now.
    asks
        What the person would be asked before it goes out; None: nothing.
    refusal
        Why it cannot be sent; None if it can.
    """

    model: str
    conversation: str
    messages: tuple[DryMessage, ...]
    attachments: tuple[DryAttachment, ...]
    tools: tuple[DryTool, ...]
    schema: str
    settings: Mapping[str, Any]
    is_replayed: bool
    tokens: Estimate | None
    foreseen: Foreseen
    budget: Budget | None
    spent: Decimal
    asks: CostQuestion | None
    refusal: AgentcellError | None

    def __repr__(self) -> str:
        return (
            f"DryRun({self.model}, {len(self.messages)} messages,"
            f" {len(self.attachments)} attachments, {self.foreseen})"
        )


def dry_run(request: Request, ask: Ask, *, budget: Budget | None, spent: Decimal) -> DryRun:
    """Return what `request` would send.

    Parameters
    ----------
    ask
        What the model would be asked first.
    budget, spent
        What may be spent, and US dollars until now.
    """
    refusal = request.refusal
    estimate, coming = None, Foreseen()
    if refusal is None:
        try:
            estimate = estimate_tokens(
                ask.messages, request.model, tools=ask.tools, settings=ask.settings
            )
            coming = foreseen(request.model, ask.messages, ask.tools, ask.settings)
        except PriceError:
            raise
        except AgentcellError as error:
            refusal = error
    asks = None
    is_replayed = isinstance(request.model, RecordingModel) and request.model.is_answered(
        ask.messages, ask.tools, ask.settings
    )
    if budget is not None and refusal is None and not is_replayed:
        try:
            asks = question(request.model.name, budget, spent, coming)
        except BudgetExceeded as error:
            refusal = error
    counts = _Counts(estimate)
    messages = tuple(_messages(request, counts))
    settings, fault = _settings(request, ask)
    return DryRun(
        model=request.model.name,
        conversation=request.conversation,
        messages=messages,
        attachments=tuple(_attachments(request, counts)),
        tools=tuple(
            DryTool(name=name, needs_approval=tool.needs_approval)
            for name, tool in request.tools.items()
        ),
        schema=request.schema.name if request.schema else "",
        settings=settings,
        is_replayed=is_replayed,
        tokens=estimate,
        foreseen=coming,
        budget=budget,
        spent=spent,
        asks=asks,
        refusal=refusal or fault,
    )


def look_at(model: Model, block: MediaMessageBlock, form: Form | None = None) -> DryAttachment:
    """Return how an attachment would go out to a model if it went alone; nothing is sent.

    Parameters
    ----------
    model
        Who would be asked.
    block
        The attachment.
    form
        Its detail, and how a PDF goes; None: as it is.
    """
    alone: list[Message] = [{"role": "user", "content": [block]}]
    asked = innermost(model)
    refusal, ready, count = "", Outgoing(messages=alone), None
    try:
        ready = model.ready(alone, forms={block.fingerprint: form} if form else None)
        count = _Counts(estimate_tokens(ready, model)).attachment(block.tag)
    except AgentcellError as error:
        refusal = f"{error.problem} {error.fix}".strip()
    files = asked.as_files(ready.messages) if isinstance(asked, UploadsFiles) else {}
    sent = [one.asset for one in media_blocks(ready.messages)]
    return DryAttachment(
        tag=block.tag,
        place=1,
        is_new=True,
        given=block.asset.describe(),
        sent=() if refusal else tuple(asset.describe() for asset in sent),
        how="refused" if refusal else _how(block.asset, sent, files),
        notes=tuple(dict.fromkeys((*block.asset.notes, *ready.notes))),
        refusal=refusal,
        tokens=count,
    )


class _Counts:
    """An estimate's parts, by attachment and by message."""

    def __init__(self, estimate: Estimate | None) -> None:
        parts = estimate.parts if estimate else ()
        self._texts = iter([part for part in parts if part.kind == "text"])
        self._media: dict[str, list[EstimatePart]] = {}
        for part in parts:
            if part.kind in {"image", "pdf"}:
                self._media.setdefault(part.name, []).append(part)

    def text(self) -> Count | None:
        """Return what the next message's texts come to."""
        part = next(self._texts, None)
        return None if part is None else _sum([part])

    def attachment(self, tag: str) -> Count | None:
        """Return what an attachment comes to, all its pages."""
        return _sum(self._media.get(tag, []))


def _sum(parts: list[EstimatePart]) -> Count | None:
    if not parts:
        return None
    return Count(
        tokens=sum(part.tokens for part in parts),
        low=sum(part.low for part in parts),
        high=sum(part.high for part in parts),
    )


def _messages(request: Request, counts: _Counts) -> Iterator[DryMessage]:
    last = len(request.outgoing)
    for number, message in enumerate(request.outgoing, start=1):
        origin: Literal["instructions", "history", "question"] = "history"
        if number == last:
            origin = "question"
        elif message["role"] == "system":
            origin = "instructions"
        yield DryMessage(
            role=message["role"],
            text=_text(message),
            origin=origin,
            calls=tuple(call.name for call in message.get("tool_calls") or ()),
            tokens=counts.text(),
        )


def _text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    said = [block.text if isinstance(block, TextMessageBlock) else block.tag for block in content]
    return "\n".join(said)


def _attachments(request: Request, counts: _Counts) -> Iterator[DryAttachment]:
    model = innermost(request.model)
    files = model.as_files(request.outgoing) if isinstance(model, UploadsFiles) else {}
    for number, message in enumerate(request.messages, start=1):
        for block in media_blocks([message]):
            yield _attachment(request, block, number, counts, files)


def _attachment(
    request: Request,
    block: MediaMessageBlock,
    place: int,
    counts: _Counts,
    files: Mapping[str, bool],
) -> DryAttachment:
    alone: list[Message] = [{"role": "user", "content": [block]}]
    refusal, ready = "", Outgoing(messages=alone)
    try:
        ready = request.model.ready(alone, forms=request.forms)
    except AgentcellError as error:
        refusal = error.problem
    # As it goes with all others, if they can go: many images may have to be smaller.
    going = ready.messages if request.refusal else request.outgoing
    sent = [one.asset for one in media_blocks(going) if one.tag == block.tag]
    notes = request.notes_of.get(block.fingerprint, ready.notes_about([block.fingerprint]))
    return DryAttachment(
        tag=block.tag,
        place=place,
        is_new=block.fingerprint in {one.fingerprint for one in request.question.blocks},
        given=block.asset.describe(),
        sent=() if refusal else tuple(asset.describe() for asset in sent),
        how="refused" if refusal else _how(block.asset, sent, files),
        notes=tuple(dict.fromkeys((*block.asset.notes, *notes))),
        refusal=refusal,
        tokens=counts.attachment(block.tag),
    )


def _how(given: MediaAsset, sent: list[MediaAsset], files: Mapping[str, bool]) -> How:
    is_pdf = given.mime_type == "application/pdf"
    if not sent:
        return "text"
    if is_pdf and any(asset.mime_type != "application/pdf" for asset in sent):
        return "page images"
    match sent[0].source_kind:
        case "url":
            return "url"
        case "file_id":
            return "file id"
    known = [files[one] for asset in sent if (one := asset.fingerprint()) in files]
    return "inline" if not known else "file id" if all(known) else "upload"


def _settings(request: Request, ask: Ask) -> tuple[Mapping[str, Any], AgentcellError | None]:
    """Return the settings as the service would get them, and what is wrong with them."""
    plain = {**request.model.invoke_settings, **(ask.settings or {})}
    if request.refusal is not None:
        return plain, None
    try:
        sent = json.loads(request_as_sent(request.model, ask.messages, ask.tools, ask.settings))
    except AgentcellError as error:
        return plain, error
    body = sent.get("body", sent.get("settings"))
    if not isinstance(body, dict):
        return plain, None
    with suppress(TypeError):
        return {name: value for name, value in body.items() if name not in _CONTENT}, None
    return plain, None
