"""Conversations → a file that a person named: Markdown, a page of HTML, or a notebook.

What belongs to it (pictures, attachments) goes into a folder beside it, ``NAME_files``; nothing is
written anywhere else, and nothing that is there is replaced unless that is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from agentcell.errors import HistoryError
from agentcell.history import export_html, export_markdown, export_notebook
from agentcell.history.chapters import Chapter, Exported
from agentcell.history.notebook import NotebookHistory
from agentcell.history.records import write_whole

_KINDS: dict[str, Callable[[str, list[Chapter], str], Exported]] = {
    ".md": export_markdown.exported,
    ".markdown": export_markdown.exported,
    ".html": export_html.exported,
    ".htm": export_html.exported,
    ".ipynb": export_notebook.exported,
}

_MOST_NAMED = 8


def export(
    history: NotebookHistory,
    path: str | os.PathLike[str],
    *,
    conversation: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write conversations into a file, and return its path.

    Parameters
    ----------
    history
        The notebook's.
    path
        Its ending says what it becomes: ``.md``, ``.html`` or ``.ipynb``.
    conversation
        The name of one; None: all.
    overwrite
        Whether files that are there may be replaced.

    Raises
    ------
    HistoryError
        If there is nothing to write, the ending says nothing, a file is there, or it cannot be
        written.
    """
    file = Path(path).expanduser()
    kind = _KINDS.get(file.suffix.lower())
    if kind is None:
        raise HistoryError(
            f"'{_shown(file.name)}' does not say what to write.",
            fix="give a name that ends in .md, .html or .ipynb.",
        )
    chapters = _chapters(history, conversation)
    folder = file.with_name(f"{file.stem}_files")
    title = conversation or Path(history.notebook).stem or "Conversation"
    made = kind(title, chapters, folder.name)
    if not file.parent.is_dir():
        raise HistoryError(
            f"There is no folder '{_shown(str(file.parent))}'.",
            fix="make it, or choose another place.",
        )
    _check(file, folder, made.files, overwrite=overwrite)
    try:
        if made.files:
            folder.mkdir(exist_ok=True)
        for name, data in made.files.items():
            write_whole(folder / name, data)
        write_whole(file, made.text.encode("utf-8", "replace"))
    except OSError as error:
        raise HistoryError(
            f"'{_shown(str(file))}' cannot be written: {error.strerror or error}.",
            fix="choose a place that can be written, with room enough.",
        ) from error
    return file


def _chapters(history: NotebookHistory, conversation: str | None) -> list[Chapter]:
    names = history.conversations
    if conversation is not None and conversation not in names:
        known = ", ".join(f"'{_shown(name)}'" for name in names[-_MOST_NAMED:])
        raise HistoryError(
            f"There is no conversation '{_shown(conversation)}' with a turn.",
            fix=f"name one of {known}." if known else "ask something first.",
        )
    if not names:
        raise HistoryError("There is no turn to export.", fix="ask something first.")
    wanted = names if conversation is None else (conversation,)
    away = history.forgotten
    return [Chapter(name=name, turns=tuple(history.turns(name)), forgotten=away) for name in wanted]


def _check(file: Path, folder: Path, names: Iterable[str], *, overwrite: bool) -> None:
    """See that nothing is replaced that should stay, and nothing is written elsewhere."""
    names = list(names)
    if names and folder.is_symlink():
        raise HistoryError(
            f"'{_shown(folder.name)}' leads to another place.",
            fix="take that link away, or choose another name.",
        )
    places = [file, *(folder / name for name in names)]
    if names and folder.exists() and not folder.is_dir():
        raise HistoryError(
            f"'{_shown(folder.name)}', where the pictures go, is a file.",
            fix="choose another name.",
        )
    for place in places:
        name = _shown(place.relative_to(file.parent).as_posix())
        if place.is_dir():
            raise HistoryError(f"'{name}' is a folder.", fix="choose another name.")
        if not overwrite and os.path.lexists(place):
            raise HistoryError(
                f"'{name}' is there already.",
                fix="choose another name, or add --force to replace it.",
            )


def _shown(name: str) -> str:
    from agentcell.safe_text import on_one_line

    return on_one_line(name, 80)
