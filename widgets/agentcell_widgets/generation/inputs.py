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


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A picture that was taken out, or its mask alone.

    Parameters
    ----------
    reference
        The picture.
    place
        Its number in the order, from 0.
    mask
        What was painted on it; None: nothing.
    """

    reference: Reference
    place: int
    mask: ImageAsset | None


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
                raise _too_many()
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

    def remove(self, name: str) -> Away:
        """Start without that picture; a mask on it goes too.

        Raises
        ------
        PanelError
            If there is none.
        """
        found = self.get(name)
        with self._lock:
            place = list(self._references).index(name) if name in self._references else 0
            self._references.pop(name, None)
            mask = self._mask[1] if self._mask is not None and self._mask[0] == name else None
            if mask is not None:
                self._mask = None
        return Away(reference=found, place=place, mask=mask)

    def bring_back(self, away: Away) -> None:
        """Undo `remove` or `unmask`.

        Parameters
        ----------
        away
            What it gave.

        Raises
        ------
        PanelError
            If there are too many pictures by now.
        """
        with self._lock:
            name = away.reference.id
            if name not in self._references:
                if len(self._references) >= MOST:
                    raise _too_many()
                others = list(self._references.items())
                others.insert(away.place, (name, away.reference))
                self._references = dict(others)
            if away.mask is not None:
                self._mask = (name, away.mask)

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

    def unmask(self) -> Away | None:
        """Let everything change, and return what `bring_back` takes; None if all did already."""
        with self._lock:
            was, self._mask = self._mask, None
            found = self._references.get(was[0]) if was else None
            if was is None or found is None:
                return None
            place = list(self._references).index(found.id)
            return Away(reference=found, place=place, mask=was[1])


def _too_many() -> PanelError:
    return PanelError(
        f"There are {MOST} pictures to start from; no more are taken.", fix="remove one."
    )
