"""`LocalModel`: documents are read here, the lines that answer are quoted, a small model words one.

No key, no network. What is shown first stands in the attachment; the model's own sentence follows
only if everything in it stands there too.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.content import Turn
from agentcell.adapters.events import Event, Finished, TextDelta
from agentcell.adapters.local import reply
from agentcell.adapters.local.asked import Asked, read_asked
from agentcell.adapters.local.attachment_answer import (
    NOTHING_SPOKEN,
    answer_from_attachments,
    fill_from_attachments,
)
from agentcell.adapters.local.chatting import chat, sampling, schema_of_outputs
from agentcell.adapters.local.speaker import speaker_for
from agentcell.adapters.local.status import missing_speaker
from agentcell.adapters.local.structured import fields_of_outputs, fields_of_schema
from agentcell.adapters.local.voice import Voice
from agentcell.adapters.local.weights import SMOLLM2, weights_path
from agentcell.adapters.model import Model
from agentcell.adapters.request import read_request
from agentcell.adapters.settings import Asked as Whom
from agentcell.adapters.settings import Settings, read_settings
from agentcell.errors import LocalModelMissing, ModelError, UnknownModel, Unsupported
from agentcell.messages import Message
from agentcell.modality import FieldModality

IDLE_SECONDS = 600.0
"""The child process ends when nobody has asked it anything for so long."""

_FILES = frozenset({"path", "bytes", "base64"})

_INSTEAD = {
    "tool_choice": "leave it out: the built-in reader calls no tools.",
    "reasoning": "leave it out: the built-in reader does not reason.",
    "detail": "leave it out: the built-in reader reads every image whole.",
}
"""Settings that it cannot honour, and what to do."""


class LocalModel(Model):
    """The built-in reader of documents, with a small model that words short English answers.

    Parameters
    ----------
    model_name
        ``smollm2-135m``, or the path of a GGUF file, which ends in ``.gguf``.
    gguf
        A GGUF file of your own, instead of the built-in model's.
    speak
        If False, answers are quotes alone, and no child process is started.
    invoke_settings
        Settings for every call: ``max_tokens, temperature, top_p, seed, stop, schema``.
    idle_seconds
        The child process ends after so many seconds without a question; infinity keeps it.

    Raises
    ------
    UnknownModel
        If `model_name` is neither.
    Unsupported
        If a setting cannot be honoured.
    """

    provider = "local"
    is_free = True

    def __init__(
        self,
        model_name: str = SMOLLM2.name,
        *,
        gguf: str | Path | None = None,
        speak: bool = True,
        invoke_settings: Mapping[str, Any] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        if gguf is not None and model_name == SMOLLM2.name:
            model_name = str(gguf)
        super().__init__(
            model_name,
            invoke_settings,
            capabilities=ModelCapabilities(
                image_input=True,
                pdf_input=True,
                image_sources=_FILES,
                pdf_sources=_FILES,
                system_media="sent",
                tool_result_media="sent",
                tools=False,
                structured_output=True,
            ),
        )
        if gguf is None and model_name.lower().endswith(".gguf"):
            gguf = model_name
        if gguf is None and model_name != SMOLLM2.name:
            raise UnknownModel(
                f"The built-in reader has no model {model_name!r}; it has {SMOLLM2.name}.",
                fix="write `local`, or local/PATH.gguf for a model file of your own.",
                provider=self.provider,
                model=model_name,
            )
        if not idle_seconds > 0:
            raise ModelError(
                f"idle_seconds is {idle_seconds!r}; a number of seconds above 0 was expected.",
                fix="leave it out, or give a number.",
                provider=self.provider,
                model=model_name,
            )
        self.gguf = None if gguf is None else Path(gguf).expanduser()
        self.speak = speak
        self.idle_seconds = float(idle_seconds)
        read_settings(self.invoke_settings, self._whom, instead=_INSTEAD)

    @property
    def _whom(self) -> Whom:
        return Whom(self.provider, self.model_name)

    def check_source(self, modality: FieldModality, source: str, field_name: str) -> None:
        """Refuse an attachment that is not here: nothing is fetched."""
        if source not in _FILES:
            what = "an address" if source == "url" else "a provider's file id"
            raise Unsupported(
                f"{self.name} cannot take the {modality} '{field_name}' by {what}: the built-in"
                " reader fetches nothing.",
                fix="give the file itself: a path, or its bytes.",
                provider=self.provider,
                model=self.model_name,
            )

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[Event]:
        """Yield the answer as it comes: quotes first, with a `Citation` each, then a sentence.

        Parameters
        ----------
        settings, kwargs
            See `LocalModel`; those given here go before the model's own.

        Raises
        ------
        Unsupported, AttachmentError
            Before anything, for what it cannot take or read.
        LocalModelMissing
            If what reads pictures is not installed; without attachments, also if the small model
            is not.
        AnswerError
            If a schema's number is not to be found.
        """
        if tools:
            raise Unsupported(
                f"{self.name} is the built-in reader of documents; it calls no tools.",
                fix="leave the tools out, or choose a model that calls them with `-m`.",
                provider=self.provider,
                model=self.model_name,
            )
        merged = {**(settings or {}), **kwargs}
        request = read_request(self, messages, None, merged, _INSTEAD)
        asked = read_asked(request.turns)
        async with aclosing(self._answer(asked, request.turns, request.settings)) as events:
            async for event in events:
                yield replace(event, model=self.name) if isinstance(event, Finished) else event

    async def _answer(
        self, asked: Asked, turns: Sequence[Turn], settings: Settings
    ) -> AsyncGenerator[Event]:
        if not asked.attachments:
            events = self._talk(asked, turns, settings)
        elif settings.schema is not None:
            fields = fields_of_schema(settings.schema, self.model_name)
            events = fill_from_attachments(asked, fields)
        elif asked.outputs:
            events = fill_from_attachments(asked, fields_of_outputs(asked.outputs))
        else:
            voice = self._voice()
            events = answer_from_attachments(asked, voice=voice, sampling=sampling(settings))
        async with aclosing(events):
            async for event in events:
                yield event
        if asked.attachments:
            yield Finished(reason="stop")

    def _voice(self) -> Voice | LocalModelMissing | None:
        """Return what speaks, or why nothing can; None if nothing shall.

        Raises
        ------
        LocalModelMissing
            If the user's own model file is not one.
        """
        if not self.speak:
            return None
        if missing := missing_speaker(self.gguf):
            if self.gguf is not None and missing.model == str(self.gguf):
                raise missing
            return missing
        path = (self.gguf or weights_path()).absolute()
        alias = SMOLLM2.name if self.gguf is None else path.stem
        return Voice(speaker_for(path, alias), self.idle_seconds, is_built_in=self.gguf is None)

    async def _talk(
        self, asked: Asked, turns: Sequence[Turn], settings: Settings
    ) -> AsyncGenerator[Event]:
        """Answer by the small model alone: nothing is attached."""
        is_own = self.gguf is not None
        voice = self._voice()
        if voice is None or not asked.plain or (asked.language != "en" and not is_own):
            yield TextDelta(self._cannot_talk(asked, settings))
            yield NOTHING_SPOKEN
            yield Finished(reason="stop")
            return
        if isinstance(voice, LocalModelMissing):
            raise voice
        schema = settings.schema or (schema_of_outputs(asked.outputs) if asked.outputs else None)
        if schema is None and asked.is_first and not (is_own or asked.is_program):
            await voice.speaker.start()  # what is missing is told before anything is shown
            yield TextDelta(f"{reply.chat_note()}\n\n")
        async with aclosing(chat(voice, turns, settings, schema=schema)) as events:
            async for event in events:
                yield event

    def _cannot_talk(self, asked: Asked, settings: Settings) -> str:
        words = reply.no_chat(asked.language)
        if settings.schema is not None and not asked.outputs:
            raise Unsupported(
                f"{self.name} cannot fill this schema: nothing is attached to read it from.",
                fix="attach a document, ask in English, or choose another model with `-m`.",
                provider=self.provider,
                model=self.model_name,
            )
        if asked.outputs:
            return json.dumps(dict.fromkeys(asked.outputs, words), ensure_ascii=False)
        return words
