"""Base64 text or a ``data:`` address -> bytes, strictly: nothing is dropped or guessed."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from agentcell.assets.wording import a_type
from agentcell.errors import AttachmentError

_WHITESPACE = str.maketrans("", "", " \t\r\n\f\v")
_OTHER = r"[^A-Za-z0-9+/=]"
_LONE_PERCENT = r"%(?![0-9A-Fa-f]{2})"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The bytes of an encoded text, and the type that a data address claims for them, or ""."""

    data: bytes
    claim: str


def decode_text(text: str | bytes, limit: int) -> Decoded:
    """Decode base64 or a ``data:`` address.

    Whitespace is allowed anywhere and missing padding is added; the URL-safe alphabet
    (``-`` and ``_``) is read where none of the usual one's ``+`` and ``/`` occur.

    Parameters
    ----------
    text
        For example ``"iVBORw0KGgo…"`` or ``"data:image/png;base64,iVBORw0KGgo…"``.
    limit
        The most bytes that the decoded content may have.

    Raises
    ------
    AttachmentError
        If it is neither, is empty, or is longer than `limit`.
    """
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode("latin-1")
    if not isinstance(text, str):
        raise AttachmentError(
            f"{a_type(text, start=True)} was given as base64; a str was expected.",
            fix="encode it with base64.b64encode(...).decode(), or use from_bytes.",
        )
    if len(text) > limit * 3 + 1024:  # three characters a byte: percent-encoding
        raise _too_long(limit)
    stripped = text.lstrip()
    if stripped[:5].lower() == "data:":
        return _data_address(stripped[5:], limit)
    return Decoded(_base64(text, limit), "")


def _data_address(rest: str, limit: int) -> Decoded:
    header, comma, payload = rest.partition(",")
    if not comma:
        raise AttachmentError(
            "A data: address without a comma was given; data:<type>;base64,<text> was expected.",
            fix='write it like "data:image/png;base64,iVBORw0…".',
        )
    parameters = [part.strip() for part in header.split(";")]
    is_base64 = len(parameters) > 1 and parameters[-1].lower() == "base64"
    if is_base64:
        text = unquote_to_bytes(payload).decode("latin-1") if "%" in payload else payload
        return Decoded(_base64(text, limit), parameters[0])
    if re.search(_LONE_PERCENT, payload):
        raise AttachmentError(
            "The data: address holds a % that is not followed by two hexadecimal digits.",
            fix="percent-encode it with urllib.parse.quote, or use ;base64.",
        )
    data = unquote_to_bytes(payload)
    if len(data) > limit:
        raise _too_long(limit)
    return Decoded(data, parameters[0])


def _base64(text: str, limit: int) -> bytes:
    compact = text.translate(_WHITESPACE) if re.search(r"\s", text) else text
    if not compact:
        raise AttachmentError(
            "An empty text was given as base64; the encoded file was expected.",
            fix="check the variable that should hold it.",
        )
    if len(compact) > limit * 4 // 3 + 4:
        raise _too_long(limit)
    if ("-" in compact or "_" in compact) and "+" not in compact and "/" not in compact:
        compact = compact.replace("-", "+").replace("_", "/")
    if odd := re.search(_OTHER, compact):
        raise AttachmentError(
            f"The base64 text holds {odd[0]!a} at character {odd.start() + 1:,}"
            " (whitespace not counted); only A-Z, a-z, 0-9, + and / (or - and _) may occur.",
            fix="pass the encoded text alone; for a file use from_path, for an address from_url.",
        )
    body = compact.rstrip("=")
    padding = len(compact) - len(body)
    if "=" in body or len(body) % 4 == 1 or padding not in {0, -len(body) % 4}:
        raise AttachmentError(
            f"The base64 text is cut off or damaged: {len(body):,} characters"
            f" and {padding} = signs are no whole number of bytes.",
            fix="copy the whole text.",
        )
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except binascii.Error as error:
        raise AttachmentError(
            f"The base64 text cannot be decoded: {error}.", fix="copy the whole text."
        ) from None


def _too_long(limit: int) -> AttachmentError:
    return AttachmentError(
        f"The encoded text is too long; its content may have at most {limit:,} bytes.",
        fix="attach a smaller copy.",
    )
