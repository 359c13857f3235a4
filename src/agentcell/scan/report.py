"""Paths and keys, to findings that name the file, the cell and the key's variable, never the key.

What counts:

- any run of six characters of a known key's secret part (what follows ``sk-proj-`` and the like),
  also in Base64, percent-encoded, escaped as in JSON, HTML or Python, or broken by colours;
- in pictures, other data, unbroken stretches of Base64 and in hexadecimal digests and ids, a run
  of twelve: there six characters come up by chance (in 10 MB of Base64 with a key of 156
  characters in one file of 40; in 1,000 digests with a hexadecimal key in one of 10);
- any string shaped as services make their keys (`agentcell.keys.shapes`), known or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentcell import keys as known_keys
from agentcell.errors import ScanError
from agentcell.scan.files import files_of
from agentcell.scan.pieces import pieces_of
from agentcell.scan.searching import Searcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place at which a key, a part of one, or a key's shape stands.

    Parameters
    ----------
    file
        The file's path.
    cell
        The notebook's cell, counted from 1; None outside cells.
    where
        For people, for example ``source`` or ``output 1, text/plain``.
    what
        Whose key or which shape, for example ``OPENAI_API_KEY`` or ``shape of an OpenAI key``.
    """

    file: str
    cell: int | None
    where: str
    what: str

    def __str__(self) -> str:
        places = [f"cell {self.cell}" if self.cell is not None else "", self.where]
        return f"{self.file}: {', '.join(filter(None, places))}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a search found, and what it could not read."""

    findings: tuple[Finding, ...]
    files: int
    problems: tuple[ScanError, ...] = ()


def scan(
    path: str | os.PathLike[str], keys: Mapping[str, str] | Iterable[str] | None = None
) -> list[Finding]:
    """Search a notebook, with its history and recordings, or any file or folder.

    Parameters
    ----------
    path
        A notebook, another file, or a folder.
    keys
        Keys by the name to tell them by, or keys alone, which are told by their number; None:
        those of the environment, keyring and `llm`.

    Raises
    ------
    ScanError
        If nothing was found, but something could not be read.
    """
    report = search([path], keys)
    if report.problems and not report.findings:
        raise report.problems[0]
    return list(report.findings)


def search(
    paths: Iterable[str | os.PathLike[str]],
    keys: Mapping[str, str] | Iterable[str] | None = None,
) -> Report:
    """Search all of `paths`; a file that cannot be read is a problem of the report.

    Parameters
    ----------
    paths, keys
        See `scan`.
    """
    searcher = Searcher(keys_at_hand() if keys is None else _named(keys))
    files: dict[Path, tuple[Path, bool]] = {}
    problems: list[ScanError] = []
    for path in map(Path, paths):
        try:
            for file in files_of(path):
                files.setdefault(file.resolve(), (file, file == path))
        except ScanError as problem:
            problems.append(problem)
    findings: dict[Finding, None] = {}
    for file, was_named in files.values():
        try:
            for finding in _in_file(searcher, file, was_named=was_named):
                findings.setdefault(finding)
        except ScanError as problem:
            problems.append(problem)
    return Report(findings=tuple(findings), files=len(files), problems=tuple(problems))


def _in_file(searcher: Searcher, file: Path, *, was_named: bool) -> Iterator[Finding]:
    shown = searcher.without_keys(str(file))
    found: set[str] = set()
    for piece in searcher.promising(pieces_of(file, was_named=was_named)):
        for where, name, what in searcher.in_piece(piece):
            if piece.is_rest and name in found:
                continue
            found.add(name)
            yield Finding(file=shown, cell=piece.cell, where=where, what=what)


def _named(keys: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    if isinstance(keys, Mapping):
        return keys
    values = [keys] if isinstance(keys, str) else keys
    return {f"key {number}": value for number, value in enumerate(values, start=1)}


def keys_at_hand() -> dict[str, str]:
    """Return every key that this machine gives to this process, by where it comes from."""
    from agentcell.adapters.registry import providers

    names = [name for info in providers() for name in info.variables]
    names.append("AGENTCELL_MEDIA_TOKEN")  # of no model's provider: the hosted media service's
    return known_keys.known(dict.fromkeys(names), slow=True)
