"""What every model is: one method to write, and the rest made of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from agentcell.adapters.capabilities import ModelCapabilities, listed_sources
from agentcell.adapters.events import (
    Event,
    ModelResponseType,
    agather,
    events_of,
    gather,
)
from agentcell.adapters.outgoing import Outgoing, outgoing
from agentcell.assets.limits import UNLIMITED, MediaLimits
from agentcell.assets.prepare import Form
from agentcell.errors import ModelError, Unsupported
from agentcell.loop import LOOP
from agentcell.messages import Message, media_blocks
from agentcell.modality import FieldModality

_SHOWN = 100
"""Characters of a model's name that a repr shows."""


class Model:
    """One model behind one service. Write `invoke`; all else has defaults made of it.

    A model holds no conversation: the same messages give the same request. Its constructor does
    no I/O. One model may be shared by many threads and nodes.

    Parameters
    ----------
    model_name
        The service's own name for it; not empty.
    invoke_settings
        Settings for every call, under those given with the call.
    capabilities
        What it takes; text only by default.
    """

    provider: ClassVar[str] = "custom"
    media_limits: ClassVar[MediaLimits] = UNLIMITED
    is_free: ClassVar[bool] = False
    """Whether an answer costs nothing for certain; what is not known to be free is not."""
    __node_template_scope__ = "shared"

    def __init__(
        self,
        model_name: str,
        invoke_settings: Mapping[str, Any] | None = None,
        *,
        capabilities: ModelCapabilities | None = None,
    ) -> None:
        if not isinstance(model_name, str) or not model_name.strip():
            raise ModelError(
                f"model_name is {model_name!r}; the service's name for a model was expected.",
                fix='give one, for example model_name="gpt-4.1".',
            )
        self.model_name = model_name
        self.invoke_settings = dict(invoke_settings or {})
        self.capabilities = capabilities or ModelCapabilities()

    @property
    def name(self) -> str:
        """``provider/model``, for example ``"openai/gpt-4.1"``."""
        return f"{self.provider}/{self.model_name}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name[:_SHOWN]!r})"

    def invoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Send `messages` and return the whole answer.

        Parameters
        ----------
        messages
            OpenAI-shaped; see `agentcell.messages`.
        tools
            ``{"name", "description", "parameters"}`` each, `parameters` a JSON schema.
        settings
            ``temperature``, ``top_p``, ``max_tokens``, ``stop``, …; an unknown one is an error.
        kwargs
            What only this model's service knows; an adapter says which it takes.

        Returns
        -------
        dict
            ``{"type": ModelResponseType.CONTENT, "content": str}`` or
            ``{"type": ModelResponseType.TOOL_CALL, "content": [{"id", "name", "arguments"}]}``;
            also ``assistant_message, usage, finish_reason, model, request_id, raw_response``.

        Raises
        ------
        Unsupported
            Before any request, if a part or a setting is of a kind this model cannot take.
        ModelError
            If the service refuses or fails.
        """
        if type(self).astream is not Model.astream:  # gathered there: one hand-over, not hundreds
            events = self.astream(messages, tools, settings, **kwargs)
            return LOOP.run(agather(events))
        if type(self).stream is not Model.stream:
            return gather(self.stream(messages, tools, settings, **kwargs))
        raise TypeError(f"{type(self).__name__} must define invoke(), stream() or astream().")

    def stream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Iterator[Event]:
        """Yield the answer as it comes. Closing the iterator early closes the connection.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `invoke`.
        """
        if type(self).astream is not Model.astream:
            return LOOP.iterate(self.astream(messages, tools, settings, **kwargs))
        return iter(self._events(self.invoke(messages, tools, settings, **kwargs)))

    async def ainvoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Like `invoke`, without blocking the loop.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `invoke`.
        """
        return await agather(self.astream(messages, tools, settings, **kwargs))

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Event]:
        """Like `stream`, asynchronous. By default `invoke` runs in a thread.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `invoke`.
        """
        result = await asyncio.to_thread(self.invoke, messages, tools, settings, **kwargs)
        for event in self._events(result):
            yield event

    def _events(self, result: object) -> list[Event]:
        if not _is_result(result):
            raise ModelError(
                f"{type(self).__name__}.invoke returned {str(result)[:80]!r}; a dict with a"
                " ModelResponseType under 'type' and what it is under 'content' was expected.",
                fix='return {"type": ModelResponseType.CONTENT, "content": "..."}; calls of tools'
                ' as [{"id": "...", "name": "...", "arguments": {}}].',
                model=self.model_name,
            )
        return events_of(result)  # type: ignore[arg-type]  # it is one, says _is_result

    def ready(
        self,
        messages: list[Message],
        *,
        detail: str = "",
        pdf_as: str = "pdf",
        forms: Mapping[str, Form] | None = None,
    ) -> Outgoing:
        """Return `messages` with attachments as this model takes them. Nothing is sent.

        Parameters
        ----------
        messages
            As they were said; they stay as they are.
        detail
            ``auto`` and ``high`` scale large images down, ``original`` leaves them; a service that
            can be told how closely to look is told it. Empty: nobody chose.
        pdf_as
            ``pdf``, ``images`` (one for each page) or ``text``.
        forms
            For some attachments, by their fingerprints, another detail and form.

        Raises
        ------
        Unsupported, AttachmentError
            If one cannot be sent to this model, or not made to fit.
        """
        usual = Form(detail=detail, pdf_as=pdf_as)
        for block in media_blocks(messages):
            form = (forms or {}).get(block.fingerprint, usual)
            if block.modality is FieldModality.IMAGE or form.pdf_as == "pdf":
                self.check_source(block.modality, block.asset.source_kind, block.field_name)
        limits = self.request_limits()
        ready = outgoing(messages, limits, detail=detail, pdf_as=pdf_as, forms=forms)
        self.check_media(ready.messages)
        return ready

    def request_limits(self) -> MediaLimits:
        """Return what one request may hold."""
        return replace(self.media_limits, pdf=self.capabilities.pdf_input)

    def check_media(self, messages: list[Message]) -> None:
        """Refuse, before any request, media that this model cannot take.

        Parameters
        ----------
        messages
            All that would be sent.

        Raises
        ------
        Unsupported
            Naming the model, the modality, the source, the field and the way out.
        """
        for block in media_blocks(messages):
            self.check_source(block.modality, block.asset.source_kind, block.field_name)

    def check_source(self, modality: FieldModality, source: str, field_name: str) -> None:
        """Refuse one attachment that this model cannot take.

        Parameters
        ----------
        modality
            IMAGE or PDF.
        source
            One of `agentcell.adapters.capabilities.SOURCES`.
        field_name
            For the error's text.

        Raises
        ------
        Unsupported
            As `check_media`.
        """
        able = self.capabilities
        is_image = modality is FieldModality.IMAGE
        takes = able.image_input if is_image else able.pdf_input
        sources = able.image_sources if is_image else able.pdf_sources
        if not takes:
            raise Unsupported(
                f"{self.name} does not support modality '{modality}' for field '{field_name}'.",
                fix="choose a model that takes it, for example `-m local`.",
                provider=self.provider,
                model=self.model_name,
            )
        if source not in sources:
            raise Unsupported(
                f"{self.name} does not support '{modality}' source '{source}'"
                f" for field '{field_name}'.",
                fix=f"give it as {listed_sources(sources)}.",
                provider=self.provider,
                model=self.model_name,
            )


def _is_result(result: object) -> bool:
    """Whether an `invoke` returned what it must: text, or calls that name their tools."""
    if not isinstance(result, dict) or "content" not in result:
        return False
    if result.get("type") is ModelResponseType.CONTENT:
        return True
    calls = result["content"]
    return (
        result.get("type") is ModelResponseType.TOOL_CALL
        and isinstance(calls, list)
        and all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls)
    )


def innermost(model: Model) -> Model:
    """Return who answers: some models stand around another, as their `model`."""
    inner = getattr(model, "model", None)
    return innermost(inner) if isinstance(inner, Model) and inner is not model else model
