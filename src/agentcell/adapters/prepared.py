"""One request as it will be sent: its body, its headers, and how patiently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentcell.adapters.body import Body
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.failures import Origin
from agentcell.adapters.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One request, checked and ready to be sent as often as need be."""

    body: Body
    headers: Mapping[str, str]
    timeouts: Timeouts
    policy: RetryPolicy
    origin: Origin
