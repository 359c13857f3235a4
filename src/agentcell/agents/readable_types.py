"""A type with a `typing.TypedDict` in it → the same, as pydantic reads it before Python 3.12."""

from __future__ import annotations

import functools
import operator
import sys
import types
import typing
from typing import Annotated, Any


def readable(given: Any) -> Any:
    """Return a type as pydantic reads it: before Python 3.12 it refuses `typing.TypedDict`.

    One that holds itself stays as it is, and so do the fields of dataclasses and models.
    """
    return given if sys.version_info >= (3, 12) else _made(given, ())


def _made(given: Any, around: tuple[Any, ...]) -> Any:
    if typing.is_typeddict(given):
        return given if given in around else _typed_dict(given, (*around, given))
    origin, inner = typing.get_origin(given), typing.get_args(given)
    if origin is Annotated:
        return Annotated[(_made(inner[0], around), *given.__metadata__)]
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, (_made(one, around) for one in inner))
    if isinstance(origin, type) and inner:
        return types.GenericAlias(origin, tuple(_made(one, around) for one in inner))
    return given


def _typed_dict(given: Any, around: tuple[Any, ...]) -> Any:
    import typing_extensions

    made: Any = typing_extensions.TypedDict
    if type(given) is type(made("_", {})):
        return given
    needed: frozenset[str] = given.__required_keys__
    optional: Any = typing_extensions.NotRequired
    fields: dict[str, Any] = {}
    marks = (typing.Required, typing.NotRequired)
    for name, marked in typing.get_type_hints(given, include_extras=True).items():
        hint = typing.get_args(marked)[0] if typing.get_origin(marked) in marks else marked
        inner = _made(hint, around)
        fields[name] = inner if name in needed else optional[inner]
    return made(given.__name__, fields)
