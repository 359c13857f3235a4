"""A path, and who asks for it → the file that may be read, or why it may not.

One rule for every door: `%view_image`, the tools `view_image` and `image_generation`, pictures to
edit, ``[IMAGE:…]`` and prompt files. A person may read what they can read; a path that a model
chose must lead, links followed,

- into an approved folder (the notebook's own, and those of `AccessPolicy.allow_root`),
- to a file that was made in this session, or
- to one that a person named: typed in a cell's text or option, letter for letter.

A path that a model only read (in a file, on a web page, in a tool's result or in its own answer)
is none of these, unless code of the person's own calls `AccessPolicy.trust`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, cast

from agentcell.assets.approved import is_approved
from agentcell.assets.asked_path import (
    canonical_path,
    checked_path,
    expanded_path,
    is_absolute,
    shown_path,
)
from agentcell.assets.asset import Asset, ImageAsset, MediaAsset
from agentcell.assets.intake import check_file, local_path
from agentcell.assets.typed_texts import TypedTexts
from agentcell.assets.wording import short
from agentcell.errors import AttachmentError

Asker: TypeAlias = Literal["model", "person"]


class AccessPolicy:
    """Which local files a model may ask for, in one session. May be used from several threads.

    What is guaranteed: `resolve` returns a path without links; `image` opens that path with no
    link followed on the way, so that nothing can be put in its place between check and reading.
    Who opens a resolved path in another way has no such guarantee. A hard link is the file itself.
    A folder that a person approved or a path that they named stands for whatever lies there when
    it is asked for.

    Parameters
    ----------
    root
        The notebook's folder: approved, there yet or not, and what relative paths of a model
        begin at. None: the current folder.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self._roots: list[Path] = []
        try:
            self._root = canonical_path(Path.cwd() if root is None else local_path(root))
            self._roots.append(self._root)
        except FileNotFoundError:  # the current folder was removed: nothing is approved
            self._root = Path.home()
        self._named: set[Path] = set()
        self._made: set[Path] = set()
        self._typed = TypedTexts()

    def __repr__(self) -> str:
        return f"AccessPolicy({short(str(self._root))!r}, {len(self._roots)} approved)"

    @property
    def root(self) -> Path:
        """The notebook's folder."""
        return self._root

    @property
    def roots(self) -> tuple[Path, ...]:
        """All approved folders."""
        return tuple(self._roots)

    # -- what becomes allowed

    def allow_root(self, folder: str | os.PathLike[str]) -> Path:
        """Let a model see the images in `folder`, and make files there; return it, resolved.

        Parameters
        ----------
        folder
            There, with all below it.

        Raises
        ------
        AttachmentError
            If it is no folder.
        """
        root = _folder(folder)
        if root not in self._roots:
            self._roots.append(root)
        return root

    def typed(self, text: str) -> None:
        """Let a model see every file that `text` names.

        Parameters
        ----------
        text
            As a person typed it: never an answer, a tool's result or an attachment's text, and no
            question into which values were put already.
        """
        self._typed.add(text)

    def name(self, path: str | os.PathLike[str]) -> None:
        """Let a model see the file at `path`: a person named it.

        Parameters
        ----------
        path
            One file's; a relative one begins at the current folder.
        """
        self._named.add(local_path(path).resolve())

    def made(self, path: str | os.PathLike[str]) -> None:
        """Let a model see the file at `path`: it was made in this session.

        Parameters
        ----------
        path
            As for `name`.
        """
        self._made.add(local_path(path).resolve())

    def trust(self, path: str | os.PathLike[str]) -> None:
        """Let a model see the file at `path`: a tool that the person trusts returned it.

        Parameters
        ----------
        path
            As for `name`. No tool's result is trusted unless this is called with it.
        """
        self.name(path)

    # -- what is asked for

    def resolve(self, path: str | os.PathLike[str], *, asked_by: Asker) -> Path:
        """Return the file that `path` leads to, absolute and without links.

        Parameters
        ----------
        path
            A person's relative path begins at the current folder, a model's at `root`.
        asked_by
            ``model`` for whatever a model chose; ``person`` for what a person typed in a cell or
            wrote in code.

        Raises
        ------
        AttachmentError
            If it may not be read, is no regular file, or there is none. What lies outside is
            refused without saying whether it is there.
        """
        if asked_by == "person":
            found = canonical_path(local_path(path))
            check_file(found, shown_path(path))
            return found
        found = self._allowed(path)
        try:
            check_file(found, shown_path(path))
        except AttachmentError as error:
            if os.path.lexists(found):
                raise
            # A model is told no folder of this machine: what it is told may be recorded.
            raise AttachmentError(f"There is no file {shown_path(path)}.", fix=error.fix) from None
        return found

    def image(self, path: str | os.PathLike[str], *, asked_by: Asker) -> ImageAsset:
        """Return the image that `path` leads to, read once.

        Parameters
        ----------
        path, asked_by
            As for `resolve`.

        Raises
        ------
        AttachmentError
            As there; or if it is no image, damaged, or too large.
        """
        found = self.resolve(path, asked_by=asked_by)
        return ImageAsset.from_path(found, filename=Path(path).name, follow_links=False)

    def media(self, path: str | os.PathLike[str], *, asked_by: Asker) -> Asset:
        """Return the image or the PDF that `path` leads to, read once.

        Parameters
        ----------
        path, asked_by
            As for `image`; so are the errors.
        """
        found = self.resolve(path, asked_by=asked_by)
        media = MediaAsset.from_path(found, filename=Path(path).name, follow_links=False)
        return cast("Asset", media)

    def resolve_output(self, path: str | os.PathLike[str], *, asked_by: Asker) -> Path:
        """Return where a new file may be written, absolute and without links.

        Parameters
        ----------
        path
            A relative one begins at `root`, whoever gave it. Its folder need not be there yet.
        asked_by
            A model may write into approved folders alone, and into no hidden one.

        Raises
        ------
        AttachmentError
            If nothing may be written there, or a folder or a device is there. Whether a file may
            be replaced is for the caller to decide.
        """
        if asked_by == "model":
            found = self._allowed(path)
            inside = [found.relative_to(root) for root in self.roots if found.is_relative_to(root)]
            if any(part.startswith(".") for one in inside for part in one.parts):
                raise AttachmentError(
                    f"{shown_path(path)} would be hidden.", fix="give a path without a leading dot."
                )
        else:
            own = local_path(path)
            found = canonical_path(own if is_absolute(path) else self._root / path)
        if os.path.lexists(found):
            check_file(found, shown_path(path))
        if (self._root / expanded_path(os.fspath(path))).is_symlink():
            raise AttachmentError(
                f"{shown_path(path)} is a link, and no file is made through one.",
                fix="choose another name, or name the file that it leads to.",
            )
        return found

    # -- the rule

    def _allowed(self, path: str | os.PathLike[str]) -> Path:
        """Return where a model's `path` leads, if it is approved, made or named."""
        text = checked_path(path)
        if ".." in re.split(r"[/\\]", text) and not self._typed.hold([text]):
            raise AttachmentError(
                f"{shown_path(path)} climbs out of a folder with '..'.",
                fix="give the path from the notebook's folder on.",
            )
        for place in self._places(text):
            found = canonical_path(place)
            if is_approved(found, self.roots) or found in self._made or found in self._named:
                return found
            if self._typed.hold(self._spellings(text, place)):
                return found
        raise AttachmentError(
            f"{shown_path(path)} may not be used by a model: it leads to no approved folder, was"
            " not made in this session, and no person named it.",
            fix="the person can write the path in the cell, or approve its folder:"
            " %agent images allow FOLDER.",
        )

    def _places(self, text: str) -> Iterator[Path]:
        """Yield where `text` may lead: from the notebook's folder, and where it was typed."""
        path = expanded_path(text)
        first = self._root / path
        if not path.is_absolute() and not os.path.lexists(first):
            typed = (folder / path for folder in self._typed.folders(text))
            yield from (place for place in typed if os.path.lexists(place))
        yield first

    def _spellings(self, text: str, place: Path) -> Iterator[str]:
        """Yield the ways in which a person may have typed what `text` says."""
        yield text
        whole = os.path.abspath(place)  # noqa: PTH100 (links stay as they were typed)
        yield whole
        home = str(Path.home())
        if whole.startswith(home + os.sep):
            yield "~" + whole[len(home) :]


def _folder(folder: str | os.PathLike[str]) -> Path:
    found = canonical_path(local_path(folder))
    if not found.is_dir():
        raise AttachmentError(
            f"{shown_path(folder)} is no folder.", fix="give the path of a folder that is there."
        )
    return found
