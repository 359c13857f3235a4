"""The text of an earlier answer, to the pieces in which it came; and what its provider sealed.

A message keeps an answer's text in one string, since that is what people read and change. What a
provider wants back unchanged stands beside it, in ``opaque``, as a list of
``{"provider": …, "item": …}`` in the order in which all of it came; of a text it holds the length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def split_text(text: str, lengths: Sequence[int], separator: str) -> list[str]:
    """Return `text` as the pieces that it came in, or whole if it is not what came.

    Parameters
    ----------
    lengths
        Of each piece, in characters.
    separator
        What stands between two pieces.
    """
    texts, at = [], 0
    for length in lengths:
        texts.append(text[at : at + length])
        at += length + len(separator)
    if separator.join(texts) == text:
        return texts
    return [text] if text else []


def kept_items(opaque: Iterable[object], provider: str) -> list[dict[str, Any]]:
    """Return the items that `provider` sealed; another's mean nothing to it."""
    return [
        part["item"]
        for part in opaque
        if isinstance(part, Mapping)
        and part.get("provider") == provider
        and isinstance(part.get("item"), dict)
    ]
