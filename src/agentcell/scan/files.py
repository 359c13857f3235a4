"""A path that a person names, to the files that are searched for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from agentcell.errors import ScanError

HOME = ".agentcell"
"""The folder beside a notebook that holds its history, its attachments and its jobs."""

_CHECKPOINTS = ".ipynb_checkpoints"

_OTHERS_FOLDERS = {"__pycache__", "node_modules", "site-packages"}


def files_of(path: Path) -> list[Path]:
    """Return what is searched for `path`.

    A notebook: itself, Jupyter's copy of it, and beside it all in ``.agentcell``,
    ``recordings/*.jsonl`` and ``jobs.jsonl``. A folder: every file in it, but for hidden ones
    (a ``.env`` is where a key may be), other people's packages and what git keeps. Any other
    file: itself.

    Raises
    ------
    ScanError
        If there is nothing at `path`.
    """
    try:
        if path.is_dir():
            return list(_unique(_in_folder(path)))
        if path.suffix.lower() == ".ipynb" and path.exists():
            return list(_unique([path, *_beside(path)]))
        if path.is_file():
            return [path]
    except (OSError, ValueError) as problem:
        raise ScanError(f"{path} cannot be looked at: {_reason(problem)}.") from problem
    raise ScanError(f"There is no file {path}.", fix="give the path of a notebook.")


def _beside(notebook: Path) -> Iterator[Path]:
    folder = notebook.parent
    yield folder / _CHECKPOINTS / f"{notebook.stem}-checkpoint.ipynb"
    yield folder / "jobs.jsonl"
    yield from sorted((folder / "recordings").glob("*.jsonl"))
    yield from _in_folder(folder / HOME)


def _in_folder(folder: Path) -> Iterator[Path]:
    def fail(problem: OSError) -> None:
        raise problem

    is_ours = HOME in folder.parts
    for place, folders, files in os.walk(folder, onerror=fail if folder.is_dir() else None):
        here = Path(place)
        inside = is_ours or HOME in here.relative_to(folder).parts
        folders[:] = sorted(name for name in folders if inside or _is_searched(here, name))
        yield from (here / name for name in sorted(files) if inside or not name.startswith("."))


def _is_searched(place: Path, name: str) -> bool:
    if name in {HOME, _CHECKPOINTS}:
        return True
    is_environment = (place / name / "pyvenv.cfg").exists()
    return not (name.startswith(".") or name in _OTHERS_FOLDERS or is_environment)


def _unique(paths: Iterable[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        if path.is_file() and (real := path.resolve()) not in seen:
            seen.add(real)
            yield path


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or type(problem).__name__
