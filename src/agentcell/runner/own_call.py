"""A function of a person's own that asks a model → a call with the arguments that it takes."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from agentcell.agents.threads import in_thread, without_exit
from agentcell.agents.tools import Tool
from agentcell.errors import AgentError, Unsupported
from agentcell.messages import Message
from agentcell.openai_shape import openai_messages


def asking(function: Any, model: str | None, tools: Mapping[str, Tool]) -> Callable[..., Any]:
    """Return a call of a person's own function, with the arguments that it takes.

    Parameters
    ----------
    function
        Sync or async; it takes ``messages``, and perhaps ``model``, ``tools`` and settings.
    model
        Who was named; None: nobody.
    tools
        Those of the run.

    Raises
    ------
    AgentError
        If there are tools, and the function takes none.
    """
    parameters: Mapping[str, inspect.Parameter] = {}
    with contextlib.suppress(TypeError, ValueError):  # of something written in C
        parameters = inspect.signature(function).parameters
    takes_all = not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if tools and not takes_all and "tools" not in parameters:
        raise AgentError(
            "The runner has tools, but its llm_call takes none.",
            fix="give it a parameter tools=None, or leave the tools out.",
        )

    def ask(
        messages: list[Message], schemas: list[dict[str, Any]] | None, settings: dict[str, Any]
    ) -> Any:
        functions = [{"type": "function", "function": one} for one in schemas or ()]
        given = {
            "messages": openai_messages(messages),
            "model": model,
            "tools": functions or None,
            **settings,
        }
        unknown = [one for one in settings if not takes_all and one not in parameters]
        if unknown:
            raise Unsupported(
                f"llm_call takes no setting {unknown[0]!r}.",
                fix="leave it out of the prompt's front matter and the call, or let the function"
                " take **settings.",
            )
        return function(**{k: v for k, v in given.items() if takes_all or k in parameters})

    async def ask_in_thread(*asked: Any) -> Any:
        returned = await in_thread(ask, *asked)
        return await without_exit(returned) if inspect.isawaitable(returned) else returned

    async def ask_here(*asked: Any) -> Any:
        return await without_exit(ask(*asked))

    own = getattr(function, "__call__", None)  # noqa: B004 (of an object that is called)
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own)
    asks = ask_here if is_async else ask_in_thread  # a sync one would hold up the loop
    asks.__name__ = str(getattr(function, "__name__", type(function).__name__))  # for errors
    return asks


def nobody(*_: Any) -> Any:
    """Stand where a model is asked, and no function."""
    raise AssertionError("a model is asked, and no function")
