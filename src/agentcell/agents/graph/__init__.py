"""Small graphs of agents: built once, checked before anything is asked, run any number of times."""

from __future__ import annotations

from agentcell.agents.graph.root import RootGraph
from agentcell.agents.graph.run import GraphRun, NodeRun
from agentcell.agents.graph.scopes import (
    template_defaults,
    template_defaults_for,
    template_overrides,
    template_overrides_for,
)
from agentcell.agents.graph.template import Factory, NodeTemplate, Shared

__all__ = [
    "Factory",
    "GraphRun",
    "NodeRun",
    "NodeTemplate",
    "RootGraph",
    "Shared",
    "template_defaults",
    "template_defaults_for",
    "template_overrides",
    "template_overrides_for",
]
