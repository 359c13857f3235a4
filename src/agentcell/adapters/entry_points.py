"""What other packages name as their models, to models; what is wrong with one is said of it alone.

A package names a class, or a function, in the group `GROUP`: ``mine = "my_package:MyModel"``. It
is imported when a model of it is asked for, and called as ``MyModel(model_name)``. An ``api_key``
without a default is given what the variable ``MINE_API_KEY`` holds, or None.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters.failures import one_line, redacted
from agentcell.adapters.model import Model
from agentcell.errors import AgentcellError, ModelError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "agentcell.adapters"
"""The group of entry points: ``provider = "package.module:Class"``."""


_UNNAMED = "a package without a name"


@dataclass(frozen=True, slots=True)
class Named:
    """One name that a package gives to its models.

    Parameters
    ----------
    name
        The provider's.
    value
        ``"package.module:Class"``, as the package wrote it.
    package
        The package's name.
    """

    name: str
    value: str
    package: str


def installed() -> Iterator[Named]:
    """Yield what all installed packages name. None of them is imported."""
    from importlib.metadata import distributions, entry_points

    try:
        points = list(entry_points(group=GROUP))
    except Exception:  # noqa: BLE001 (one package's unreadable list must not hide the others)
        points = [point for found in distributions() for point in _points_of(found)]
    for point in points:
        yield Named(point.name, point.value, _package_of(point))


def _points_of(distribution: Distribution) -> list[EntryPoint]:
    try:
        return [point for point in distribution.entry_points if point.group == GROUP]
    except Exception:  # noqa: BLE001 (it cannot be read: then it names nothing)
        return []


def _package_of(point: EntryPoint) -> str:
    try:
        return (point.dist and point.dist.name) or _UNNAMED
    except Exception:  # noqa: BLE001 (its metadata may be missing or damaged)
        return _UNNAMED


def model_of(named: Named, model_name: str, arguments: Mapping[str, Any]) -> Model:
    """Return a model that another package makes.

    Parameters
    ----------
    named
        By the package.
    model_name
        The model's name, without the provider's.
    arguments
        More, for its constructor.

    Raises
    ------
    ModelError
        If that goes wrong, in whatever way; it names the package.
    """
    factory = _factory(named, model_name)
    arguments = {**_key(factory, named), **arguments}
    try:
        inspect.signature(factory).bind(model_name, **arguments)
    except TypeError as error:
        raise _failed(
            named,
            model_name,
            f"{_called(factory)}(model_name) cannot be called: {error}",
            fix="its other arguments need defaults; or make the model in Python and use that.",
        ) from error
    except ValueError:  # one written in C may not say what it takes
        pass
    try:
        model = factory(model_name, **arguments)
    except AgentcellError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(named, model_name, _said(error)) from error
    return checked(model, named.name, named.package, model_name)


def checked(made: object, provider: str, source: str, model_name: str) -> Model:
    """Return what a provider made, if it is a model; it bears the provider's name.

    Parameters
    ----------
    made
        Anything. A model whose class says no provider gets this one's, so that the name that
        turns and answers tell can be asked for again.
    provider, source
        Its name, and who brought it.
    model_name
        What it was asked for.

    Raises
    ------
    ModelError
        If it is no model.
    """
    if not isinstance(made, Model):
        raise ModelError(
            f"The provider {provider!r} made a {type(made).__name__}; a Model was expected.",
            fix=f"let it return a subclass of agentcell.Model (it comes from {source}).",
            provider=provider,
            model=model_name,
        )
    if made.provider == Model.provider:
        with contextlib.suppress(AttributeError):  # a frozen one keeps the general name
            made.provider = provider  # type: ignore[misc]  # for this object alone
    return made


def _factory(named: Named, model_name: str) -> Callable[..., Any]:
    from importlib.metadata import EntryPoint

    point = EntryPoint(named.name, named.value, GROUP)
    if point.pattern.match(named.value) is None or not point.attr:
        raise _failed(
            named,
            model_name,
            f"its entry point is {one_line(named.value, 80)!r}, and 'module:Class' was expected",
        )
    try:
        factory = point.load()
    except (Exception, SystemExit) as error:
        raise _failed(named, model_name, _said(error)) from error
    if not callable(factory):
        raise _failed(named, model_name, f"{named.value} is a {type(factory).__name__}, no class")
    return factory  # type: ignore[no-any-return]  # callable, that is all that is known


def _key(factory: Callable[..., Any], named: Named) -> dict[str, Any]:
    """Return the key for a factory that cannot be called without one."""
    try:
        parameter = inspect.signature(factory).parameters.get("api_key")
    except (TypeError, ValueError):
        return {}
    if parameter is None or parameter.default is not parameter.empty:
        return {}
    variable = f"{re.sub(r'[^A-Z0-9]', '_', named.name.upper())}_API_KEY"
    return {"api_key": os.environ.get(variable, "").strip() or None}


def _failed(named: Named, model_name: str, reason: str, fix: str = "") -> ModelError:
    known = named.package != _UNNAMED
    usual = f"run `pip install --upgrade {named.package}`, or tell its makers."
    return ModelError(
        f"The provider {named.name!r} of the package {named.package} cannot be used: {reason}.",
        fix=fix or (usual if known else "tell its makers."),
        provider=named.name,
        model=model_name,
    )


def _called(factory: object) -> str:
    return getattr(factory, "__name__", type(factory).__name__)


def _said(error: BaseException) -> str:
    return one_line(redacted(f"{type(error).__name__}: {error}"), 300).rstrip(".")
