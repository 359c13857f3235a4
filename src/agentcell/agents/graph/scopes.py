"""Options for every template that is made into a node while a `with` block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: type
    options: dict[str, Any]


_DEFAULTS: ContextVar[tuple[_Scope, ...]] = ContextVar("template_defaults", default=())
_OVERRIDES: ContextVar[tuple[_Scope, ...]] = ContextVar("template_overrides", default=())


def template_defaults(**options: Any) -> AbstractContextManager[None]:
    """Give options to templates that say nothing of them; put it around ``graph.build()``.

    Parameters
    ----------
    options
        As for the node's class, for example ``model=...``. An inner block wins.
    """
    return _added(_DEFAULTS, object, options)


def template_defaults_for(kind: type, /, **options: Any) -> AbstractContextManager[None]:
    """Like `template_defaults`, for nodes of one class and of those made from it.

    Parameters
    ----------
    kind
        The class.
    options
        As for that class.
    """
    return _added(_DEFAULTS, kind, options)


def template_overrides(**options: Any) -> AbstractContextManager[None]:
    """Give options to templates, whatever they say themselves; put it around ``graph.build()``.

    Parameters
    ----------
    options
        As for the node's class, for example ``model=...``. An inner block wins.
    """
    return _added(_OVERRIDES, object, options)


def template_overrides_for(kind: type, /, **options: Any) -> AbstractContextManager[None]:
    """Like `template_overrides`, for nodes of one class and of those made from it.

    Parameters
    ----------
    kind
        The class.
    options
        As for that class.
    """
    return _added(_OVERRIDES, kind, options)


def in_force(kind: type, own: dict[str, Any]) -> dict[str, Any]:
    """Return a template's options under the blocks that are open now.

    Parameters
    ----------
    kind
        The node's class.
    own
        What the template says itself.
    """
    return {**_of(_DEFAULTS, kind), **own, **_of(_OVERRIDES, kind)}


@contextmanager
def _added(
    variable: ContextVar[tuple[_Scope, ...]], kind: type, options: dict[str, Any]
) -> Iterator[None]:
    token = variable.set((*variable.get(), _Scope(kind, options)))
    try:
        yield
    finally:
        variable.reset(token)


def _of(variable: ContextVar[tuple[_Scope, ...]], kind: type) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for scope in variable.get():
        if issubclass(kind, scope.kind):
            options |= scope.options
    return options
