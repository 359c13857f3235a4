"""The magics `%%agent`, `%agent`, `%generate` and `%view_image`, over one session.

What `%load_ext` registers is light: names, help, Tab and `%config AgentMagics`. The session and all
behind it are loaded by the first magic that is used.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcell.errors import translate_frames
from agentcell.keys.asking import on_missing
from agentcell_magics.config import AgentMagics
from agentcell_magics.key_guard import KeyWatch, guarded
from agentcell_magics.key_prompt import KeyPrompt
from agentcell_magics.names import Names
from agentcell_magics.typed import TypedCells

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.session import Session

__all__ = ["current_session", "load_ipython_extension", "unload_ipython_extension"]

_KINDS = {"agent": ("line", "cell"), "generate": ("line", "cell"), "view_image": ("line",)}
"""Each magic's name, and with how many signs it is called."""

_HOME = "_agentcell"
"""The shell's attribute that holds what was loaded; the session outlives an unload."""


class _Loaded:
    """What belongs to one shell; each part is made at its first use."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.folder: Path | None = None
        with suppress(OSError):  # it may have been removed
            self.folder = Path.cwd()  # now: a cell may change it
        self.matcher: Any = None
        self.names = Names(shell, _KINDS)
        self.typed = TypedCells(shell)
        self.key_watch = KeyWatch(shell, lambda: self.names.used("cell"))
        self.key_prompt = KeyPrompt(shell)
        self.config = AgentMagics(shell.config)
        self.config.observe(self._was_set)

    @cached_property
    def session(self) -> Session:
        from agentcell.assets.access import AccessPolicy
        from agentcell.session import Session
        from agentcell_magics.cells import usual_recording
        from agentcell_magics.notebook_history import notebook_history

        kind = self.config.in_force("history")
        history = notebook_history(self.shell, self.folder, kind)
        self.config.fixed = {"history": kind}
        session = Session(model=self.config.model, history=history)
        if self.folder is not None:  # also where nothing is kept on disk
            session.access = AccessPolicy(self.folder)
        session.recorder.usual_file = usual_recording(self.shell, self.folder)
        session.on_change(lambda: self.config.follow(session))
        self.config.share(session)
        return session

    @cached_property
    def agent(self) -> Any:  # AskMagics; mypy cannot see through IPython's decorators
        from agentcell_magics.agent import AskMagics

        return AskMagics(self.shell, self.session, self.config, self.typed)

    @cached_property
    def view_image(self) -> Any:  # ViewImageMagics
        from agentcell_magics.view_image import ViewImageMagics

        return ViewImageMagics(self.shell, self.session, self.typed)

    @cached_property
    def generate(self) -> Any:  # GenerateMagics
        from agentcell_magics.generate import GenerateMagics

        return GenerateMagics(self.shell, self.session, self.config, self.typed, self.folder)

    def agent_cell(self, lines: list[str]) -> list[str]:
        """Do for our `%%agent` what `cells.agent_cell` does; another's cells stay as they are."""
        from agentcell_magics.cells import agent_cell

        return agent_cell(lines, self.names.used("cell"))

    # While a person still types, in a console, a cell must not look complete for this.
    agent_cell.has_side_effects = True  # type: ignore[attr-defined]  # IPython looks for the mark

    def _was_set(self, change: Any) -> None:
        if "session" not in vars(self):
            return
        if change.name == "model" and self.session.chosen_model_name != change.new:
            self.session.model = change.new
        self.config.share(self.session)


def _in_the_readers_language(frame: str) -> str:
    from agentcell_magics.wording import word

    return word(frame)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%load_ext agentcell`: add the magics, Tab completion and `%config` to `shell`.

    A magic of the same name that is already there stays; ours then gets the prefix
    ``agentcell_``, which is told in one line.
    """
    loaded: _Loaded | None = getattr(shell, _HOME, None)
    if loaded is None:
        loaded = _Loaded(shell)
        setattr(shell, _HOME, loaded)
        for remark in loaded.config.remarks:
            print(remark)  # noqa: T201 (the line that loads is all there is to show it)
    for remark in loaded.names.register(_doors(loaded)):
        print(remark)  # noqa: T201
    _add(shell.input_transformers_cleanup, loaded.agent_cell)
    _add(shell.configurables, loaded.config)
    loaded.typed.watch()
    loaded.key_watch.watch()
    on_missing(loaded.key_prompt)
    translate_frames(_in_the_readers_language)
    if getattr(shell, "Completer", None) is not None:
        if loaded.matcher is None:
            from agentcell_magics.completion import matcher

            loaded.matcher = matcher(shell, lambda: loaded.session, loaded.names)
        _add(shell.Completer.custom_matchers, loaded.matcher)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%unload_ext agentcell`: take the magics away; the session's turns stay."""
    loaded: _Loaded | None = getattr(shell, _HOME, None)
    if loaded is None:
        return
    loaded.names.unregister()
    loaded.typed.stop()
    loaded.key_watch.stop()
    if "generate" in vars(loaded):
        loaded.generate.stop()
        del loaded.generate
    on_missing(None)
    translate_frames(str)
    _remove(shell.input_transformers_cleanup, loaded.agent_cell)
    _remove(shell.configurables, loaded.config)
    if getattr(shell, "Completer", None) is not None:
        _remove(shell.Completer.custom_matchers, loaded.matcher)


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


def _doors(loaded: _Loaded) -> dict[str, Callable[..., Any]]:
    """Return the functions that IPython calls: help and name now, the work at first use."""
    from IPython.core.magic import no_var_expand

    from agentcell_magics.help import AGENT_HELP, GENERATE_HELP, VIEW_HELP

    @no_var_expand  # braces and dollars in a question are the person's own text
    def agent(line: str, cell: str | None = None) -> Any:
        return loaded.agent.agent(line, cell)  # with --async, the handle

    @no_var_expand
    def view_image(line: str) -> None:
        loaded.view_image.view_image(line)

    @no_var_expand
    def generate(line: str, cell: str | None = None) -> Any:
        return loaded.generate.generate(line, cell)

    agent.__doc__, view_image.__doc__, generate.__doc__ = AGENT_HELP, VIEW_HELP, GENERATE_HELP
    return {
        "agent": guarded(agent),
        "generate": guarded(generate),
        "view_image": guarded(view_image),
    }


def _add(items: list[Any], item: object) -> None:
    if item not in items:
        items.append(item)


def _remove(items: list[Any], item: object) -> None:
    if item in items:
        items.remove(item)
