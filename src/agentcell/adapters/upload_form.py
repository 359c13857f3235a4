"""An attachment, to what goes up of it; and what a service says of a file, to an `Upload`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agentcell.adapters import failures
from agentcell.adapters.failures import Origin
from agentcell.adapters.upload_store import Upload
from agentcell.assets.asset import MediaAsset
from agentcell.assets.sniff import EXTENSIONS, suffix_type

KEPT_SECONDS = 48 * 3600
"""How long a service is asked to keep a file: as long as Gemini keeps each. OpenAI takes from an
hour to 30 days, Anthropic from an hour to 90 (openai 3.57, anthropic 2.14, read 2026-11-30)."""

_LONGEST_STEM = 120
"""Characters; services take names of 255 and more."""

_REFUSED = re.compile(r'[<>:"|?*\\/\x00-\x1f\x7f]')
"""What Anthropic takes in no name (https://docs.anthropic.com/en/docs/build-with-claude/files,
read 2026-11-30)."""

_OWN_HEADERS = {"accept", "content-type", "content-length", "transfer-encoding"}


def upload_name(asset: MediaAsset) -> str:
    """Return a name for the file whose ending is that of its content.

    OpenAI goes by the ending; a photo without one, or a PNG under the name of a JPEG, is refused.
    """
    name = _REFUSED.sub("_", asset.default_filename)
    stem, dot, _ = name.rpartition(".")
    right = suffix_type(name) == asset.mime_type
    ending = name.rpartition(".")[2] if right else EXTENSIONS.get(asset.mime_type, "bin")
    bare = stem if dot and (right or suffix_type(name)) else name
    return f"{bare[:_LONGEST_STEM] or 'file'}.{ending}"


def file_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the person's own headers but for those that say what a request's body is."""
    return {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}


def file_object(origin: Origin, body: bytes) -> dict[str, Any]:
    """Return the JSON object that a service answered with.

    Raises
    ------
    ServiceError
        If it is none.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        shown = failures.one_line(body[:200].decode("utf-8", "replace"), 80)
        raise failures.no_answer(origin, f"what tells of no file, {shown!r}")
    return answer


def upload_of(
    asset: MediaAsset, origin: Origin, file_id: object, *, seconds: float | None, uri: object = ""
) -> Upload:
    """Return the copy of `asset` that the service named `file_id`.

    Parameters
    ----------
    seconds
        How long the service keeps it; None: for ever.

    Raises
    ------
    ServiceError
        If that is no name.
    """
    if not isinstance(file_id, str) or not file_id.strip() or file_id != "".join(file_id.split()):
        raise failures.no_answer(origin, "no name for the file")
    now = time.time()
    return Upload(
        provider=origin.provider,
        file_id=file_id,
        digest=asset.fingerprint(),
        size_bytes=asset.content.size_bytes,
        mime_type=asset.mime_type,
        uploaded_at=now,
        expires_at=None if seconds is None else now + seconds,
        uri=uri if isinstance(uri, str) else "",
    )


def seconds_between(created: object, expires: object) -> float | None:
    """Return how long a file is kept, or None if the service says no such thing.

    Both are seconds since 1970 or RFC 3339. The difference counts, since clocks differ.
    """
    begin, end = _moment(created), _moment(expires)
    if end is None:
        return None
    return max(0.0, end - (time.time() if begin is None else begin))


def _moment(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    try:
        # Nanoseconds, as Google writes them, are read from Python 3.11 on.
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
