"""A notebook, to the same with what its cells show when they run from their recording."""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import Any

from agentcell.errors import CellError

_MODE = "AGENTCELL_MODE"
_KEYS = ("_API_KEY", "_AUTH_TOKEN")


def replayed(notebook: Any, path: Path, *, mode: str = "replay", timeout: int = 120) -> Any:
    """Return a copy of `notebook`, executed in a new kernel in the folder of `path`.

    The kernel is told to replay: what no recording answers is an error, nothing is asked. It
    gets no key from the environment, keeps no history on disk, and a cell that fails is an output.

    Parameters
    ----------
    notebook
        As `nbformat.read` gives it.
    path
        Where it lies: relative files and recordings are found from there.
    mode
        ``replay``, or another of the recording's modes to make one; then keys stay.
    timeout
        Seconds that one cell may take.

    Raises
    ------
    CellError
        If what executes notebooks is not installed.
    """
    try:
        from nbclient import NotebookClient
    except ImportError as error:
        raise CellError(
            f"Notebooks cannot be executed here: {error}.", fix='pip install "agentcell[lab]"'
        ) from error
    executed = copy.deepcopy(notebook)
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        executed,
        kernel_name=_kernel_name(notebook),
        timeout=timeout,
        allow_errors=True,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent.resolve())}},
    )
    # What the kernel's process writes beside its cells belongs to no cell.
    with tempfile.TemporaryFile() as log:
        client.execute(env=_environment(path, mode), stderr=log, stdout=log)
    return executed


def _kernel_name(notebook: Any) -> str:
    name: str = notebook.metadata.get("kernelspec", {}).get("name", "python3")
    return name


def _environment(path: Path, mode: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTEST_CURRENT_TEST" and not (mode == "replay" and name.endswith(_KEYS))
    }
    own = {_MODE: mode, "AGENTCELL_HISTORY": "memory", "JPY_SESSION_NAME": str(path.resolve())}
    return {**kept, **own}
