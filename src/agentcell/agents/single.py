"""An agent without declared fields: one mapping in, one mapping out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcell.agents.agent import Agent
from agentcell.errors import AgentError


class SingleAgent(Agent):
    """An agent for use by itself: no declared inputs or outputs.

    Parameters
    ----------
    name, instructions, model, options
        As for `Agent`, without `pull_keys` and `push_keys`.

    Raises
    ------
    AgentError
        If one of those two is given.
    """

    def __init__(
        self,
        name: str,
        instructions: str | Sequence[str] = "",
        *,
        model: Any = None,
        **options: Any,
    ) -> None:
        for key in ("pull_keys", "push_keys"):
            if key in options:
                raise AgentError(f"SingleAgent takes no {key}.", fix="use Agent.")
        super().__init__(name, instructions, model=model, **options)

    def invoke(self, input: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """Ask about one input.

        Parameters
        ----------
        input
            Values by field, as for `Agent.step`.

        Returns
        -------
        dict
            ``{"answer": text}``, or the keys of the JSON object that the answer is.
        """
        return self.step(input)
