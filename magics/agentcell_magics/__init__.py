"""The magics `%%agent`, `%agent` and `%view_image`, over one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.session import Session
from agentcell_magics.agent import AgentMagics
from agentcell_magics.cells import with_body
from agentcell_magics.view_image import ViewImageMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "AgentMagics",
    "ViewImageMagics",
    "current_session",
    "load_ipython_extension",
    "unload_ipython_extension",
]

_NAMES = {"cell": ("agent",), "line": ("agent", "view_image")}
_HOME = "_agentcell"
"""The shell's attribute that holds what was loaded; the session outlives an unload."""


class _Loaded:
    def __init__(self) -> None:
        self.session = Session()
        self.matcher: object = None
        self.names: list[tuple[str, str]] = []


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%load_ext agentcell`: add the magics and Tab completion to `shell`.

    A magic of the same name that is already there stays; ours then gets the prefix
    ``agentcell_``, which is told in one line.
    """
    loaded: _Loaded = getattr(shell, _HOME, None) or _Loaded()
    setattr(shell, _HOME, loaded)
    _register(shell, loaded)
    if with_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(with_body)
    if loaded.matcher is None and getattr(shell, "Completer", None) is not None:
        from agentcell_magics.completion import matcher

        loaded.matcher = matcher(loaded.session)
        shell.Completer.custom_matchers.append(loaded.matcher)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%unload_ext agentcell`: take the magics away; the session's turns stay."""
    loaded: _Loaded | None = getattr(shell, _HOME, None)
    if loaded is None:
        return
    for kind, name in loaded.names:
        shell.magics_manager.magics[kind].pop(name, None)
    loaded.names.clear()
    if with_body in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(with_body)
    if loaded.matcher in shell.Completer.custom_matchers:
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


def _register(shell: InteractiveShell, loaded: _Loaded) -> None:
    ours: dict[str, Any] = {  # IPython's decorators are typed as if they made plain functions
        "agent": getattr(AgentMagics(shell, loaded.session), "agent"),  # noqa: B009
        "view_image": getattr(ViewImageMagics(shell, loaded.session), "view_image"),  # noqa: B009
    }
    taken = []
    for kind, names in _NAMES.items():
        table = shell.magics_manager.magics[kind]
        for name in names:
            free = name not in table or (kind, name) in loaded.names
            used = name if free else f"agentcell_{name}"
            shell.magics_manager.register_function(ours[name], magic_kind=kind, magic_name=used)
            if (kind, used) not in loaded.names:
                loaded.names.append((kind, used))
            if not free:
                taken.append(name)
    for name in dict.fromkeys(taken):
        print(f"agentcell: %{name} is taken by another extension; use agentcell_{name}.")  # noqa: T201
