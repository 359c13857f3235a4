"""A class and options that many nodes have in common → nodes, each with parts of its own.

Scalars, models, skills and tools are shared between the nodes that one template makes; lists,
mappings and everything else (a memory, say) are copied for each.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from typing import Any

from agentcell.agents.graph.scopes import in_force

_SCALARS = (str, bytes, int, float, complex, bool, type(None), Enum, type)
_SHARED_SCOPES = ("shared", "singleton")


class Shared:
    """Marks an option's value as one object for all nodes of a template.

    Parameters
    ----------
    value
        What every node is given.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Shared({type(self.value).__name__})"


class Factory:
    """Makes an option's value anew for each node.

    Parameters
    ----------
    make
        Called without arguments, once for each node.

    Raises
    ------
    TypeError
        If `make` cannot be called.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        if not callable(make):
            raise TypeError(f"Factory was given {type(make).__name__}; a function was expected.")
        self.make = make

    def __repr__(self) -> str:
        return f"Factory({getattr(self.make, '__name__', type(self.make).__name__)})"


class NodeTemplate:
    """What several nodes have in common; a graph makes nodes of it, under names.

    Parameters
    ----------
    kind
        The node's class, for example `Agent`.
    positional
        None is taken: the error says how to write it.
    options
        For that class; not `name`, which each node has of its own.

    Raises
    ------
    TypeError
        If `kind` is no class, or a name or a positional argument is given.

    Examples
    --------
    >>> from agentcell import Agent, LocalModel
    >>> base = NodeTemplate(Agent, model=LocalModel())
    >>> base() is base
    True
    >>> strict = base(instructions="Answer in one word.")
    >>> sorted(strict.options)
    ['instructions', 'model']
    """

    def __init__(self, kind: type, /, *positional: Any, **options: Any) -> None:
        if not isinstance(kind, type):
            raise TypeError(
                f"NodeTemplate was given {type(kind).__name__}; a class such as Agent was expected."
            )
        _refuse(positional, options)
        self.kind = kind
        self.options = options

    def __call__(self, *positional: Any, **options: Any) -> NodeTemplate:
        """Return a template with further options; without any, this one."""
        _refuse(positional, options)
        return NodeTemplate(self.kind, **{**self.options, **options}) if options else self

    def __repr__(self) -> str:
        return f"NodeTemplate({', '.join([self.kind.__name__, *self.options])})"

    def make(self, name: str) -> Any:
        """Return a node with parts of its own.

        Parameters
        ----------
        name
            The node's.

        Raises
        ------
        TypeError
            If an option's value cannot be copied.
        """
        options = in_force(self.kind, self.options)
        return self.kind(name=name, **{key: _own(value, key) for key, value in options.items()})


def _refuse(positional: tuple[Any, ...], options: dict[str, Any]) -> None:
    if positional:
        raise TypeError("A NodeTemplate takes options by name: NodeTemplate(Agent, model=...).")
    if "name" in options:
        raise TypeError("A NodeTemplate takes no name: the graph names each node it makes.")


def _own(value: Any, option: str) -> Any:
    """Return an option's value for one node."""
    try:
        return _copied(value)
    except Exception as error:
        raise TypeError(
            f"The option {option!r} holds {type(value).__name__}, which cannot be copied for each"
            f" node ({type(error).__name__}). Wrap it: Shared(value) gives all nodes the same one,"
            " Factory(function) makes one for each."
        ) from error


def _copied(value: Any) -> Any:
    if isinstance(value, Shared):
        return value.value
    if isinstance(value, Factory):
        return value.make()
    scope = getattr(value, "__node_template_scope__", None)
    if isinstance(value, _SCALARS) or scope in _SHARED_SCOPES:
        return value
    if type(value) is dict:
        return {key: _copied(one) for key, one in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_copied(one) for one in value)
    return copy.deepcopy(value)
