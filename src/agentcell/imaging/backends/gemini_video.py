"""A wish → a clip by Gemini's Interactions: begun in the background, looked at until it is done.

Shapes as in google-genai 3.6 (``_gaos/types/interactions``), read 2026-11-30.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import AsyncGenerator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import host_of
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import Usage
from agentcell.adapters.pricing import cost, price_of
from agentcell.adapters.redaction import without_data
from agentcell.errors import GenerationError, GenerationFailed, ModelError
from agentcell.imaging.backends.gemini_service import (
    GeminiService,
    check_references,
    check_words,
    encoded_picture,
)
from agentcell.imaging.backends.watching import GONE, Patience, TooLong, looks
from agentcell.imaging.backends.wire import LOOK
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, Progressed
from agentcell.imaging.wish import GenerationWish
from agentcell.safe_text import unsendable

DEFAULT_MODEL = "gemini-omni-1.1-flash"

_ASPECTS = ("16:9", "9:16")
_RESOLUTIONS = {"640x360": "360p", "1280x720": "720p", "1920x1080": "1080p", "3840x2160": "4k"}
_OVER = {
    *("completed", "failed", "cancelled", "incomplete", "budget_exceeded"),
    *("requires_action", "requires_continuation", "error", "expired"),
}
_SHOWN = 100
"""Characters of the service's own words for a job and its state."""

_LOOK_TIMEOUT = 120.0
"""Seconds for one look: the answer to the last holds the whole clip."""


class GeminiVideo:
    """Clips by Gemini; see `GeminiMedia`."""

    def __init__(
        self, api_key: str | None, base_url: str | None, timeouts: Timeouts, patience: Patience
    ) -> None:
        self._key, self._url = api_key, base_url
        self._timeouts, self._patience = timeouts, patience

    def check(self, wish: GenerationWish) -> None:
        """Refuse what the API does not take; see `GeminiMedia.check`."""
        check_words(wish, "clips")
        if wish.aspect and wish.aspect not in _ASPECTS:
            raise GenerationError(
                f"aspect is {wish.aspect}; gemini makes clips of {' and '.join(_ASPECTS)}.",
                fix="give one of these.",
            )
        _resolution(wish.size)
        check_references(wish.references)
        self._service(wish)._origin()  # noqa: SLF001 (a key that is missing is told now)

    def price(self, wish: GenerationWish) -> Decimal | None:
        """Return None: tokens of a clip are known when it is there."""
        del wish
        return None

    async def run(self, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        """Begin the clip, and yield how it goes."""
        service = self._service(wish)
        body = await asyncio.to_thread(self._body, wish)
        request = service.ready_request(body, self._timeouts)
        answer = await service.asked(request, "/interactions")
        said = await answer.document()
        name = said.get("id")
        if isinstance(error := said.get("error"), dict):
            raise answer.refused(error)
        if not isinstance(name, str) or not name or unsendable(name):
            raise answer.wrong("no name for the clip")
        yield Accepted(name)
        async with contextlib.aclosing(self.watched(name, wish, first=said)) as events:
            async for event in events:
                yield event

    async def watched(
        self, name: str, wish: GenerationWish, *, first: dict[str, Any] | None = None
    ) -> AsyncGenerator[BackendEvent]:
        """Look at a clip until it is over, and yield how it goes."""
        service = self._service(wish)
        path = f"/interactions/{quote(name, safe='')}"
        timeouts = Timeouts(
            connect=self._timeouts.connect,
            first_byte=min(_LOOK_TIMEOUT, self._timeouts.first_byte),
            silence=self._timeouts.silence,
        )
        told = ""
        last: dict[str, Any] = {}
        watching = looks(
            lambda: service.looked_up("GET", path, timeouts),
            self._patience,
            is_over=lambda said: _state(said) in _OVER,
            first=first,
        )
        try:
            async with contextlib.aclosing(watching) as states:
                async for said in states:
                    last = said
                    if (state := _state(said)) != told:
                        told = state
                        yield Progressed(state)
        except TooLong as late:
            raise self._late(service, name, told, late.asked) from None
        except ModelError as error:
            if error.status not in GONE:
                raise
            raise self._gone(service, name, error) from error.__cause__
        clips = list(_clips(last))
        if told != "completed" or not clips:
            raise self._without(service, name, told, last)
        for clip in clips:
            yield clip
        yield Ended(model=service.model_name, cost=_cost(service, last), seed=wish.seed)

    async def cancel(self, name: str) -> bool:
        """Ask the service to stop a clip; return whether it says that it did."""
        service = GeminiService(DEFAULT_MODEL, self._key, self._url)
        path = f"/interactions/{quote(name, safe='')}/cancel"
        said = await service.looked_up("POST", path, self._timeouts)
        return _state(said) == "cancelled"

    def _body(self, wish: GenerationWish) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": wish.prompt}]
        for asset in wish.references:
            mime_type, data = encoded_picture(asset)
            content.append({"type": "image", "mime_type": mime_type, "data": data})
        form: dict[str, Any] = {"type": "video", "delivery": "inline"}
        if wish.aspect:
            form["aspect_ratio"] = wish.aspect
        if wish.seconds is not None:
            form["duration"] = f"{wish.seconds}s"
        if resolution := _resolution(wish.size):
            form["resolution"] = resolution
        tasks = ("text_to_video", "image_to_video", "reference_to_video")
        config: dict[str, Any] = {"video_config": {"task": tasks[min(2, len(wish.references))]}}
        if wish.seed is not None:
            config["seed"] = wish.seed
        return {
            "model": wish.model or DEFAULT_MODEL,
            "input": content,
            "generation_config": config,
            "response_format": form,
            "background": True,
            "store": True,  # else there is nothing to ask for again
        }

    def _service(self, wish: GenerationWish) -> GeminiService:
        return GeminiService(wish.model or DEFAULT_MODEL, self._key, self._url)

    def _late(
        self, service: GeminiService, name: str, state: str, asked: float | None
    ) -> ModelError:
        until = failures.asked_wait(asked)
        name, seconds = failures.one_line(name, _SHOWN), self._patience.total
        return service._origin().error(  # noqa: SLF001
            GenerationFailed,
            f"The clip {name} was not ready within {seconds:g} seconds; its last state is"
            f" {state or 'not known'!r}. It was accepted and is charged, and may still be under"
            f" way: asking anew makes and charges another one.{until and f' {until}'}",
            f"later, `%generate resume {name}` fetches it without a second charge.",
            is_billed=True,
            is_over=False,
        )

    def _gone(self, service: GeminiService, name: str, error: ModelError) -> ModelError:
        name, may_be_had = failures.one_line(name, _SHOWN), error.status in (401, 403)
        return service._origin().error(  # noqa: SLF001
            GenerationFailed,
            f"gemini answered {error.status} about the clip {name}, which it had accepted and"
            " charges. Asking anew charges another one.",
            f"check the key, then run `%generate resume {name}`."
            if may_be_had
            else f"ask Google's support about {name}.",
            status=error.status,
            is_billed=True,
            is_over=not may_be_had,
        )

    def _without(
        self, service: GeminiService, name: str, state: str, said: Mapping[str, Any]
    ) -> ModelError:
        reason = _reason(said)
        because = f": {reason}" if reason else ""
        done, state = state == "completed", failures.one_line(state, _SHOWN)
        name = failures.one_line(name, _SHOWN)
        what = "is done, and holds no clip" if done else f"ended as {state!r}"
        return service._origin().error(  # noqa: SLF001
            GenerationFailed,
            f"{name} {what}{because}. Whether it is charged is not known.",
            "word the prompt differently, then ask anew." if reason else LOOK,
            is_billed=None,
        )


def _state(said: Mapping[str, Any]) -> str:
    return failures.one_line(str(said.get("status") or "").lower(), _SHOWN)


def _resolution(size: str) -> str:
    if size in ("", "auto"):
        return ""
    width, height = sorted(map(int, size.split("x")), reverse=True)
    if (found := _RESOLUTIONS.get(f"{width}x{height}")) is None:
        raise GenerationError(
            f"size is {size}; gemini makes clips of {', '.join(_RESOLUTIONS)}.",
            fix="give one of these, with --aspect 9:16 for a standing one.",
        )
    return found


def _clips(said: Mapping[str, Any]) -> list[Made]:
    """Return the clips of what is done."""
    found = []
    steps = said.get("steps")
    for step in steps if isinstance(steps, list) else ():
        content = step.get("content") if isinstance(step, dict) else None
        for item in content if isinstance(content, list) else ():
            if not isinstance(item, dict) or item.get("type") != "video":
                continue
            data, uri = item.get("data"), item.get("uri")
            if isinstance(data, str) and data:
                with contextlib.suppress(binascii.Error, ValueError):
                    found.append(Made(kind="video", data=base64.b64decode(data, validate=True)))
            elif isinstance(uri, str) and uri:
                found.append(Made(kind="video", url=uri))
    return found


def _reason(said: Mapping[str, Any]) -> str:
    """Return the service's own words on what went wrong."""
    errors = said.get("errors") or [said.get("error")]
    words = [
        one["message"]
        for one in (errors if isinstance(errors, list) else [])
        if isinstance(one, dict) and isinstance(one.get("message"), str)
    ]
    return failures.one_line(failures.redacted(without_data("; ".join(words))))


def _cost(service: GeminiService, said: Mapping[str, Any]) -> Decimal | None:
    """Return what a clip cost by the service's count of tokens; those of clips have their price."""
    usage = said.get("usage")
    if not isinstance(usage, dict):
        return None
    read, wrote = usage.get("total_input_tokens"), usage.get("total_output_tokens")
    if not isinstance(read, int) or not isinstance(wrote, int):
        return None
    thought = usage.get("total_thought_tokens")
    wrote += thought if isinstance(thought, int) else 0
    if price_of(service) is not None:
        price = cost(service, Usage(input_tokens=read, output_tokens=wrote))
        return None if price is None else price.total
    if not host_of(service.base_url).endswith(".googleapis.com"):
        return None
    return _by_package(service.model_name, read, wrote, _moving(usage))


def _moving(usage: Mapping[str, Any]) -> int:
    listed = usage.get("output_tokens_by_modality")
    counts = (
        one.get("tokens")
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and str(one.get("modality")).lower() == "video"
    )
    return sum(count for count in counts if isinstance(count, int))


def _by_package(model: str, read: int, wrote: int, moving: int) -> Decimal | None:
    try:
        import genai_prices

        used = genai_prices.Usage(
            input_tokens=read, output_tokens=wrote, output_video_tokens=min(moving, wrote)
        )
        found = genai_prices.calc_price(used, model, provider_id="google")
    except (ImportError, LookupError, ValueError, TypeError):
        return None
    return found.total_price if found.model.id == model else None
