"""The embedded default: reads documents with no key and no network, and phrases short answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentcell.adapters.local.model import LocalModel
    from agentcell.adapters.local.status import LocalStatus, local_status
    from agentcell.adapters.local.weights import fetch

__all__ = ["LocalModel", "LocalStatus", "fetch", "local_status"]

_HOMES = {
    "LocalModel": "model",
    "LocalStatus": "status",
    "fetch": "weights",
    "local_status": "status",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
