"""An address from anywhere → one that may be fetched, and the public machines that it stands for.

Browsers and libraries read ``https://2130706433/`` and ``https://0x7f.1/`` as this machine. Only
names and addresses in their usual form are taken here, a name is looked up once, and all that it
stands for must be public: the connection is then made to what was checked, so that a name cannot
stand for something else a moment later.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

from agentcell.errors import DownloadError

MAX_CHARACTERS = 8192
"""Longer addresses are refused by many servers."""

IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host and a port → its addresses, in the order in which they are to be tried."""

# https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry,
# read 2026-11-30. Python's own `is_global` differs from version to version.
_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24"),
        *("192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
)
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
"""All else is none's, this machine's, a link's, a network's own, or holds an IPv4 address."""

_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9-]{1,63}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_ENDS = (
    *(".localhost", ".local", ".lan", ".home", ".internal", ".intranet", ".corp"),
    *(".home.arpa", ".localdomain"),
)
_UNSEEN = re.compile(
    r"[\x00-\x20\x7f-\xa0\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address that may be asked for, if what its host stands for is public.

    Parameters
    ----------
    scheme
        ``https``; ``http`` on this machine alone.
    host
        In lower case, an IPv6 address without brackets.
    port
        As given, or the usual one.
    target
        Path and query; it may hold a signature, and is shown nowhere.
    literal
        The host, where that is an address and no name.
    """

    scheme: str
    host: str
    port: int
    target: str = field(repr=False)
    literal: IP | None = None

    @property
    def netloc(self) -> str:
        """The host and, where it is not the usual one, the port: what the server is told."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def at(self, ip: str) -> str:
        """Return the address with one of those that its host stands for in its place."""
        host = f"[{ip}]" if ":" in ip else ip
        return f"{self.scheme}://{host}:{self.port}{self.target}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"


_PORTS = {"https": 443, "http": 80}


def checked(url: object, *, loopback: bool = False) -> Address:
    """Return `url` if it may be fetched, as far as can be seen without looking its host up.

    Parameters
    ----------
    url
        From a service's answer, or from a redirect.
    loopback
        Whether this machine may be asked, and by http.

    Raises
    ------
    DownloadError
        If it is no https address of a public host. It is shown without path and query.
    """
    if not isinstance(url, str) or not url or len(url) > MAX_CHARACTERS:
        raise _refused("is none, or too long")
    if _UNSEEN.search(url):
        raise _refused("holds a blank, a backslash or a character that cannot be seen")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise _refused("cannot be read") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise _refused(f"begins with {scheme[:20] or 'no scheme'!r}; https was expected")
    if "@" in parts.netloc:
        raise _refused("holds a user name or password")
    if port == 0:
        raise _refused("has port 0")
    host, literal = _host(host, is_bracketed="[" in parts.netloc)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    found = Address(
        scheme=scheme, host=host, port=port or _PORTS[scheme], target=target, literal=literal
    )
    _check_reach(found, loopback=loopback)
    return found


def _check_reach(address: Address, *, loopback: bool) -> None:
    """Refuse an address whose host says by itself that it is not public."""
    literal, host = address.literal, address.host
    is_here = literal.is_loopback if literal else host == "localhost"
    if is_here and loopback:
        return
    if literal is not None and not is_public(literal):
        raise _refused("leads to a machine that is not public", address)
    if literal is None and (host.endswith(_LOCAL_ENDS) or "." not in host):
        raise _refused("leads to a machine of this network", address)
    if address.scheme == "http" and not loopback:
        raise _refused("begins with 'http'; https was expected", address)


def joined(before: str, location: str) -> str:
    """Return where a redirect from `before` leads.

    Raises
    ------
    DownloadError
        If it leads nowhere.
    """
    try:
        return urljoin(before, location)
    except ValueError:
        raise _refused("is one of a redirect, and cannot be read") from None


async def machines(
    address: Address, *, loopback: bool = False, resolve: Resolve | None = None
) -> tuple[str, ...]:
    """Return the addresses that `address` stands for, all of them checked.

    Parameters
    ----------
    address
        As `checked` returned it.
    loopback
        Whether this machine may be asked.
    resolve
        Looks a name up, once; the system's way by default.

    Raises
    ------
    DownloadError
        If it stands for nothing, or for anything that is not public.
    """
    if address.literal is not None:
        return (str(address.literal),)
    try:
        found = await (resolve or _looked_up)(address.host, address.port)
    except OSError:
        found = ()
    if not found:
        raise DownloadError(
            f"The host {address.host} is not known.",
            fix="check that you are online, then try again.",
        )
    for text in found:
        try:
            ip: IP | None = ipaddress.ip_address(text)
        except ValueError:  # with a zone, for example
            ip = None
        if ip is None or not (is_public(ip) or (loopback and ip.is_loopback)):
            raise _refused("leads to a machine that is not public", address)
        if address.scheme == "http" and not ip.is_loopback:
            raise _refused("begins with 'http'; https was expected", address)
    return tuple(found)


def is_public(ip: IP) -> bool:
    """Whether `ip` is a machine's that anybody may reach, and nothing that stands for another."""
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _NOT_PUBLIC_4)
    is_zoned = ip.scope_id is not None
    return not is_zoned and ip in _PUBLIC_6 and not any(ip in network for network in _NOT_PUBLIC_6)


def is_loopback(ip: str) -> bool:
    """Whether `ip` is this machine."""
    return ipaddress.ip_address(ip).is_loopback


async def _looked_up(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _host(host: str, *, is_bracketed: bool) -> tuple[str, IP | None]:
    """Return a host in its usual form, and as an address if it is one."""
    if is_bracketed:
        try:
            literal = ipaddress.IPv6Address(host)
        except ValueError:
            raise _refused("has a host that is no address") from None
        return str(literal), literal
    host = host.removesuffix(".")
    if not _NAME.fullmatch(host):
        raise _refused("has a host of other characters than A-Z a-z 0-9 . -")
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return host, None
    try:
        # Four numbers without leading zeros; all other ways to write one are read differently
        # by different programs.
        return host, ipaddress.IPv4Address(host)
    except ValueError:
        raise _refused("has a number in the place of a host") from None


def _refused(why: str, address: Address | None = None) -> DownloadError:
    shown = f" {address}" if address is not None else ""
    return DownloadError(
        f"The address{shown} {why}, so it is not fetched.",
        fix="tell the service that gave it; only public https addresses are fetched.",
    )
