"""A person at the notebook, to a key: asked for, hidden while typed, where one can answer."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentcell_magics.cells import is_terminal
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.keys import Question

_UNATTENDED = ("CI", "PYTEST_CURRENT_TEST", "NBVAL_RUNNING")
"""Set where cells run by themselves, and a question would wait for ever or fail."""

_TRIES = 3


def can_ask(shell: InteractiveShell) -> bool:
    """Whether somebody sits there who can type: the cell's own request says so."""
    if any(os.environ.get(name) for name in _UNATTENDED):
        return False
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin"))
    return is_terminal(shell) and sys.stdin is not None and sys.stdin.isatty()


def typed(prompt: str) -> str:
    """Return what the person types, hidden; empty if nothing that can be a key."""
    import getpass  # the kernel puts its own function in its place

    from agentcell.keys import can_be_key

    for _ in range(_TRIES):
        try:
            value = getpass.getpass(prompt).strip()
        except EOFError:
            return ""
        if not value or can_be_key(value):
            return value
        prompt = "That holds blanks or letters that no key has. Once more: "
    return ""


class KeyPrompt:
    """Asks the person of one shell for a key that is nowhere; `agentcell.keys` calls it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def __call__(self, question: Question) -> str | None:
        """Return what was typed, None where nobody can."""
        if not can_ask(self._shell):
            return None
        value = typed(f"Key for {question.provider}, to be sent to {question.host}: ")
        if value:
            from agentcell_magics import cards
            from agentcell_magics.live import show

            said = "The key is kept until the kernel stops; %agent key {provider} keeps it longer."
            show(cards.line(say(said, provider=question.provider)))
        return value
