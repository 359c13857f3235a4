"""What is configured of a hosted media service → its address and its token, checked."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agentcell import keys
from agentcell.adapters.addresses import host_of, without_query
from agentcell.errors import GenerationError, NoBackend

URL_VARIABLE = "AGENTCELL_MEDIA_URL"
TOKEN_VARIABLE = "AGENTCELL_MEDIA_TOKEN"  # noqa: S105 (the name of the place, not what is there)

NAME = "hosted"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaService:
    """One account at one hosted media service.

    Parameters
    ----------
    base_url
        Without the path of the protocol. https; on this machine http too.
    token
        Sent with every request to it, and to nobody else.
    place
        Where the token was found, to tell people where to look.

    Raises
    ------
    GenerationError
        If the address is none, or would send the token in the open; or the token can be none.
    """

    base_url: str
    token: str = field(repr=False)
    place: str = TOKEN_VARIABLE

    def __post_init__(self) -> None:
        url = self.base_url.strip().rstrip("/") if isinstance(self.base_url, str) else ""
        object.__setattr__(self, "base_url", _checked(url))
        if not isinstance(self.token, str) or not keys.can_be_key(self.token.strip()):
            raise GenerationError(
                f"The token for the media service ({self.place}) is empty, or holds blanks or"
                " letters that no token has.",
                fix="copy it again, without anything around it.",
            )
        object.__setattr__(self, "token", self.token.strip())

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine: then its files may be so too."""
        return _is_here(self.base_url)


def found_service(base_url: str | None = None, token: str | None = None) -> MediaService | None:
    """Return what is configured; None where there is no address, or no token.

    Parameters
    ----------
    base_url, token
        Over `URL_VARIABLE` and what `agentcell.keys` knows of `TOKEN_VARIABLE`.

    Raises
    ------
    GenerationError
        If what is configured cannot be used.
    """
    url = base_url or os.environ.get(URL_VARIABLE, "").strip()
    if not url:
        return None
    if token:
        return MediaService(base_url=url, token=token)
    found = keys.look((TOKEN_VARIABLE,), is_own_address=False).key
    if found is None:
        return None
    return MediaService(base_url=url, token=found.value, place=found.place)


def needed_service(base_url: str | None = None, token: str | None = None) -> MediaService:
    """Return what is configured; parameters as for `found_service`.

    Raises
    ------
    NoBackend
        If nothing is; its text says how to.
    GenerationError
        As there.
    """
    service = found_service(base_url, token)
    if service is not None:
        return service
    lacks = TOKEN_VARIABLE if base_url or os.environ.get(URL_VARIABLE, "").strip() else URL_VARIABLE
    raise NoBackend(
        f"No hosted media service is set up: {lacks} is not set.",
        fix=f"set {URL_VARIABLE} to its https address and {TOKEN_VARIABLE} to your token, or"
        " name another maker with --model.",
    )


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    is_plain = url.isprintable() and not set(url) & set(" \\") and "@" not in parts.netloc
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        is_plain = False
    if not is_plain:
        raise GenerationError(
            f"{URL_VARIABLE} is no address of a media service: https://, a host and no more than"
            " a path were expected.",
            fix=f"set it like {URL_VARIABLE}=https://media.example.org.",
        )
    if parts.scheme == "http" and not _is_here(url):
        raise GenerationError(
            f"The media service at {without_query(url)[:100]} would get the token unencrypted.",
            fix="give its https address; http is for a service on this machine alone.",
        )
    return url


def _is_here(url: str) -> bool:
    host = host_of(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
