"""A service's address and key, from what is given or kept; a local one gets no real key.

Nothing is looked up on the network: an address is local by what it says.
"""

from __future__ import annotations

import ipaddress
import os
import re
from functools import lru_cache
from urllib.parse import urlsplit

from agentcell import keys
from agentcell.adapters.redaction import REMOVED, redacted
from agentcell.errors import AuthenticationError, BadRequest, KeyMissing
from agentcell.keys import Key, Question

PLACEHOLDER_KEY = "no-key-needed"
"""What a local server gets: clients insist on sending something."""

_KEY_LIKE = re.compile(r"(?=.*\d)[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_.-]+")
"""What may be a key that stands where an address was expected: no dot, colon, slash or blank."""

_LONGEST = 100
"""Characters of an address that an error repeats."""

_LOCAL_SUFFIXES = (".local", ".localhost", ".lan", ".internal", ".home.arpa")


@lru_cache(maxsize=128)
def host_of(url: str) -> str:
    """Return the host in `url`, in lower case, without its port; empty if there is none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


@lru_cache(maxsize=128)
def is_local_address(url: str) -> bool:
    """Return whether `url` names this machine or one of the same private network."""
    host = host_of(url)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_LOCAL_SUFFIXES))
    return address.is_loopback or address.is_private or address.is_link_local


def checked_url(url: object, *, provider: str, model: str) -> str:
    """Return `url` without a last slash and without a fragment; a query stays at its end.

    Raises
    ------
    BadRequest
        If it is no http or https address.
    """
    checked = _plain_address(url) if isinstance(url, str) else ""
    if not checked:
        raise BadRequest(
            f"The address {_shown(url)} for {provider}/{model} is no http or https address.",
            fix='give one like base_url="https://host.example/v1".',
            provider=provider,
            model=model,
        )
    return checked


@lru_cache(maxsize=128)
def _plain_address(url: str) -> str:
    url, _, _ = url.strip().partition("#")
    base, mark, query = url.partition("?")
    base = base.rstrip("/")
    if not base.lower().startswith(("http://", "https://")) or not base.isprintable():
        return ""
    host = host_of(base)
    if not host or " " in host or not query.isprintable():
        return ""
    try:
        _ = urlsplit(base).port
    except ValueError:
        return ""
    return base + mark + query if query else base


def _shown(url: object) -> str:
    """Return what was given as an address, short: it may be a key in the wrong place."""
    text = repr(url)
    if isinstance(url, str) and _KEY_LIKE.fullmatch(url.strip()):
        text = repr(REMOVED)
    return redacted(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…'")


def joined(url: str, path: str) -> str:
    """Return the address of `path` under `url`, whose query, if it has one, stays at the end."""
    base, mark, query = url.partition("?")
    if not mark:
        return base + path
    return f"{base}{path}{'&' if '?' in path else '?'}{query}"


def without_end(url: str, end: str) -> str:
    """Return `url` without `end` at the end of its path."""
    base, mark, query = url.partition("?")
    return base.removesuffix(end) + mark + query


def without_query(url: str) -> str:
    """Return `url` up to its query."""
    return url.partition("?")[0]


def from_environment(name: str) -> str:
    """Return the variable `name`, stripped; empty if it is not set."""
    return os.environ.get(name, "").strip() if name else ""


def resolve_key(  # noqa: PLR0913 (each fact decides)
    *,
    given: str | None,
    variables: tuple[str, ...],
    main_variable: str,
    url: str,
    default_url: str,
    url_was_argument: bool,
    is_own_server: bool = False,
    may_ask: bool = False,
    provider: str,
    model: str,
) -> Key:
    """Return the key to send to `url`.

    A key that is given is sent. A key from the environment, or from anywhere else that keys are
    kept, is meant for the provider: an address on this machine or network that was given as an
    argument does not get it, since a person who tries a local server with the real key still in
    the environment does not mean to send it.

    Parameters
    ----------
    variables, main_variable
        The environment variables that may hold it, and the one to tell people of.
    default_url
        The provider's own address: what the tool `llm` keeps is for no other.
    is_own_server
        Whether the provider is a server that people run themselves: it may need no key, and its
        variable holds a key for that server only.
    may_ask
        Whether a person who sits there may be asked for it.

    Raises
    ------
    KeyMissing
        If there is none and the service needs one.
    AuthenticationError
        If it holds characters that no key has.
    """
    is_local = is_local_address(url)
    name = f"{provider}/{model}"
    if key := (given or "").strip():
        return _checked(Key(value=key, variable=main_variable, source="argument"), name)
    if is_own_server or not (is_local and url_was_argument):
        found = keys.look(
            variables or (main_variable,),
            stores=not (is_local or is_own_server),
            is_own_address=host_of(url) == host_of(default_url),
            question=Question(provider=provider, host=host_of(url)) if may_ask else None,
            main=main_variable,
        )
        if found.key is not None:
            return _checked(found.key, name)
    if is_local or is_own_server:
        return Key(value=PLACEHOLDER_KEY, variable=main_variable, source="placeholder")
    looked_at = f" Nor is one in {', '.join(found.looked_at)}." if found.looked_at else ""
    raise KeyMissing(
        f"No API key for {name}: {main_variable} is not set.{looked_at}",
        fix=f"run `%agent key {provider}` to type it, set {main_variable} in the environment,"
        " give api_key=…, or use `-m local`, which needs none.",
        provider=provider,
        model=model,
    )


def _checked(key: Key, name: str) -> Key:
    if keys.can_be_key(key.value):
        return key
    provider, _, model = name.partition("/")
    raise AuthenticationError(
        f"The API key for {name} holds spaces or letters that no key has.",
        fix="copy the key again, without anything around it.",
        provider=provider,
        model=model,
    )
