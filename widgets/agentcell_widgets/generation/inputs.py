"""Pictures that a wish starts from, and the mask painted on the first of them."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

from agentcell.assets.asset import ImageAsset
from agentcell.errors import PanelError

MOST = 16
"""Pictures that one wish may start from: what OpenAI's edits take, the most of all services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One picture to start from.

    Parameters
    ----------
    id
        What the page calls it.
    asset
        The picture.
    name
        What people call it.
    parent
        The digest of a picture that was made here; else empty.
    """

    id: str
    asset: ImageAsset
    name: str
    parent: str = ""

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height."""
        return (self.asset.width or 0, self.asset.height or 0)


class Inputs:
    """The pictures of the next wish, in order. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._references: dict[str, Reference] = {}
        self._mask: tuple[str, ImageAsset] | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        """In the order in which they came."""
        with self._lock:
            return tuple(self._references.values())

    @property
    def mask(self) -> ImageAsset | None:
        """What may change in the first of them: where it is transparent."""
        with self._lock:
            first = next(iter(self._references), "")
            return self._mask[1] if self._mask and self._mask[0] == first else None

    def add(self, asset: ImageAsset, name: str, parent: str = "") -> Reference:
        """Start from one more picture.

        Parameters
        ----------
        asset, name, parent
            See `Reference`.

        Raises
        ------
        PanelError
            If there are too many.
        """
        with self._lock:
            if len(self._references) >= MOST:
                raise PanelError(
                    f"There are {MOST} pictures to start from; no more are taken.",
                    fix="remove one.",
                )
            made = Reference(id=f"ref-{next(self._numbers)}", asset=asset, name=name, parent=parent)
            self._references[made.id] = made
        return made

    def get(self, name: str) -> Reference:
        """Return the picture that the page calls so.

        Raises
        ------
        PanelError
            If there is none.
        """
        with self._lock:
            found = self._references.get(name)
        if found is None:
            raise PanelError("There is no such picture to start from.", fix="add it again.")
        return found

    def remove(self, name: str) -> Reference:
        """Start without that picture; a mask on it goes too.

        Raises
        ------
        PanelError
            If there is none.
        """
        found = self.get(name)
        with self._lock:
            self._references.pop(name, None)
            if self._mask is not None and self._mask[0] == name:
                self._mask = None
        return found

    def paint(self, name: str, mask: ImageAsset) -> Reference:
        """Let `mask` say what may change in a picture.

        Raises
        ------
        PanelError
            If it is not the first picture, or not of its size.
        """
        found = self.get(name)
        if self.references[0].id != name:
            raise PanelError(
                f"A mask is for the first picture, and {found.name} is not.",
                fix=f"remove those before {found.name}.",
            )
        width, height = found.pixels
        if (mask.width, mask.height) != (width, height):
            raise PanelError(
                f"The mask is {mask.width} × {mask.height} pixels; the {width} × {height} of"
                f" {found.name} were expected.",
                fix="paint it again.",
            )
        with self._lock:
            self._mask = (name, mask)
        return found

    def unmask(self) -> None:
        """Let everything change."""
        with self._lock:
            self._mask = None
