"""A web address or a provider's file id -> the same, checked; and a form that is safe to show."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from agentcell.assets.sniff import NAMES, normal_mime_type
from agentcell.assets.wording import a_type, short
from agentcell.errors import AttachmentError

MAX_URL_CHARACTERS = 8192
"""Longer addresses are refused by many servers (the usual limit of a request's line)."""

MAX_FILE_ID_CHARACTERS = 1024

_SHOWN_TAIL = 48
_UNPRINTABLE = r"[\x00-\x20\x7f-\xa0\u2028\u2029\u200b-\u200f\u202a-\u202e\ufeff]"


def checked_url(url: object) -> str:
    """Return `url` if a provider may fetch it: http or https, a host, no password.

    Raises
    ------
    AttachmentError
        Otherwise. The address is shown without its query.
    """
    if not isinstance(url, str):
        raise AttachmentError(
            f"{a_type(url, start=True)} was given as an address; a str was expected.",
            fix='give it like "https://example.org/receipt.png".',
        )
    text = url.strip()
    if not text:
        raise AttachmentError(
            "An empty address was given.", fix='give one like "https://example.org/receipt.png".'
        )
    if len(text) > MAX_URL_CHARACTERS:
        raise AttachmentError(
            f"The address has {len(text):,} characters; at most {MAX_URL_CHARACTERS:,} are sent.",
            fix="download the file and attach it by its path.",
        )
    if re.search(_UNPRINTABLE, text):
        raise AttachmentError(
            f"The address {shown_url(text)} holds a blank or a control character.",
            fix="write blanks in an address as %20.",
        )
    parts = _split(text)
    scheme = parts.scheme.lower()
    if scheme not in {"http", "https"}:
        raise AttachmentError(
            f"The address {shown_url(text)} begins with {scheme or 'no scheme'!r};"
            " http or https was expected.",
            fix=_scheme_fix(scheme),
        )
    if "@" in parts.netloc:
        raise AttachmentError(
            f"The address {shown_url(text)} holds a user name or password;"
            " it would be sent to the model's provider.",
            fix="download the file and attach it by its path.",
        )
    try:
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise AttachmentError(
            f"The address {shown_url(text)} has no valid host.",
            fix='give one like "https://example.org/receipt.png".',
        )
    return text


def checked_file_id(file_id: object) -> str:
    """Return `file_id` if it can be one: a str, not empty, without whitespace.

    Raises
    ------
    AttachmentError
        Otherwise.
    """
    if not isinstance(file_id, str) or not file_id or re.search(_UNPRINTABLE, file_id):
        shown = f"{file_id[:40]!r}" if isinstance(file_id, str) else a_type(file_id, start=True)
        raise AttachmentError(
            f"{shown} was given as a file id; the provider's name for an uploaded file,"
            " without blanks, was expected.",
            fix='give it as the upload returned it, for example "file-abc123".',
        )
    if len(file_id) > MAX_FILE_ID_CHARACTERS:
        raise AttachmentError(
            f"The file id has {len(file_id):,} characters;"
            f" at most {MAX_FILE_ID_CHARACTERS:,} were expected.",
            fix="give it as the upload returned it; for a file's content use from_base64.",
        )
    return file_id


def shown_url(url: str) -> str:
    """Return scheme, host and the end of the path: a signed address's query is a secret."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return "that was given"
    host = parts.netloc.rpartition("@")[2][:80]
    tail = parts.path.rpartition("/")[2]
    if len(tail) > _SHOWN_TAIL:
        tail = "…" + tail[-_SHOWN_TAIL:]
    folder = "/…/" if parts.path.count("/") > 1 else "/" if host or tail else ""
    scheme = f"{parts.scheme[:12]}://" if host else f"{parts.scheme[:12]}:" if parts.scheme else ""
    return re.sub(_UNPRINTABLE, "�", f"{scheme}{host}{folder}{tail}")


def url_filename(url: str) -> str:
    """Return the last part of the address's path, decoded; it may be empty."""
    return unquote(_split(url).path.rpartition("/")[2])


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise AttachmentError(
            "The address that was given cannot be read.",
            fix='give one like "https://example.org/receipt.png".',
        ) from None


def _scheme_fix(scheme: str) -> str:
    if scheme == "file":
        return "attach a local file by its path, with from_path."
    if scheme == "gs":
        return "give it as a file id, with from_file_id, or as an https address."
    if not scheme:
        return "put https:// before it; a local file is attached with from_path."
    return "download the file and attach it by its path."


def declared_type(claim: str | None, *, is_pdf: bool) -> str:
    """Return the MIME type of what is elsewhere, as it was declared; "" where nobody knows.

    Parameters
    ----------
    claim
        None: nothing was declared.
    is_pdf
        Whether it is a PDF, and no image.

    Raises
    ------
    AttachmentError
        If `claim` is a type of another kind.
    """
    declared = normal_mime_type(claim) if claim else ""
    if declared and (declared not in NAMES or (declared == "application/pdf") is not is_pdf):
        raise AttachmentError(
            f"{short(str(claim), 60)!r} was declared as the type of"
            f" {'a PDF' if is_pdf else 'an image'}.",
            fix="declare application/pdf, or leave it out."
            if is_pdf
            else "declare one like image/png, or leave it out.",
        )
    return declared or ("application/pdf" if is_pdf else "")
