"""Where an attachment lies, as a person writes it -> the name of a field for it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)


def is_address(place: str) -> bool:
    """Whether it is an address: ``https:``, ``http:`` or ``data:``.

    Parameters
    ----------
    place
        As a person wrote it.
    """
    return _ADDRESS.match(place) is not None


def field_name(place: str) -> str:
    """Return a field's name for a place that was given none: ``my receipt.png`` → ``my_receipt``.

    ``https://example.org/a/receipt.png?x=1`` → ``receipt``.

    Parameters
    ----------
    place
        A path, an address, or the name of a file or variable.
    """
    path = place
    if is_address(place):
        path = unquote(urlsplit(place).path) if place[:4].lower() == "http" else ""
    name = re.sub(r"\W+", "_", Path(path).stem).strip("_")
    return name if name.isidentifier() else f"attachment_{name}".rstrip("_")
