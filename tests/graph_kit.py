"""Nodes and graphs that say what reached them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentcell import Agent, Model, ModelResponseType, NodeTemplate, RootGraph
from agentcell.messages import Message, content_text

_WANTED = re.compile(r"DESCRIPTIONS:\n(\{.*?\n\})", re.DOTALL)


class Filling(Model):
    """Answers with each wanted key, as ``node:key``; keeps what it was asked, by node."""

    def __init__(self, name: str = "filling") -> None:
        super().__init__(name)
        self.asked: dict[str, list[Message]] = {}

    def invoke(
        self,
        messages: list[Message],
        tools: Any = None,
        settings: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        del tools, settings, kwargs
        node = content_text(messages[0]["content"])
        self.asked[node] = messages
        found = _WANTED.search(content_text(messages[-1]["content"]))
        wanted = json.loads(found[1]) if found else {"answer": ""}
        said = json.dumps({key: f"{node}:{key}" for key in wanted})
        return {"type": ModelResponseType.CONTENT, "content": said}


def graph_of(
    edges: list[Any], *, model: Model | None = None, options: Mapping[str, Any] | None = None
) -> RootGraph:
    """Return a graph of agents whose instructions are their names."""
    base = NodeTemplate(Agent, model=model or Filling())
    ends = dict.fromkeys(str(end) for edge in edges for end in edge[:2])
    names = [name for name in ends if name not in ("entry", "exit")]
    own = options or {}
    return RootGraph(
        "g",
        nodes=[(name, base(instructions=name, **own.get(name, {}))) for name in names],
        edges=edges,
    )


LINE = [
    ("entry", "a", {"query": "The question"}),
    ("a", "b", {"facts": "What is known"}),
    ("b", "exit", {"answer": "The answer"}),
]
