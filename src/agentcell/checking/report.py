"""Paths of notebooks, to a report of each: whether it says what it said, and may go out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcell.checking import looks
from agentcell.checking.comparing import differences
from agentcell.checking.replay import replayed
from agentcell.errors import CellError
from agentcell.scan import scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found in one notebook.

    Parameters
    ----------
    path
        The notebook's.
    faults
        Why it must not go out as it is, a sentence each, with the cell's number.
    remarks
        What could be better.
    cells, pictures
        How many code cells it has, and how many pictures its outputs show.
    size_bytes
        Of the file.
    """

    path: Path
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    cells: int = 0
    pictures: int = 0
    size_bytes: int = 0
    executed: Any = field(default=None, repr=False)

    @property
    def is_fine(self) -> bool:
        """Whether nothing was found that must not be."""
        return not self.faults

    def summary(self) -> str:
        """Return the one line that says it all."""
        facts = f"{self.cells} cells, {self.size_bytes / 1000:,.0f} kB, {self.pictures} pictures"
        end = f"{len(self.faults)} faults" if self.faults else "ok"
        more = f", {len(self.remarks)} remarks" if self.remarks else ""
        return f"{self.path}: {end} ({facts}{more})"


def check(
    paths: Iterable[str | os.PathLike[str]],
    *,
    execute: bool = True,
    mode: str = "replay",
    timeout: int = 120,
) -> Iterator[Report]:
    """Yield a report of each notebook.

    Parameters
    ----------
    paths
        Notebooks, or folders that hold some, at any depth.
    execute
        Whether each is also run from its recording and compared with what is saved.
    mode
        ``record`` or ``rerecord`` ask the models and keep the answers; nothing is compared then,
        and the notebook that came out is `Report.executed`.
    timeout
        Seconds that one cell may take.

    Raises
    ------
    CellError
        If a path leads nowhere, or nothing can be executed here.
    """
    for path in _notebooks(paths):
        yield _checked(path, execute=execute, mode=mode, timeout=timeout)


def _checked(path: Path, *, execute: bool, mode: str, timeout: int) -> Report:
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # noqa: BLE001 (of what is no notebook nbformat raises anything)
        first = str(error).strip().partition("\n")[0][:120]
        return Report(path=path, faults=(f"no notebook can be read: {first}",))
    size = path.stat().st_size
    found = list(looks.faults(notebook))
    executed = None
    if execute:
        executed = replayed(notebook, path, mode=mode, timeout=timeout)
        if mode == "replay":
            found += differences(notebook, executed)
        found += _unexpected(executed)
    secrets = [str(finding) for finding in scan(path)]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return Report(
        path=path,
        faults=(*map(_told, sorted(set(found))), *secrets),
        remarks=tuple(map(_told, dict.fromkeys(looks.remarks(notebook, size)))),
        cells=len(code),
        pictures=looks.pictures(notebook),
        size_bytes=size,
        executed=executed,
    )


def _unexpected(executed: Any) -> Iterator[looks.Finding]:
    """Yield the errors of cells that are not marked as raising one."""
    for number, cell in enumerate(executed.cells, start=1):
        for output in cell.get("outputs", []):
            tags = cell.metadata.get("tags", [])
            if output.output_type == "error" and "raises-exception" not in tags:
                said = str(output.evalue).partition("\n")[0]
                yield number, f"it fails: {output.ename}: {said[:200]}"


def _told(found: looks.Finding) -> str:
    number, what = found
    return f"cell {number}: {what}" if number else what


def _notebooks(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            hidden = (
                one
                for one in sorted(path.rglob("*.ipynb"))
                if not any(part.startswith(".") for part in one.relative_to(path).parts)
            )
            yield from hidden
        elif path.exists():
            yield path
        else:
            raise CellError(
                f"There is no '{path}'; a notebook or a folder was expected.",
                fix="check the name, for example: agentcell check notebooks/",
            )
