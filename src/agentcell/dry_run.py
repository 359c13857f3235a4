"""A request → what it would send, part by part, and what that would cost; nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from agentcell.adapters.estimate import Estimate, estimate_tokens
from agentcell.adapters.logs import request_as_sent
from agentcell.adapters.model import innermost
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.recording.model import RecordingModel
from agentcell.adapters.uploads import UploadsFiles
from agentcell.agents.exchange import Ask
from agentcell.budget import Budget, CostQuestion, Foreseen, foreseen, question
from agentcell.dry_attachment import Count, Counts, DryAttachment, way_of
from agentcell.errors import AgentcellError, BudgetExceeded, PriceError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, media_blocks
from agentcell.request import Request

_CONTENT = {
    *("model", "messages", "input", "contents", "system", "instructions"),
    *("system_instruction", "systemInstruction", "tools"),
}
"""What a request's body says besides its settings, by the names of the providers."""


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
    counts = Counts(estimate)
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


def _messages(request: Request, counts: Counts) -> Iterator[DryMessage]:
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


def _attachments(request: Request, counts: Counts) -> Iterator[DryAttachment]:
    model = innermost(request.model)
    files = model.as_files(request.outgoing) if isinstance(model, UploadsFiles) else {}
    for number, message in enumerate(request.messages, start=1):
        for block in media_blocks([message]):
            yield _attachment(request, block, number, counts, files)


def _attachment(
    request: Request,
    block: MediaMessageBlock,
    place: int,
    counts: Counts,
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
        how="refused" if refusal else way_of(block.asset, sent, files),
        notes=tuple(dict.fromkeys((*block.asset.notes, *notes))),
        refusal=refusal,
        tokens=counts.attachment(block.tag),
    )


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
