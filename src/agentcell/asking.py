"""A request → its events, with tools run on the way, and at its end, whatever it is, one turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, TypeAlias

from agentcell.adapters.events import Event, closable
from agentcell.adapters.model import Model
from agentcell.adapters.recording import RecordingModel
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.exchange import (
    Ask,
    RoundsFinished,
    Step,
    ToolFinished,
    ToolLog,
    ToolStarted,
    as_text,
    exchange,
)
from agentcell.agents.repairing import Usable, repairing
from agentcell.agents.rounds import astreamed, streamed, takes_tool_media
from agentcell.agents.session_skills import without_system_media
from agentcell.agents.tools import Tool, named_tools
from agentcell.assets.asset import MediaAsset
from agentcell.errors import Unsupported
from agentcell.history.turn_record import TurnRecord
from agentcell.history.turns import Turn
from agentcell.messages import Message, TextMessageBlock, media_blocks
from agentcell.metering import Meter
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.session_tags import SessionTags
from agentcell.prompts.tags import TagRegistry
from agentcell.request import Request

AskEvent: TypeAlias = Event | ToolStarted | ToolFinished

ATTEMPTS = 2
"""How often an answer by a schema is asked for: a wrong one is repaired once."""


def asked(
    request: Request, tags: SessionTags, commit: Callable[[Turn], None], meter: Meter
) -> Iterator[AskEvent]:
    """Send `request` and yield what comes of it; at its end `commit` takes the turn.

    Parameters
    ----------
    request
        Ready to be sent.
    tags
        Names for what tools return.
    commit
        See `TurnRecord`.
    meter
        Lets the calls of the model go out, and counts them.
    """
    meter.admit(lambda: first_ask(request, tags))  # before there is a turn to keep
    record = TurnRecord(request.turn, _of_recorded(request, commit))
    with record:
        if not (request.tools or request.schema):
            answer = meter.stream(request.outgoing, None, request.settings)
            with closing(closable(answer)) as events:
                for event in events:
                    record.take(event)
                    meter.take(event)
                    yield event
            return
        rounds = streamed(meter, _steps(request, record, tags), request.approve)
        with closing(rounds) as events:  # type: ignore[type-var]
            for event in events:
                if _is_told(record, event, meter):
                    yield _as_recorded(event, request)


async def aasked(
    request: Request, tags: SessionTags, commit: Callable[[Turn], None], meter: Meter
) -> AsyncIterator[AskEvent]:
    """Like `asked`, without blocking the loop; tools that are no coroutines run in threads."""
    await meter.aadmit(lambda: first_ask(request, tags))
    record = TurnRecord(request.turn, _of_recorded(request, commit))
    with record:
        if not (request.tools or request.schema):
            answer = meter.astream(request.outgoing, None, request.settings)
            async with aclosing(answer) as events:  # type: ignore[type-var]
                async for event in events:
                    record.take(event)
                    meter.take(event)
                    yield event
            return
        rounds = astreamed(meter, _steps(request, record, tags), request.approve)
        async with aclosing(rounds) as events:  # type: ignore[type-var]
            async for event in events:
                if _is_told(record, event, meter):
                    yield _as_recorded(event, request)


def _of_recorded(request: Request, commit: Callable[[Turn], None]) -> Callable[[Turn], None]:
    """Return `commit` for a turn without what would differ with each replay.

    How long an answer took that did not come to its end nobody can tell but by waiting again.
    """
    if not isinstance(request.model, RecordingModel):
        return commit

    def committed(turn: Turn) -> None:
        commit(turn if turn.status == "complete" else replace(turn, seconds=0.0))

    return committed


def _as_recorded(event: AskEvent, request: Request) -> AskEvent:
    """Return an event without what would differ with each replay: how long a tool took."""
    if isinstance(event, ToolFinished) and isinstance(request.model, RecordingModel):
        return replace(event, seconds=0.0)
    return event


def first_ask(request: Request, tags: SessionTags) -> Ask:
    """Return what the model is asked first, as it is given to it. Nothing is sent.

    Parameters
    ----------
    request, tags
        As for `asked`.
    """
    if not (request.tools or request.schema):
        return Ask(request.outgoing, None, request.settings)
    steps = _steps(request, TurnRecord(request.turn, lambda _: None), tags)
    with closing(steps):
        step = next(steps)
    assert isinstance(step, Ask)  # noqa: S101 (before it there is nothing to do or to tell)
    return step


def _is_told(record: TurnRecord, event: Any, meter: Meter) -> bool:
    """Put an event on record; say whether whoever asked is told of it."""
    if isinstance(event, ToolStarted):
        record.next_call()
    elif isinstance(event, (RoundsFinished, Usable)):
        return False
    elif not isinstance(event, ToolFinished):
        record.take(event)
        meter.take(event)
    return True


def _steps(
    request: Request, record: TurnRecord, tags: SessionTags
) -> Generator[Step, Any, RoundsFinished | Usable]:
    schema, settings = request.schema, request.settings
    if schema is not None and _answers_by_schema(request.model):
        settings = {**settings, "schema": schema.document}
    common: dict[str, Any] = {
        "log": ToolLog(request.max_rounds),
        "tags": _ToolTags(tags, request.messages),
        "takes_media": _shows_results(request.model),
        "added": record.added,
    }
    if schema is None:
        return (yield from exchange(request.outgoing, request.tools, settings, **common))
    return (
        yield from repairing(
            request.outgoing,
            request.tools,
            settings,
            wanted=schema.wanted(),
            attempts=ATTEMPTS,
            **common,
        )
    )


class _ToolTags(TagRegistry):
    """Names what tools return like the session's other attachments."""

    def __init__(self, tags: SessionTags, messages: Sequence[Message]) -> None:
        super().__init__()
        self._session = tags
        for block in media_blocks(messages):
            self.adopt(block.tag, block.asset)

    def reserve(
        self, asset: MediaAsset, field_name: str, description: str = "", *, fresh: bool = False
    ) -> tuple[str, bool]:
        """Return the asset's tag, and whether the model has not seen it yet."""
        known = self.tag_of(asset)
        if known is not None and not fresh:
            return known, False
        tag = self._session.tag(asset, FieldSpec(field_name, description))
        self.adopt(tag, asset)
        return tag, True


# -- what a request is made of -------------------------------------------------------------------


def tools_for(model: Model, tools: Any) -> dict[str, Tool]:
    """Return tools by name, for a model that calls them.

    Raises
    ------
    ToolError
        If one is none, or two have the same name.
    Unsupported
        If `model` calls no tools.
    """
    named = named_tools(tools)
    if named and not model.capabilities.tools:
        raise Unsupported(
            f"{model.name} calls no tools.",
            fix="leave the tools out, or choose a model that calls them with `-m`.",
            provider=model.provider,
            model=model.model_name,
        )
    return named


def sent_to(
    model: Model, messages: Iterable[Message], schema: AnswerSchema | None
) -> list[Message]:
    """Return `messages` as `model` can read them.

    What tools returned becomes text for one that takes no attachments there; skills' media stand
    before the first question for one that takes none in instructions; one that does not answer by
    a schema of itself is told it below the question.
    """
    shows = _shows_results(model)
    sent = [
        {**message, "content": as_text(message["content"])}
        if message["role"] == "tool" and not shows
        else message
        for message in messages
    ]
    if model.capabilities.system_media == "refused":
        sent = without_system_media(sent)
    if schema is not None and not _answers_by_schema(model):
        sent[-1] = _with_text(sent[-1], schema.instructions())
    return sent


def _shows_results(model: Model) -> bool:
    """Whether what a tool returns may be shown to a model, and not only told."""
    return model.capabilities.image_input and takes_tool_media(model)


def _answers_by_schema(model: Model) -> bool:
    return model.capabilities.structured_output


def _with_text(message: Message, text: str) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": f"{content}\n\n{text}"}
    last = content[-1]
    if not isinstance(last, TextMessageBlock):
        return {**message, "content": [*content, TextMessageBlock(text)]}
    return {**message, "content": [*content[:-1], replace(last, text=f"{last.text}\n\n{text}")]}
