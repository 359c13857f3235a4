"""The magics `%%agent`, `%agent` and `%view_image`, over one session.

What `%load_ext` registers is light: names, help and Tab. The session and all behind it are loaded
by the first magic that is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentcell_magics.cells import agent_cell

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.session import Session

__all__ = ["current_session", "load_ipython_extension", "unload_ipython_extension"]

_NAMES = {"cell": ("agent",), "line": ("agent", "view_image")}
_HOME = "_agentcell"
"""The shell's attribute that holds what was loaded; the session outlives an unload."""


class _Loaded:
    """What belongs to one shell; each part is made at its first use."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.matcher: object = None
        self.registered: dict[tuple[str, str], object] = {}
        """What was registered, by kind and name."""

    @cached_property
    def session(self) -> Session:
        from agentcell.session import Session

        return Session()

    @cached_property
    def agent(self) -> Any:  # AgentMagics; mypy cannot see through IPython's decorators
        from agentcell_magics.agent import AgentMagics

        return AgentMagics(self.shell, self.session)

    @cached_property
    def view_image(self) -> Any:  # ViewImageMagics
        from agentcell_magics.view_image import ViewImageMagics

        return ViewImageMagics(self.shell, self.session)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%load_ext agentcell`: add the magics and Tab completion to `shell`.

    A magic of the same name that is already there stays; ours then gets the prefix
    ``agentcell_``, which is told in one line.
    """
    loaded: _Loaded = getattr(shell, _HOME, None) or _Loaded(shell)
    setattr(shell, _HOME, loaded)
    _register(shell, loaded)
    if agent_cell not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(agent_cell)
    if loaded.matcher is None and getattr(shell, "Completer", None) is not None:
        from agentcell_magics.completion import matcher

        loaded.matcher = matcher(lambda: loaded.session)
        shell.Completer.custom_matchers.append(loaded.matcher)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%unload_ext agentcell`: take the magics away; the session's turns stay."""
    loaded: _Loaded | None = getattr(shell, _HOME, None)
    if loaded is None:
        return
    for (kind, name), ours in loaded.registered.items():
        table = shell.magics_manager.magics[kind]
        if table.get(name) is ours:  # another extension may have taken the name since
            del table[name]
    loaded.registered.clear()
    if agent_cell in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(agent_cell)
    if loaded.matcher is not None and loaded.matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(loaded.matcher)
    loaded.matcher = None


def current_session() -> Session:
    """Return the session behind this notebook's magics, for use from Python.

    Raises
    ------
    RuntimeError
        If the extension is not loaded here.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    loaded: _Loaded | None = getattr(shell, _HOME, None)
    if loaded is None:
        raise RuntimeError("agentcell is not loaded in this shell: run %load_ext agentcell first.")
    return loaded.session


def _doors(loaded: _Loaded) -> dict[str, Callable[..., None]]:
    """Return the functions that IPython calls: help and name now, the work at first use."""
    from IPython.core.magic import no_var_expand

    from agentcell_magics.help import AGENT_HELP, VIEW_HELP

    @no_var_expand  # braces and dollars in a question are the person's own text
    def agent(line: str, cell: str | None = None) -> None:
        loaded.agent.agent(line, cell)

    @no_var_expand
    def view_image(line: str) -> None:
        loaded.view_image.view_image(line)

    agent.__doc__, view_image.__doc__ = AGENT_HELP, VIEW_HELP
    return {"agent": agent, "view_image": view_image}


def _register(shell: InteractiveShell, loaded: _Loaded) -> None:
    ours = _doors(loaded)
    taken = []
    for kind, names in _NAMES.items():
        table = shell.magics_manager.magics[kind]
        for name in names:
            is_free = table.get(name) in (None, loaded.registered.get((kind, name)))
            used = name if is_free else f"agentcell_{name}"
            shell.magics_manager.register_function(ours[name], magic_kind=kind, magic_name=used)
            loaded.registered[kind, used] = ours[name]
            taken += [] if is_free else [name]
    for name in dict.fromkeys(taken):
        print(f"agentcell: %{name} is taken by another extension; use agentcell_{name}.")  # noqa: T201
