"""What the host tells about the running cell and about how outputs are shown."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_AGENT = re.compile(r"%%((?:agentcell_)?agent)(?=\s|$)")
_CELL_MAGIC = re.compile(r"%%(\w+)(?=\s|$)")
_SHELLS_OWN = re.compile(r"_{1,3}|_i{1,3}|_i\d+|_[dio]h|__\w+__|In|Out|get_ipython|exit|quit")
_OUTPUT_NAME = re.compile(r"_\d+")


def cell_id(shell: InteractiveShell) -> str | None:
    """Return the notebook's own name for the running cell, None where the host tells none.

    JupyterLab and Notebook send ``cellId`` in the request's metadata, VS Code sends ``cell_id``;
    consoles and nbclient send neither.
    """
    metadata = _request(shell).get("metadata", {})
    found = metadata.get("cellId") or metadata.get("cell_id")
    return found if isinstance(found, str) else None


def notebook_place(shell: InteractiveShell, folder: Path | None) -> tuple[Path | None, str]:
    """Return the folder of the running notebook, and the name of its file.

    Jupyter names the file in the kernel's environment, VS Code in a variable. Where nobody does
    it is `folder` and ``console``; Colab runs one notebook on a machine: ``colab``.
    """
    in_kernel = getattr(shell, "kernel", None) is not None
    named = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    if not in_kernel or not isinstance(named, str) or not named.endswith(".ipynb"):
        return folder, "colab" if "google.colab" in sys.modules else "console"
    file = Path(named)
    return (file.parent if file.is_absolute() and file.parent.is_dir() else folder), file.name


def usual_recording(shell: InteractiveShell, folder: Path | None) -> Path | None:
    """Return the file of the notebook's recording where none is named; None without a notebook."""
    place, name = notebook_place(shell, folder)
    if not name.endswith(".ipynb"):
        return None
    return Path(
        "recordings" if place in (None, folder) else place / "recordings", f"{name[:-6]}.jsonl"
    )


def cells_last(notebook: str) -> bool:
    """Whether cells have the same ids when a notebook is opened again.

    JupyterLab gives ids to a console's prompts as well, and to the cells of a script that is
    opened as a notebook; it saves them in ``.ipynb`` files only.
    """
    return notebook.endswith(".ipynb") or not os.environ.get("JPY_SESSION_NAME")


def run_id(shell: InteractiveShell) -> str:
    """Return the name of this one run of the cell; empty where there is no kernel."""
    return str(_request(shell).get("header", {}).get("msg_id", ""))


def request_code(shell: InteractiveShell) -> str | None:
    """Return what the front end asked to be run, None where there is no kernel."""
    code = _request(shell).get("content", {}).get("code")
    return code if isinstance(code, str) else None


def running_source() -> str | None:
    """Return the whole cell that runs now, None where nobody tells."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return None if shell is None else request_code(shell)


def _request(shell: InteractiveShell) -> dict[str, Any]:
    kernel = getattr(shell, "kernel", None)
    return {} if kernel is None else dict(kernel.get_parent("shell"))


def can_update(shell: InteractiveShell) -> bool:
    """Whether a display may be updated after it was shown.

    A terminal would print each update anew, and a validating test run keeps only the first one.
    """
    return getattr(shell, "kernel", None) is not None and not is_validated()


def is_validated() -> bool:
    """Whether a test run validates the notebook.

    pytest sets ``PYTEST_CURRENT_TEST``, which the kernels that it starts inherit.
    """
    return bool(os.environ.get("PYTEST_CURRENT_TEST"))


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
        or not (_SHELLS_OWN.fullmatch(name) or (name in hidden and hidden[name] is value))
    }


def is_blank(text: str) -> bool:
    """Whether a person sees nothing in `text`: marks without width come along with a paste."""
    return not re.sub(r"[\s\u200b-\u200d\u2060\ufeff]", "", text)


def is_shells_own(name: str) -> bool:
    """Whether IPython keeps something of its own under that name, which must stay."""
    return bool(_SHELLS_OWN.fullmatch(name) or _OUTPUT_NAME.fullmatch(name))


def asks_again(cell: str) -> int | None:
    """Return the number of the line at which a second `%%agent` stands in a cell, if any does."""
    lines = enumerate(cell.splitlines(), start=2)
    return next((number for number, line in lines if _AGENT.match(line)), None)


def agent_cell(
    lines: list[str], names: Collection[str] = ("agent", "agentcell_agent")
) -> list[str]:
    """Let IPython call `%%agent` where it would refuse the cell before we could say a word.

    It wants a cell magic in the first line, where people write comments, and with a body, which
    they forget.
    """
    first = next((n for n, line in enumerate(lines) if not _is_comment(line)), 0)
    called_by = _CELL_MAGIC.match(lines[first]) if lines else None
    if called_by is None or called_by[1] not in names:
        return lines
    called = lines[first:]
    return called if len(called) > 1 else [called[0].rstrip("\n") + "\n", "\n"]


# While a person still types, in a console, a cell must not look complete for this.
agent_cell.has_side_effects = True  # type: ignore[attr-defined]  # IPython looks for the mark


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
