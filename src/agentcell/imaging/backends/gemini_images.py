"""A wish → pictures by Gemini's generate_content, one request for each of them.

Shapes as in google-genai 3.6 (`GenerateContentConfig`, `ImageConfig`), read 2026-11-30.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from decimal import Decimal
from typing import Any

from agentcell.adapters import failures
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import Usage
from agentcell.adapters.gemini_decoder import content_reason, counted
from agentcell.adapters.pricing import cost
from agentcell.adapters.redaction import without_data
from agentcell.errors import ContentFiltered, GenerationError, GenerationFailed, ModelError
from agentcell.imaging.backends.gemini_service import (
    GeminiService,
    check_references,
    check_words,
    encoded_picture,
)
from agentcell.imaging.backends.wire import Answer, picture_of
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, Progressed
from agentcell.imaging.wish import GenerationWish

DEFAULT_MODEL = "gemini-nano-banana-2.1"

_ASPECTS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_PIXELS = {"512": 512**2, "1K": 1024**2, "2K": 2048**2, "4K": 4096**2}
_TOKENS = {"512": 747, "1K": 1120, "2K": 1680, "4K": 2520}
"""Of one picture (https://ai.google.dev/gemini-api/docs/pricing, read 2026-11-29)."""

_LONGEST_REASON = 60
"""Characters of a word for why there is no picture."""

_NEAR = 0.03
"""By how much of it a picture's shape may differ from one of the `_ASPECTS`."""

_MOST_TOLERANCE = 1.35
"""A picture of 16:9 has a third more or less pixels than a square one of the same name."""


class GeminiImages:
    """Pictures by Gemini; see `GeminiMedia`."""

    def __init__(self, api_key: str | None, base_url: str | None, timeouts: Timeouts) -> None:
        self._key, self._url, self._timeouts = api_key, base_url, timeouts

    def check(self, wish: GenerationWish) -> None:
        """Refuse what the API does not take; see `GeminiMedia.check`."""
        check_words(wish, "pictures")
        _shape(wish.size)
        check_references(wish.references)
        self._service(wish)._origin()  # noqa: SLF001 (a key that is missing is told now)

    def price(self, wish: GenerationWish) -> Decimal | None:
        """Return about what `wish` will cost; None where nobody knows."""
        _, name = _shape(wish.size)
        tokens = _TOKENS[name or "1K"]
        read = len(wish.prompt) // 3 + 10 + 1120 * len(wish.references)
        usage = Usage(input_tokens=read, output_tokens=tokens, image_output_tokens=tokens)
        price = cost(self._service(wish), usage)
        return None if price is None else price.total * wish.count

    async def run(self, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        """Ask once for each picture, one after the other, and yield what comes."""
        service = self._service(wish)
        paid: Decimal | None = Decimal(0)
        for number in range(wish.count):
            body = await asyncio.to_thread(self._body, wish, number)
            request = service.ready_request(body, self._timeouts)
            answer = await service.asked(request, service.model_path("generateContent"))
            yield Accepted("")
            yield Progressed("drawing", number / wish.count)
            said = await answer.document()
            pictures, fault = _pictures(answer, said)
            for data in pictures:
                yield Made(
                    kind="image", data=data, model=_model(said, service), seed=_seed(wish, number)
                )
            price = _cost(service, said.get("usageMetadata"))
            paid = None if price is None or paid is None else paid + price
            if fault is not None:
                yield Ended(model=service.model_name, cost=paid, seed=wish.seed)
                raise fault
        yield Ended(model=service.model_name, cost=paid, seed=wish.seed)

    def _body(self, wish: GenerationWish, number: int) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": wish.prompt}]
        for asset in wish.references:
            mime_type, data = encoded_picture(asset)
            parts.append({"inlineData": {"mimeType": mime_type, "data": data}})
        config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"]}
        aspect, size = _shape(wish.size)
        if aspect:
            config["imageConfig"] = {"aspectRatio": aspect, "imageSize": size}
        if (seed := _seed(wish, number)) is not None:
            config["seed"] = seed
        return {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}

    def _service(self, wish: GenerationWish) -> GeminiService:
        return GeminiService(wish.model or DEFAULT_MODEL, self._key, self._url)


def _cost(service: GeminiService, usage: object) -> Decimal | None:
    """Return what an answer cost; None where it does not count its tokens as it should."""
    if not isinstance(usage, dict):
        return None
    try:
        price = cost(service, counted(usage))
    except (TypeError, AttributeError):
        return None
    return None if price is None else price.total


def _seed(wish: GenerationWish, number: int) -> int | None:
    return None if wish.seed is None else wish.seed + number


def _shape(size: str) -> tuple[str, str]:
    """Return the shape and the size that stand for pixels; both empty where none are asked for.

    Raises
    ------
    GenerationError
        If no picture has that shape, or is so large.
    """
    if size in ("", "auto"):
        return "", ""
    width, height = map(int, size.split("x"))
    aspect = min(_ASPECTS, key=lambda one: abs(_ratio(one) * height / width - 1))
    if abs(_ratio(aspect) * height / width - 1) > _NEAR:
        raise GenerationError(
            f"size is {size}; gemini draws pictures of {', '.join(_ASPECTS)}.",
            fix="give a size of one of these shapes, for example 1024x1024 or 1376x768.",
        )
    pixels = width * height
    for name, most in _PIXELS.items():
        if pixels <= most * _MOST_TOLERANCE:
            return aspect, name
    raise GenerationError(
        f"size is {size}; gemini draws up to about 4096x4096 pixels.", fix="give a smaller size."
    )


def _ratio(aspect: str) -> float:
    width, _, height = aspect.partition(":")
    return int(width) / int(height)


def _model(said: Mapping[str, Any], service: GeminiService) -> str:
    version = said.get("modelVersion")
    return version if isinstance(version, str) and version else service.model_name


def _pictures(
    answer: Answer, said: Mapping[str, Any]
) -> tuple[list[bytes], GenerationFailed | None]:
    """Return the pictures in an answer, and what is wrong with one that cannot be read.

    Raises
    ------
    ModelError
        If there is none that can be read; it says why.
    """
    if isinstance(error := said.get("error"), dict):
        raise answer.refused(error)
    found: list[bytes] = []
    fault: GenerationFailed | None = None
    words = ""
    candidates = said.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else {}
    first = first if isinstance(first, dict) else {}
    content = first.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        inline = part.get("inlineData") or part.get("inline_data") if isinstance(part, dict) else 0
        if isinstance(inline, dict) and not part.get("thought"):
            try:
                found.append(picture_of(answer, inline.get("data")))
            except GenerationFailed as error:
                fault = fault or error  # told at the end: the others are paid for, too
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            words = words or part["text"]
    if not found:
        raise fault or _none(answer, said, str(first.get("finishReason") or ""), words)
    return found, fault


def _none(answer: Answer, said: Mapping[str, Any], reason: str, words: str) -> ModelError:
    origin = answer.prepared.origin
    feedback = said.get("promptFeedback")
    blocked = str(feedback.get("blockReason") or "") if isinstance(feedback, dict) else ""
    if blocked or content_reason(reason) == "content_filter":
        error = origin.error(
            ContentFiltered,
            f"{origin.name} refused to draw it: {failures.one_line(blocked or reason)}.",
            "word the prompt differently, or leave the reference out.",
        )
        # A prompt that is blocked is not answered; of a picture that is held back nobody says.
        error.is_billed = False if blocked else None
        return error
    said_so = failures.one_line(without_data(words)).rstrip(".")
    why = failures.one_line(reason, _LONGEST_REASON)
    because = f": {said_so}" if said_so else f" ({why})" if why else ""
    return origin.error(
        GenerationFailed,
        f"{origin.name} answered without a picture{because}. The answer has very likely been"
        " charged.",
        "ask for a picture in plain words.",
        is_billed=True,
    )
