"""A wish → pictures by OpenAI's Images API: made, or edited with references and a mask.

Shapes and limits as in the openai SDK 3.57 (`ImageGenerateParams`, `ImageEditParams`), read
2026-11-30. The service keeps no jobs: an answer that is lost is lost, and may be charged.
"""

from __future__ import annotations

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
from agentcell.assets.asset import ImageAsset
from agentcell.assets.convert import Target, converted
from agentcell.errors import GenerationError
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.form import form_of
from agentcell.imaging.backends.wire import (
    Answer,
    answered,
    event_object,
    picture_of,
    prepared,
)
from agentcell.imaging.decoding import decoded
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish

DEFAULT_MODEL = "gpt-image-2.5-flare"

MOST_PROMPT, MOST_REFERENCES = 32_000, 16
MOST_REFERENCE_BYTES, MOST_MASK_BYTES = 50_000_000, 4_000_000

_TYPES = frozenset({"image/png", "image/webp", "image/jpeg"})
_STANDARD_SIZES = ("1024x1024", "1536x1024", "1024x1536")
_FREE_SIZES = ("gpt-image-2", "chatgpt-image")
"""How models begin that take sizes of one's own."""

_STEP, _LONGEST, _SHORTER_LIMIT, _STEEPEST = 16, 3840, 2160, 3

_TOKENS = {"low": (272, 408), "medium": (1056, 1584), "high": (4160, 6240)}
"""Of a square picture, and of one that is half as long again: 1024 × 1024 and 1536 × 1024. From
what OpenAI's pages give as prices by the picture (gpt-image-1.5, read 2026-11-30)."""

_PARTIAL_TOKENS = 100
_SQUARE = 1024 * 1024


class _Service(OpenAIProtocolModel):
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
        self._refuse(wish)
        _check_size(wish.size, wish.model or DEFAULT_MODEL)
        for asset in wish.references:
            if (asset.content.size_bytes or 0) > MOST_REFERENCE_BYTES:
                raise GenerationError(
                    f"{asset.default_filename} has {asset.size_bytes:,} bytes; openai takes up to"
                    f" {MOST_REFERENCE_BYTES:,}.",
                    fix="give a smaller copy.",
                )
        if wish.mask is not None:
            _check_mask(wish.mask, wish.references[0])
        self._service(wish)._origin()  # noqa: SLF001 (a key that is missing is told now)

    def _refuse(self, wish: GenerationWish) -> None:
        for name, given, way in (
            ("seed", wish.seed is not None, "leave --seed out"),
            ("negative prompt", bool(wish.negative), "say in the prompt what is not to be seen"),
        ):
            if given:
                raise GenerationError(f"openai takes no {name}.", fix=f"{way}.")
        if len(wish.prompt) > MOST_PROMPT:
            raise GenerationError(
                f"The prompt has {len(wish.prompt):,} characters; openai takes {MOST_PROMPT:,}.",
                fix="shorten it.",
            )
        if len(wish.references) > MOST_REFERENCES:
            raise GenerationError(
                f"{len(wish.references)} references were given; openai takes {MOST_REFERENCES}.",
                fix="leave some out.",
            )

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
        quality = wish.quality if wish.quality not in ("", "auto") else "high"
        if quality not in _TOKENS:
            return None
        square, _ = _TOKENS[quality]
        tokens = square * wish.count
        if wish.size not in ("", "auto", "1024x1024"):
            width, height = map(int, wish.size.split("x"))
            tokens = round(square * width * height / _SQUARE) * wish.count
        if wish.count == 1:
            tokens += self._partial_images * _PARTIAL_TOKENS
        read = len(wish.prompt) // 3 + 10 + sum(map(_reference_tokens, wish.references))
        usage = Usage(input_tokens=read, output_tokens=tokens, image_output_tokens=tokens)
        price = cost(self._service(wish), usage)
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
        if wish.references:
            files = [("image[]", _sendable(asset)) for asset in wish.references]
            if wish.mask is not None:
                files.append(("mask", _as_mask(wish.mask)))
            texts = {name: _text(value) for name, value in fields.items()}
            form, content_type = form_of(texts, files)
            body: Body = form
        else:
            body, content_type = Body((json.dumps(fields).encode(),)), "application/json"
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
                    yield _preview(answer, said)
                elif kind.endswith(".completed"):
                    data_ = picture_of(answer, said.get("b64_json"))
                    made, usage = made + 1, said.get("usage")
                    yield Made(kind="image", data=data_, model=wish.model or DEFAULT_MODEL)
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
        for item in items:
            found = item if isinstance(item, dict) else {}
            url = found.get("url")
            if isinstance(url, str) and url and not found.get("b64_json"):  # of servers alike it
                yield Made(kind="image", url=url, revised_prompt=_words(found))
                continue
            data = picture_of(answer, found.get("b64_json"))
            model = wish.model or DEFAULT_MODEL
            yield Made(kind="image", data=data, revised_prompt=_words(found), model=model)
        yield self._ended(wish, said.get("usage"))

    def _ended(self, wish: GenerationWish, usage: object) -> Ended:
        counted = _usage(usage)
        paid = None if counted is None else cost(self._service(wish), counted)
        return Ended(model=wish.model or DEFAULT_MODEL, cost=None if paid is None else paid.total)

    def _service(self, wish: GenerationWish) -> _Service:
        kind = _Edits if wish.references else _Service
        return kind(wish.model or DEFAULT_MODEL, self._key, self._url)


def _check_size(size: str, model: str) -> None:
    if size in ("", "auto", *_STANDARD_SIZES):
        return
    if not model.startswith(_FREE_SIZES):
        raise GenerationError(
            f"size is {size}; {model} draws {', '.join(_STANDARD_SIZES)} or auto.",
            fix="give one of these.",
        )
    width, height = map(int, size.split("x"))
    short, long = sorted((width, height))
    if (
        width % _STEP
        or height % _STEP
        or long > short * _STEEPEST
        or long > _LONGEST
        or short > _SHORTER_LIMIT
    ):
        raise GenerationError(
            f"size is {size}; openai draws multiples of {_STEP} pixels, no side more than"
            f" {_STEEPEST} times the other, at most {_LONGEST}x{_SHORTER_LIMIT}.",
            fix=f"give for example {_near(width)}x{_near(height)}.",
        )


def _near(side: int) -> int:
    return max(_STEP, min(_SHORTER_LIMIT, round(side / _STEP) * _STEP))


def _check_mask(mask: ImageAsset, reference: ImageAsset) -> None:
    sizes = (mask.width, mask.height), (reference.width, reference.height)
    if sizes[0] != sizes[1]:
        raise GenerationError(
            f"The mask has {mask.width}x{mask.height} pixels, and the picture to edit"
            f" {reference.width}x{reference.height}.",
            fix="give a mask of the picture's size: transparent where it may change.",
        )
    _as_mask(mask)


def _as_mask(mask: ImageAsset) -> ImageAsset:
    """Return a mask as the PNG with transparent parts that the API wants."""
    from agentcell.assets.pixels import as_png, is_opaque

    picture = decoded(mask)
    if is_opaque(picture):
        raise GenerationError(
            "The mask has no transparent part, so nothing may change.",
            fix="make the part transparent that is to be painted anew.",
        )
    made = mask if mask.mime_type == "image/png" else ImageAsset.from_bytes(as_png(picture))
    if made.content.size_bytes >= MOST_MASK_BYTES:
        made = ImageAsset.from_bytes(as_png(picture))
    if made.content.size_bytes >= MOST_MASK_BYTES:
        raise GenerationError(
            f"The mask has {made.size_bytes:,} bytes; openai takes less than {MOST_MASK_BYTES:,}.",
            fix="give a plainer mask: one colour, and transparent parts.",
        )
    return made


def _sendable(asset: ImageAsset) -> ImageAsset:
    if asset.mime_type in _TYPES and not asset.animated:
        return asset
    return converted(asset, Target(max_bytes=MOST_REFERENCE_BYTES))


def _reference_tokens(asset: ImageAsset) -> int:
    """Return about how many tokens a reference is read as: one for each 32 pixels squared."""
    width, height = asset.width or 1024, asset.height or 1024
    return -(-width // 32) * -(-height // 32)


def _preview(answer: Answer, said: Mapping[str, Any]) -> PartialImage:
    index = said.get("partial_image_index")
    data = picture_of(answer, said.get("b64_json"))
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
