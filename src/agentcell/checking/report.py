"""Paths of notebooks, to a report of each: whether it says what it said, and may go out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcell.checking import looks
from agentcell.checking.comparing import differences
from agentcell.checking.replay import replayed
from agentcell.checking.wishes import Wishes
from agentcell.errors import CellError
from agentcell.scan import scan

_LONGEST = 200


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
    """The notebook as it came out; None where it was not run."""

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
        and the notebook that came out is `Report.executed`. See also `record`.
    timeout
        Seconds that one cell may take.

    Raises
    ------
    CellError
        If a path leads nowhere, or nothing can be executed here.
    """
    for path in notebooks_in(paths):
        yield checked(path, execute=execute, mode=mode, timeout=timeout)


def read(path: Path) -> Any:
    """Return the notebook at `path` in today's format, or raise what nbformat raises."""
    import nbformat

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of cells without ids, and of older formats
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    return notebook


def checked(
    path: Path, *, execute: bool = True, mode: str = "replay", timeout: int = 120
) -> Report:
    """Return the report of one notebook; see `check`."""
    try:
        notebook = read(path)
    except Exception as error:  # noqa: BLE001 (of what is no notebook nbformat raises anything)
        first = str(error).strip().partition("\n")[0][:120]
        return Report(path=path, faults=(f"no notebook can be read: {first}",))
    size = path.stat().st_size
    found = list(looks.faults(notebook))
    executed = None
    if execute:
        executed, stopped = replayed(notebook, path, mode=mode, timeout=timeout)
        if mode == "replay" and not stopped:  # of one that broke off all later outputs are gone
            found += differences(notebook, executed)
        found += [*stopped, *unexpected(executed)]
    secrets = [str(finding) for finding in scan(path)]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return Report(
        path=path,
        faults=(*told(found), *secrets),
        remarks=tuple(map(_sentence, dict.fromkeys(looks.remarks(notebook, size)))),
        cells=len(code),
        pictures=looks.pictures(notebook),
        size_bytes=size,
        executed=executed,
    )


def unexpected(executed: Any) -> Iterator[looks.Finding]:
    """Yield the errors of cells that are not marked as raising one."""
    for number, cell in enumerate(executed.cells, start=1):
        if cell.cell_type != "code" or (wishes := Wishes.of(cell)).raises or wishes.skip:
            continue
        for output in cell.outputs:
            if output.output_type == "error":
                first = str(output.evalue).partition("\n")[0]
                yield number, f"it fails: {output.ename}: {first}"[:_LONGEST]


def told(found: Iterable[looks.Finding]) -> tuple[str, ...]:
    """Return findings as sentences, by their cells, each once."""
    return tuple(map(_sentence, sorted(set(found))))


def _sentence(found: looks.Finding) -> str:
    number, what = found
    what = "".join(one if one.isprintable() else "�" for one in what)  # it goes to a terminal
    return f"cell {number}: {what}" if number else what


def notebooks_in(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Path]:
    """Yield the notebooks at `paths`, at any depth, but none in hidden folders.

    Raises
    ------
    CellError
        If a path leads nowhere.
    """
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
