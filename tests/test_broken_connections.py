"""What the HTTP client raises → whether a request may have reached its service, and be paid for."""

from __future__ import annotations

import httpx2
import pytest

from agentcell.adapters.broken_connections import never_left


@pytest.mark.parametrize(
    ("cause", "left"),
    [
        (None, False),
        (httpx2.ConnectError("refused"), False),
        (httpx2.ConnectTimeout("slow"), False),
        (httpx2.PoolTimeout("busy"), False),
        (httpx2.ProxyError("no"), False),
        (httpx2.UnsupportedProtocol("ftp"), False),
        (httpx2.WriteTimeout("slow"), True),
        (httpx2.WriteError("reset"), True),
        (httpx2.ReadTimeout("silent"), True),
        (httpx2.RemoteProtocolError("cut"), True),
        (httpx2.LocalProtocolError("too little data for the length that was told"), True),
        (OSError("reset"), True),
    ],
)
def test_what_may_have_left_counts_as_sent(cause: BaseException | None, *, left: bool) -> None:
    assert never_left(cause) is not left
