"""What the host tells about the running cell and about how outputs are shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_BARE = re.compile(r"%%(agentcell_)?agent(\s[^?]*)?$")
_OUTPUT_NAME = re.compile(r"_\d+")


def cell_id(shell: InteractiveShell) -> str | None:
    """Return the notebook's own name for the running cell, None where the host tells none.

    JupyterLab and Notebook send ``cellId`` in the request's metadata, VS Code sends ``cell_id``;
    consoles and nbclient send neither.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return None
    metadata = kernel.get_parent("shell").get("metadata", {})
    found = metadata.get("cellId") or metadata.get("cell_id")
    return found if isinstance(found, str) else None


def can_update(shell: InteractiveShell) -> bool:
    """Whether a display may be updated after it was shown.

    A terminal would print each update anew, and a validating test run keeps only the first one:
    pytest sets ``PYTEST_CURRENT_TEST``, which the kernels that it starts inherit.
    """
    return getattr(shell, "kernel", None) is not None and not os.environ.get("PYTEST_CURRENT_TEST")


def is_terminal(shell: InteractiveShell) -> bool:
    """Whether the person sits at a terminal, where text is printed as it comes."""
    return type(shell).__name__ == "TerminalInteractiveShell"


def variables(shell: InteractiveShell) -> Mapping[str, Any]:
    """Return the person's own variables, and outputs by their names such as ``_1``."""
    hidden = shell.user_ns_hidden
    return {
        name: value
        for name, value in shell.user_ns.items()
        if _OUTPUT_NAME.fullmatch(name)
        or (not name.startswith("_") and (name not in hidden or hidden[name] is not value))
    }


def with_body(lines: list[str]) -> list[str]:
    """Give a cell that is only its `%%agent` line a blank body, so that the magic is called.

    IPython refuses a cell magic without a body before the magic could say what to write.
    """
    if len(lines) == 1 and _BARE.match(lines[0].rstrip()):
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines
