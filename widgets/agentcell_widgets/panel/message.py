"""What a browser sent -> a message whose every part is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from agentcell.errors import PanelError
from agentcell.safe_text import plain, unsendable

LONGEST_TEXT = 2_000_000
"""Characters of a text, where its reader names no other limit."""

_LONGEST_NAME = 64
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the page. It comes from outside: `text`, `number` and the others check it.

    Parameters
    ----------
    kind
        What is wanted; 1 to 64 characters.
    id
        What the answer is called; empty if none is waited for.
    payload
        By names; nothing of it is checked yet.
    buffers
        Bytes that came along.
    """

    kind: str
    id: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict, repr=False)
    buffers: tuple[memoryview, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, content: object, buffers: object = ()) -> Self | None:
        """Return what was sent as a message; None if it is none.

        Parameters
        ----------
        content, buffers
            As the widget's comm gave them.
        """
        if not isinstance(content, dict):
            return None
        kind, name, payload = content.get("kind"), content.get("id", ""), content.get("payload", {})
        if not (isinstance(kind, str) and 0 < len(kind) <= _LONGEST_NAME):
            return None
        if not (isinstance(name, str) and len(name) <= _LONGEST_NAME):
            return None
        if not isinstance(payload, dict):
            return None
        given = buffers if isinstance(buffers, (list, tuple)) else ()
        bytes_ = tuple(memoryview(one).cast("B") for one in given if _is_bytes(one))
        return cls(kind=kind, id=name, payload=payload, buffers=bytes_)

    def text(self, name: str, *, longest: int = LONGEST_TEXT, default: str | None = None) -> str:
        """Return a text.

        Parameters
        ----------
        name
            Of the part of the payload.
        longest
            Characters that it may have.
        default
            What stands for one that is missing; None: it must be there.

        Raises
        ------
        PanelError
            If it is missing, no text, too long, or holds what cannot be sent or saved.
        """
        value = self.payload.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        if len(value) > longest:
            raise PanelError(
                f"{name!r} is a text of {len(value):,} characters; at most {longest:,} are taken.",
                fix="make it shorter, or attach it as a file.",
            )
        if fault := unsendable(value):
            raise PanelError(f"{name!r} holds {fault}.", fix="delete it, or type the text anew.")
        return value

    def texts(self, name: str, *, most: int, longest: int = 1_000) -> tuple[str, ...]:
        """Return a list of texts.

        Parameters
        ----------
        name, longest
            As for `text`, of each.
        most
            How many there may be.

        Raises
        ------
        PanelError
            If it is no such list.
        """
        value = self.payload.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self._wrong(name, f"a list of at most {most:,} texts")
        each = [Message(kind=self.kind, payload={name: one}) for one in value]
        return tuple(one.text(name, longest=longest) for one in each)

    def number(self, name: str, *, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number.

        Parameters
        ----------
        name, default
            As for `text`.
        least, most
            Its bounds.

        Raises
        ------
        PanelError
            If it is missing, none, or out of bounds.
        """
        value = self.payload.get(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JavaScript has one kind of number
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not (is_number and least <= value <= most):
            raise self._wrong(name, f"a whole number from {least:,} to {most:,}")
        return int(value)

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """Return True or False.

        Parameters
        ----------
        name, default
            As for `text`.

        Raises
        ------
        PanelError
            If it is neither.
        """
        value = self.payload.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def choice(self, name: str, choices: Sequence[str], *, default: str | None = None) -> str:
        """Return one of several words.

        Parameters
        ----------
        name, default
            As for `text`.
        choices
            Those there are.

        Raises
        ------
        PanelError
            If it is none of them.
        """
        value = self.payload.get(name, default)
        if not (isinstance(value, str) and value in choices):
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return value

    def _wrong(self, name: str, expected: str) -> PanelError:
        given = "nothing" if name not in self.payload else plain(repr(self.payload[name])[:_SHOWN])
        return PanelError(
            f"The panel was told {self.kind!r} with {given} as {name!r}; {expected} was expected.",
            fix="reload the page, and use the panel again.",
        )


def _is_bytes(value: object) -> bool:
    if isinstance(value, memoryview):
        return value.c_contiguous
    return isinstance(value, (bytes, bytearray))
