"""A notebook, to the same with what its cells show when they run from their recording."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcell.checking.looks import WIDGET, Finding
from agentcell.checking.wishes import SKIP_TAG, Wishes
from agentcell.errors import CellError
from agentcell.loop import LOOP

_MODE = "AGENTCELL_MODE"
_KEYS = ("_API_KEY", "_AUTH_TOKEN")
_LONGEST = 200


def replayed(
    notebook: Any, path: Path, *, mode: str = "replay", timeout: int = 120
) -> tuple[Any, list[Finding]]:
    """Return a copy of `notebook`, executed in a new kernel in the folder of `path`.

    The kernel is told to replay: what no recording answers is an error, nothing is asked. It
    gets no key from the environment, keeps no history on disk, and a cell that fails is an output.
    Cells that are not to be run keep what was saved.

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

    Returns
    -------
    tuple
        The copy, and why it was not run to its end, if so: a cell that hangs or takes the kernel
        down, or a kernel that is not there.

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
    executed = _emptied(notebook)
    reached = [0]

    def started(cell_index: int, **_: Any) -> None:
        reached[0] = cell_index + 1

    client = NotebookClient(
        executed,
        kernel_name=_kernel_name(notebook),
        timeout=timeout,
        allow_errors=True,
        record_timing=False,
        store_widget_state=False,
        skip_cells_with_tag=SKIP_TAG,
        on_cell_execute=started,
        resources={"metadata": {"path": str(path.parent.resolve())}},
    )
    faults: list[Finding] = []
    # What the kernel's process writes beside its cells belongs to no cell.
    with tempfile.TemporaryFile() as log:
        try:
            # On a thread of its own: an interrupt then ends the kernel, and is not nbclient's.
            LOOP.run(client.async_execute(env=_environment(path, mode), stderr=log, stdout=log))
        except Exception as error:  # noqa: BLE001 (kernels, sockets and nbclient raise anything)
            faults.append((reached[0], _why(error, timeout, _kernel_name(notebook))))
    for cell, saved in zip(executed.cells, notebook.cells, strict=True):
        cell.metadata = copy.deepcopy(saved.metadata)
        for output in cell.get("outputs", []):
            if {"text/html", "text/markdown"} & output.get("data", {}).keys():
                # It is gone with its kernel, and JupyterLab would show that in place of the rest.
                output.data.pop(WIDGET, None)
    executed.metadata = copy.deepcopy(notebook.metadata)
    return executed, faults


def _emptied(notebook: Any) -> Any:
    """Return a copy without outputs, but for the cells that are not to be run."""
    emptied = copy.deepcopy(notebook)
    for cell in emptied.cells:
        if cell.cell_type != "code":
            continue
        if Wishes.of(cell).skip:
            cell.metadata["tags"] = [SKIP_TAG]
        else:
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("tags", None)
    return emptied


def _why(error: Exception, timeout: int, kernel: str) -> str:
    match type(error).__name__:
        case "CellTimeoutError":
            return f"it ran for more than {timeout} s, and was ended"
        case "DeadKernelError":
            return "the kernel died"
        case "NoSuchKernel":
            return f"it needs the kernel {kernel[:_LONGEST]!r}, which is not installed here"
    said = " ".join(str(error).split())[:_LONGEST]
    return f"it cannot be run: {type(error).__name__}: {said!r}"


def _kernel_name(notebook: Any) -> str:
    spec = notebook.metadata.get("kernelspec", {})
    return str((isinstance(spec, Mapping) and spec.get("name")) or "python3")


def _environment(path: Path, mode: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTEST_CURRENT_TEST" and not (mode == "replay" and name.endswith(_KEYS))
    }
    own = {_MODE: mode, "AGENTCELL_HISTORY": "memory", "JPY_SESSION_NAME": str(path.resolve())}
    # As under pytest, the reader's locale is no part of what is compared.
    return {"AGENTCELL_LANGUAGE": "en", **kept, **own}
