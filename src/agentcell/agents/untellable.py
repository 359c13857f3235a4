"""A type that cannot be told to a model → what is wrong with it and what to do, in words."""

from __future__ import annotations

import inspect
import re
import typing

_TELLABLE = "text, numbers, lists, dataclasses or pydantic models"

_CLASS = re.compile(r"<class '([^']{1,160})'>")
"""A class in one of pydantic's messages."""

_LONGEST = 160
"""Characters of a foreign error's text that are told."""


def untellable(error: Exception, given: object) -> tuple[str, str]:
    """Return what is wrong with a type, and how to mend it.

    Parameters
    ----------
    error
        What pydantic raised.
    given
        The type.

    Returns
    -------
    tuple
        A part of a sentence without its full stop, and a sentence in the imperative.
    """
    name = getattr(error, "name", None)
    if isinstance(error, NameError) and isinstance(name, str):
        return f"it names {name!r}, which is not defined", f"define {name} before it is used."
    first = _first_line(error)
    if "typing.TypedDict" in first:
        return (
            "Python before 3.12 has another TypedDict than the one that is needed inside of types",
            "write `from typing_extensions import TypedDict`.",
        )
    found = _CLASS.search(first)
    if found is None:
        return first.rstrip("."), f"give its fields types of {_TELLABLE}."
    if inspect.isclass(given) and found[1] == f"{given.__module__}.{given.__qualname__}":
        return (
            "it is a plain class, which does not tell its fields",
            "write @dataclass above it, or make it a pydantic.BaseModel.",
        )
    return f"it has a field of type {found[1]}", f"give its fields types of {_TELLABLE}."


def told(error: BaseException) -> str:
    """Return an error's kind and text, on one line, also where its text cannot be made."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 (its own `__str__` is the person's)
        return kind
    return f"{kind}: {text}" if text else kind


def named_in(hint: object) -> str:
    """Return a type as a person wrote it."""
    if inspect.isclass(hint) and not typing.get_args(hint):
        return str(hint.__qualname__)
    return str(hint).replace("typing.", "")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_LONGEST]
