"""An object that has `invoke` and nothing else → a model that can be asked in every way."""

from __future__ import annotations

from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.model import Model
from agentcell.messages import Message


def askable(model: Any) -> Any:
    """Return a model that can be asked in every way, made of one that has only `invoke`."""
    ways = ("ainvoke", "stream", "astream")
    return model if all(callable(getattr(model, one, None)) for one in ways) else _Invoked(model)


class _Invoked(Model):
    """A model made of an object that has `invoke` and nothing else."""

    def __init__(self, inner: Any) -> None:
        kind = type(inner).__name__
        name = getattr(inner, "model_name", None) or getattr(inner, "name", None) or kind
        super().__init__(str(name), capabilities=_capabilities(inner))
        self._inner = inner

    def __repr__(self) -> str:
        return f"{type(self._inner).__name__}({self.model_name[:80]!r})"

    def invoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask the object."""
        made: dict[str, Any] = self._inner.invoke(
            messages=messages, tools=tools, settings=settings, **kwargs
        )
        return made


def _capabilities(inner: object) -> ModelCapabilities:
    """Return what an object says it takes; one that says nothing is handed everything."""
    own = getattr(inner, "capabilities", None)
    if isinstance(own, ModelCapabilities):
        return own
    return ModelCapabilities(
        image_input=True, pdf_input=True, system_media="sent", tool_result_media="sent"
    )
