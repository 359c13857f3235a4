"""Saved outputs and new ones of the same cells, to what differs."""

from __future__ import annotations

import base64
import binascii
import io
import json
from collections.abc import Iterator
from itertools import groupby, zip_longest
from typing import Any

from agentcell.checking.looks import WIDGET
from agentcell.checking.wishes import Wishes

_PICTURES = ("image/png", "image/jpeg")

NEARLY = 3.0
"""How far two pictures may be apart, as the mean difference of their pixels out of 255: codecs
and fonts differ from machine to machine."""

_AROUND = 40


def differences(saved: Any, now: Any) -> Iterator[tuple[int, str]]:
    """Yield the number of each cell that came out differently, counted from 1, and how."""
    for number, (old, new) in enumerate(zip(saved.cells, now.cells, strict=True), start=1):
        if old.cell_type == "code" and not Wishes.of(old).ignore:
            found = next(_cell(_joined(old.outputs), _joined(new.outputs)), None)
            if found is not None:
                yield number, found


def _cell(saved: list[Any], now: list[Any]) -> Iterator[str]:
    for old, new in zip_longest(saved, now):
        if new is None:
            yield f"an output is gone: {_shown(old)}"
        elif old is None:
            yield f"an output is new: {_shown(new)}"
        elif old["output_type"] != new["output_type"]:
            yield f"instead of {_shown(old)} came {_shown(new)}"
        elif old["output_type"] == "stream":
            if (old["name"], old["text"]) != (new["name"], new["text"]):
                yield _apart(old["text"], new["text"], old["name"])
        elif old["output_type"] == "error":
            before = f"{old['ename']}: {old['evalue']}"
            if before != (after := f"{new['ename']}: {new['evalue']}"):
                yield _apart(before, after, "the error")
        else:
            yield from _bundle(old, new)


def _bundle(old: Any, new: Any) -> Iterator[str]:
    before, after = ({k: v for k, v in one["data"].items() if k != WIDGET} for one in (old, new))
    if before.keys() != after.keys():
        yield f"instead of {', '.join(sorted(before))} came {', '.join(sorted(after))}"
    for mime_type in sorted(before.keys() & after.keys()):
        one, other = before[mime_type], after[mime_type]
        if one == other:
            continue
        if mime_type in _PICTURES:
            if not _look_alike(one, other):
                yield f"another picture ({mime_type})"
        else:
            yield _apart(_text(one), _text(other), mime_type)
    if old.get("metadata") != new.get("metadata"):
        was, is_now = _text(old.get("metadata")), _text(new.get("metadata"))
        yield _apart(was, is_now, "the output's metadata")


def _joined(outputs: Any) -> list[Any]:
    """Return outputs with each stream in one piece: how two of them mingle is chance."""
    whole: list[Any] = []
    for is_stream, together in groupby(outputs, lambda one: one["output_type"] == "stream"):
        if not is_stream:
            whole += together
            continue
        texts: dict[str, list[str]] = {}
        for output in together:
            texts.setdefault(output["name"], []).append(output["text"])
        whole += [
            {"output_type": "stream", "name": name, "text": "".join(pieces)}
            for name, pieces in sorted(texts.items())
        ]
    return whole


def _look_alike(one: str, other: str) -> bool:
    from PIL import Image, ImageChops, ImageStat

    try:
        first, second = (
            Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB") for data in (one, other)
        )
    except (binascii.Error, OSError, ValueError):
        return False
    if first.size != second.size:
        return False
    apart = ImageStat.Stat(ImageChops.difference(first, second)).mean
    return max(apart) <= NEARLY


def _apart(old: str, new: str, where: str) -> str:
    same = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    return f"{where} differs: saved {_part(old, same)}, now {_part(new, same)}"


def _part(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    return repr(f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, indent=1)


def _shown(output: Any) -> str:
    if output["output_type"] == "stream":
        return _part(output["text"], 0)
    if output["output_type"] == "error":
        return f"{output['ename'][:_AROUND]!r}: {_part(output['evalue'], 0)}"
    data = output["data"]
    return _part(_text(data.get("text/plain", "")), 0) + f" ({', '.join(data)})"
