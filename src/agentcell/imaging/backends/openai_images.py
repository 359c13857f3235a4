"""A wish → pictures by OpenAI's Images API: made, or edited with references and a mask.

Shapes and limits as in the openai SDK 3.57 (`ImageGenerateParams`, `ImageEditParams`), read
2026-11-30. The service keeps no jobs: an answer that is lost is lost, and may be charged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from agentcell import keys
from agentcell.adapters.body import Body
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import Usage
from agentcell.adapters.openai_client import OpenAIProtocolModel
from agentcell.adapters.pricing import cost
from agentcell.errors import GenerationError, GenerationFailed
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.account import MakersAccount
from agentcell.imaging.backends.form import form_of
from agentcell.imaging.backends.openai_wish import as_mask, check, expected_usage, sendable
from agentcell.imaging.backends.wire import (
    Answer,
    answered,
    event_object,
    picture_of,
    prepared,
)
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish

DEFAULT_MODEL = "gpt-image-2.5-flare"


class _Service(MakersAccount, OpenAIProtocolModel):
    """The account and address of OpenAI, for one of its two ways to a picture."""

    provider: ClassVar[str] = "openai"
    path: ClassVar[str] = "/images/generations"


class _Edits(_Service):
    path: ClassVar[str] = "/images/edits"


class OpenAIImages(ImageBackend):
    """Pictures by OpenAI, or by a server that speaks its Images API.

    Parameters
    ----------
    api_key, base_url
        As for `OpenAIModel`.
    partial_images
        How many previews come of a single picture while it is made, 0 to 3. Each costs about 100
        tokens more.
    timeout
        Seconds, or `Timeouts`, for the first byte and each next one.
    """

    name = "openai"
    known_models = (
        *("gpt-image-2.6-sunburst", "gpt-image-2.6-flare", "gpt-image-2.5-sunburst"),
        *("gpt-image-2.5-flare", "gpt-image-2", "chatgpt-image-latest"),
    )

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        partial_images: int = 1,
        timeout: float | Timeouts | None = None,
    ) -> None:
        if partial_images not in range(4):
            raise GenerationError(
                f"partial_images is {partial_images!r:.40}; 0 to 3 were expected.",
                fix="give another number.",
            )
        self._key, self._url = api_key, base_url
        self._partial_images = partial_images
        self._timeouts = Timeouts.of(timeout)

    def is_at_hand(self) -> bool:
        """Whether a key is set."""
        return bool(self._key) or keys.is_at_hand((_Service.key_variable,))

    def check(self, wish: GenerationWish) -> None:
        """Refuse what the API does not take.

        Parameters
        ----------
        wish
            See `ImageBackend.check`.

        Raises
        ------
        GenerationError, AttachmentError
            What was asked, and what it takes.
        KeyMissing
            If there is no key.
        """
        super().check(wish)
        check(wish, wish.model or DEFAULT_MODEL)
        self._service(wish)._origin()  # noqa: SLF001 (a key that is missing is told now)

    def price(self, wish: GenerationWish) -> Decimal | None:
        """Return about what `wish` will cost; None where nobody knows.

        Parameters
        ----------
        wish
            With quality ``auto`` or none, that of ``high`` is taken.
        """
        given = super().price(wish)
        if given is not None:
            return given
        usage = expected_usage(wish, self._partial_images)
        price = None if usage is None else cost(self._service(wish), usage)
        return None if price is None else price.total

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        """Ask once, and yield what comes.

        Parameters
        ----------
        wish, key
            See `ImageBackend.run`; the service keeps no idempotency keys.
        """
        del key
        service = self._service(wish)
        fields = self._fields(wish)
        body, content_type = await asyncio.to_thread(_body, wish, fields)
        headers = {"content-type": content_type}
        if not fields.get("stream"):
            headers["accept"] = "application/json"
        request = prepared(body, service._origin(), headers, self._timeouts)  # noqa: SLF001
        answer = await answered(service.send(request), request)
        yield Accepted("")
        reading = self._streamed(answer, wish) if answer.is_stream else self._whole(answer, wish)
        async with contextlib.aclosing(reading) as events:
            async for event in events:
                yield event

    def _fields(self, wish: GenerationWish) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": wish.model or DEFAULT_MODEL,
            "prompt": wish.prompt,
            "output_format": wish.format,
        }
        optional = {"n": wish.count if wish.count > 1 else None, "size": wish.size or None}
        optional["quality"] = wish.quality or None
        if wish.count == 1:  # of several, a stream does not say which picture is which
            optional |= {"stream": True, "partial_images": self._partial_images}
        return fields | {name: value for name, value in optional.items() if value is not None}

    async def _streamed(self, answer: Answer, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        made, usage = 0, None
        async with contextlib.aclosing(answer.events()) as events:
            async for name, data in events:
                if data == b"[DONE]":
                    continue
                said = event_object(data)
                kind = str(said.get("type") or name)
                if kind == "error" or said.get("error"):
                    raise answer.refused(said.get("error") or said)
                if kind.endswith(".partial_image"):
                    if (preview := _preview(answer, said)) is not None:
                        yield preview
                elif kind.endswith(".completed"):
                    picture = picture_of(answer, said.get("b64_json"))
                    made, usage = made + 1, said.get("usage")
                    yield Made(kind="image", data=picture, model=wish.model or DEFAULT_MODEL)
        if not made:
            raise answer.cut()
        yield self._ended(wish, usage)

    async def _whole(self, answer: Answer, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        yield Progressed("drawing")
        said = await answer.document()
        if error := said.get("error"):
            raise answer.refused(error)
        items = said.get("data")
        if not isinstance(items, list) or not items:
            raise answer.wrong("an answer without a picture")
        made = 0
        fault: GenerationFailed | None = None
        for item in items:
            found = item if isinstance(item, dict) else {}
            url = found.get("url")
            if isinstance(url, str) and url and not found.get("b64_json"):  # of servers alike it
                made += 1
                yield Made(kind="image", url=url, revised_prompt=_words(found))
                continue
            try:
                data = picture_of(answer, found.get("b64_json"))
            except GenerationFailed as error:
                fault = fault or error  # told at the end: the others are paid for, too
                continue
            made += 1
            model = wish.model or DEFAULT_MODEL
            yield Made(kind="image", data=data, revised_prompt=_words(found), model=model)
        if made:
            yield self._ended(wish, said.get("usage"))
        if fault is not None:
            raise fault

    def _ended(self, wish: GenerationWish, usage: object) -> Ended:
        counted = _usage(usage)
        paid = None if counted is None else cost(self._service(wish), counted)
        return Ended(model=wish.model or DEFAULT_MODEL, cost=None if paid is None else paid.total)

    def _service(self, wish: GenerationWish) -> _Service:
        kind = _Edits if wish.references else _Service
        return kind(wish.model or DEFAULT_MODEL, self._key, self._url)


def _body(wish: GenerationWish, fields: Mapping[str, Any]) -> tuple[Body, str]:
    """Return what is sent, and its content type. Pictures may be converted for it: that takes time.

    Raises
    ------
    GenerationError, AttachmentError
        If a picture cannot be sent.
    """
    if not wish.references:
        return Body((json.dumps(fields).encode(),)), "application/json"
    files = [("image[]", sendable(asset)) for asset in wish.references]
    if wish.mask is not None:
        files.append(("mask", as_mask(wish.mask)))
    return form_of({name: _text(value) for name, value in fields.items()}, files)


def _preview(answer: Answer, said: Mapping[str, Any]) -> PartialImage | None:
    """Return a preview; None where it cannot be read: the picture itself still comes."""
    index = said.get("partial_image_index")
    try:
        data = picture_of(answer, said.get("b64_json"))
    except GenerationFailed:
        return None
    return PartialImage(data, index if isinstance(index, int) else 0)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(item: Mapping[str, Any]) -> str:
    revised = item.get("revised_prompt")
    return revised if isinstance(revised, str) else ""


def _usage(said: object) -> Usage | None:
    if not isinstance(said, dict):
        return None
    read, wrote = said.get("input_tokens"), said.get("output_tokens")
    if not isinstance(read, int) or not isinstance(wrote, int):
        return None
    inner = said.get("output_tokens_details")
    drawn = inner.get("image_tokens") if isinstance(inner, dict) else wrote
    before = said.get("input_tokens_details")
    looked = before.get("image_tokens") if isinstance(before, dict) else None
    return Usage(
        input_tokens=read,
        output_tokens=wrote,
        image_tokens=looked if isinstance(looked, int) else None,
        image_output_tokens=drawn if isinstance(drawn, int) else wrote,
    )
