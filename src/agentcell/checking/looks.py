"""A saved notebook, to what a reader on another host would stumble over. Nothing is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

LARGE = 1_000_000
"""Bytes above which a notebook is called large: GitHub shows none above a few megabytes."""

_REMOTE = re.compile(
    r"""<(?:img|source|video|audio|iframe|script|link)\b[^>]*?\b(?:src|href|poster)\s*=\s*
        ["']?\s*(?:https?:)?//[^\s"'>]+ | !\[[^\]]*\]\(\s*<?(?:https?:)?//[^\s)>]+""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_ALT = re.compile(r"!\[\s*\]\(|<img\b(?![^>]*\balt\s*=\s*[\"'][^\"']+)[^>]*>", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{200,}")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
WIDGET = "application/vnd.jupyter.widget-view+json"
"""Holds the name of a widget, which is another in each kernel."""

Finding = tuple[int, str]
"""The number of a cell, counted from 1 (0: the notebook itself), and what is there."""


def faults(notebook: Any) -> Iterator[Finding]:
    """Yield what must not be in a notebook that goes to others."""
    if notebook.metadata.get("widgets"):
        yield 0, "widget state is saved; clear it, or do not save widget state"
    for number, mime_type, text in texts(notebook):
        if found := _REMOTE.search(text):
            yield number, f"loads from another host: {_short(found.group())}"
        if not mime_type.startswith("image/") and _BASE64.search(text):
            yield number, f"holds a file as base64 in {mime_type}"


def remarks(notebook: Any, size_bytes: int) -> Iterator[Finding]:
    """Yield what could be better."""
    if size_bytes > LARGE:
        yield 0, f"is {size_bytes / 1e6:.1f} MB; smaller pictures make it light"
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "markdown" and _NO_ALT.search(str(cell.source)):
            yield number, "a picture has no alternative text"
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = next((one for one in _PICTURES if one in data), None)
            if shown and not output.metadata.get(shown, {}).get("alt"):
                yield number, "a picture has no alternative text"
            if WIDGET in data and not {"text/html", "text/markdown"} & data.keys():
                yield number, "a widget shows nothing without a kernel"


def pictures(notebook: Any) -> int:
    """Return how many pictures the outputs show."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return sum(any(one in output.get("data", {}) for one in _PICTURES) for output in outputs)


def texts(notebook: Any) -> Iterator[tuple[int, str, str]]:
    """Yield each text that a host shows: the cell's number, its MIME type, the text."""
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code":
            yield number, "text/markdown", str(cell.source)
            continue
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield number, "text/plain", str(output.text)
            for mime_type, data in output.get("data", {}).items():
                if mime_type not in _PICTURES:
                    yield number, mime_type, data if isinstance(data, str) else json.dumps(data)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:80]}…"  # noqa: PLR2004 (as long as reads well)
