"""A notebook's JSON, to its pieces: sources, outputs of every type, attachments, metadata.

Nothing is left out that the file holds: what this module does not know by name is searched as
metadata of its cell, names of entries included.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from agentcell.errors import ScanError
from agentcell.scan.pieces import Piece, as_json, decoded

_DATA = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")
"""MIME types whose text is data in Base64; but for SVG, which is text."""


def cells(content: bytes, name: str) -> Iterator[Piece]:
    """Yield the pieces of the notebook `name`.

    Raises
    ------
    ScanError
        If it is no notebook; its text comes first, as a piece of its own.
    """
    try:
        notebook = as_json(content)
    except ValueError:
        notebook = None
    if not isinstance(notebook, dict):
        yield Piece(where="", text=decoded(content) or content.decode("latin-1"), part="line")
        raise ScanError(
            f"{name} is no notebook: its text is not JSON.",
            fix="restore it from a copy; only its plain text was searched.",
        )
    rest = {key: value for key, value in notebook.items() if key != "cells"}
    found = notebook.get("cells")
    if isinstance(sheets := rest.get("worksheets"), list):  # as notebooks were until 2015
        found = [c for s in sheets if isinstance(s, dict) for c in s.get("cells") or ()]
        rest = {key: value for key, value in rest.items() if key != "worksheets"}
    for number, cell in enumerate(found if isinstance(found, list) else (), start=1):
        yield from _cell(cell, number)
    if not isinstance(found, list):
        rest["cells"] = found
    yield from _value(rest, "notebook's metadata", None)
    yield Piece(where="file as a whole", data=content, is_rest=True)


def _cell(cell: Any, number: int) -> Iterator[Piece]:
    if not isinstance(cell, dict):
        yield from _value(cell, "cell", number)
        return
    for key, value in cell.items():
        if key in {"source", "input"}:
            yield from _value(value, "source", number)
        elif key == "outputs" and isinstance(value, list):
            for place, output in enumerate(value, start=1):
                yield from _output(output, f"output {place}", number)
        elif key == "attachments":
            yield from _value(value, "attachments", number)
        else:
            yield from _value({key: value}, "metadata", number)


def _output(output: Any, where: str, number: int) -> Iterator[Piece]:
    entries = output if isinstance(output, dict) else {"output": output}
    for key, value in entries.items():
        if key == "data" and isinstance(value, dict):
            for mime, data in value.items():
                yield from _value({mime: data}, f"{where}, {mime}", number)
        elif key in {"text", "traceback"}:
            yield from _value(value, f"{where}, {key}", number)
        elif key == "metadata":
            yield from _value(value, f"{where}, metadata", number)
        else:
            yield from _value({key: value}, where, number)


def _value(value: Any, where: str, cell: int | None) -> Iterator[Piece]:
    """Yield one text of all strings in `value`, names of entries too, and its data apart."""
    texts: list[str] = []
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, item = waiting.pop()
        if isinstance(item, list) and item and all(isinstance(line, str) for line in item):
            item = "".join(item)  # how nbformat keeps a long text
        if isinstance(item, str):
            if key.startswith(_DATA) and key != "image/svg+xml":
                yield from _encoded(item, where, cell)
            else:
                texts.append(item)
        elif isinstance(item, dict):
            texts += item
            waiting += reversed(item.items())
        elif isinstance(item, list):
            waiting += [(key, entry) for entry in reversed(item)]
    if any(texts):
        yield Piece(where=where, text="\n".join(texts), cell=cell)


def _encoded(text: str, where: str, cell: int | None) -> Iterator[Piece]:
    yield Piece(where=where, data=text.encode("utf-8", "replace"), cell=cell)
    try:
        data = base64.b64decode(text)
    except (binascii.Error, ValueError):
        return
    yield Piece(where=where, data=data, cell=cell)
