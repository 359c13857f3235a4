"""Notebooks and models that may be asked, to recordings, and notebooks that show their replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcell.checking.replay import replayed
from agentcell.checking.report import Report, checked, notebooks_in, read, told, unexpected
from agentcell.errors import HistoryError


def record(
    paths: Iterable[str | os.PathLike[str]],
    *,
    again: bool = False,
    timeout: int = 120,
    before_replay: Callable[[Path], None] | None = None,
) -> Iterator[Report]:
    """Ask the models, keep their answers, and save what the notebooks show when they replay them.

    Parameters
    ----------
    paths
        Notebooks, or folders that hold some, at any depth.
    again
        Whether what is recorded already is asked anew.
    timeout
        Seconds that one cell may take.
    before_replay
        Is given each notebook's path once its answers are recorded.

    Yields
    ------
    Report
        What is to be said of the notebook as it is saved now; of one that fails, which stays as
        it was, why.

    Raises
    ------
    CellError
        If a path leads nowhere, or nothing can be executed here.
    HistoryError
        If a notebook cannot be written.
    """
    for path in notebooks_in(paths):
        yield _recorded(path, "rerecord" if again else "record", timeout, before_replay)


def _recorded(
    path: Path, mode: str, timeout: int, before_replay: Callable[[Path], None] | None
) -> Report:
    try:
        notebook = read(path)
    except Exception:  # noqa: BLE001 (what is no notebook is told there)
        return checked(path, execute=False)
    for how in (mode, "replay"):
        executed, faults = replayed(notebook, path, mode=how, timeout=timeout)
        if faults := [*faults, *unexpected(executed)]:
            return Report(path=path, faults=told(faults), executed=executed)
        if how == mode and before_replay is not None:
            before_replay(path)
    _save(notebook, executed, path)
    return replace(checked(path, execute=False), executed=executed)


def _save(notebook: Any, executed: Any, path: Path) -> None:
    """Put what was shown into the saved notebook; all else stays as it is."""
    import nbformat

    for cell, shown in zip(notebook.cells, executed.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = shown.outputs, shown.execution_count
    text = nbformat.writes(notebook) + "\n"
    place = Path(os.path.realpath(path))  # a link stays one
    if place.read_text(encoding="utf-8") == text:
        return
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.chmod(place.stat().st_mode)
        partial.replace(place)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise HistoryError(
            f"The notebook '{path}' cannot be written: {error.strerror or error}.",
            fix="free some space, or choose a folder that can be written.",
        ) from error
