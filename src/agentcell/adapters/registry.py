"""A model's name, as people write it, to the model. Nothing is looked up on the network.

``provider/model``, ``provider:model``, an alias, a provider alone (its default model), or the
id of a well-known model. Ids are sent as they are: only the service knows which exist.
"""

from __future__ import annotations

import difflib
import os
import re
import threading
from importlib import import_module
from typing import Any

from agentcell.adapters import entry_points
from agentcell.adapters.entry_points import Named
from agentcell.adapters.known_providers import BUILT_IN, Factory, ProviderInfo
from agentcell.adapters.model import Model
from agentcell.errors import UnknownModel

MODEL_VARIABLE = "AGENTCELL_MODEL"
"""The model to use where none is named."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.IGNORECASE)

_lock = threading.RLock()
_providers: dict[str, ProviderInfo] = {info.name: info for info in BUILT_IN}
_aliases: dict[str, str] = {}
_misnamed: dict[str, str] = {}
"""Names that nobody can write, and the packages that gave them."""
_entry_points_read = False


def resolve(name: str | None = None, **constructor_arguments: Any) -> Model:
    """Return the model that `name` stands for.

    Parameters
    ----------
    name
        None: what ``AGENTCELL_MODEL`` says, else the first provider whose key is at hand (see
        `agentcell.keys.is_at_hand`), else ``local``.
    constructor_arguments
        Given to the model's constructor.

    Raises
    ------
    UnknownModel
        If it names no provider, alias or well-known model.
    ModelError
        If another package's provider cannot make one.
    """
    info, model_name = locate(default_name() if name is None else name)
    if info.is_foreign:
        named = Named(info.name, str(info.factory), info.source)
        return entry_points.model_of(named, model_name, constructor_arguments)
    factory = info.factory
    if isinstance(factory, str):
        module, _, attribute = factory.partition(":")
        factory = getattr(import_module(module), attribute)
    model = factory(model_name, **constructor_arguments)
    return entry_points.checked(model, info.name, info.source, model_name)


def locate(name: str) -> tuple[ProviderInfo, str]:
    """Return the provider that `name` means, and the model's id there."""
    text = name.strip() if isinstance(name, str) else ""
    if not text:
        raise UnknownModel(
            f"{name!r} is no model's name.", fix="write provider/model, for example local."
        )
    with _lock:
        known = dict(_providers)
    found = _locate(text, known)
    # Other packages' providers cost a look at all that is installed: only where need be.
    found = found or _locate(text, known := _known())
    if found is None:
        raise _unknown(text, known)
    return found


def _locate(text: str, known: dict[str, ProviderInfo]) -> tuple[ProviderInfo, str] | None:
    text = _without_aliases(text, known)
    head, separator, rest = _split(text)
    if (info := known.get(head.lower())) is not None:
        model_name = rest.strip() if separator else info.default_model
        if not model_name:
            raise UnknownModel(
                f"{text!r} names no model; {info.name} has no default.",
                fix=f"write {info.name}/MODEL.",
                provider=info.name,
            )
        return info, model_name
    if not separator:  # with one, the head is perhaps another package's provider
        for info in known.values():
            if info.prefixes and text.lower().startswith(info.prefixes):
                return info, text
    return None


def _without_aliases(name: str, known: dict[str, ProviderInfo]) -> str:
    """Return what `name` stands for, as far as aliases lead."""
    text = name
    seen: set[str] = set()
    while True:
        target = _aliases.get(text.lower())
        if target is None:
            head, separator, rest = _split(text)
            # An alias of a provider, as in "gpt/gpt-4.1" after alias("gpt", "openai").
            target = _aliases.get(head.lower()) if separator and head.lower() not in known else None
            if target is None:
                return text
            target = f"{target}{separator}{rest}"
        if text.lower() in seen:
            raise UnknownModel(
                f"The alias {name!r} leads back to itself.", fix="give the alias another target."
            )
        seen.add(text.lower())
        text = target


def default_name() -> str:
    """Return the name of the model to use where none is named."""
    if chosen := os.environ.get(MODEL_VARIABLE, "").strip():
        return chosen
    with _lock:  # a package's entry point names no key, so it need not be looked for here
        keyed = [info for info in _providers.values() if info.has_key and info.default_model]
    return keyed[0].name if keyed else "local"


def register(
    provider: str,
    factory: Factory | str,
    *,
    default_model: str | None = None,
    key_variable: str | None = None,
) -> None:
    """Make `provider` known in this process, over one of the same name.

    Parameters
    ----------
    factory
        A `Model` subclass or a function, called as ``factory(model_name, **arguments)``; or
        ``"package.module:name"`` of one.
    """
    if not isinstance(provider, str) or not _NAME.fullmatch(provider):
        raise ValueError(f"{provider!r} is no provider's name: letters, digits, '-', '_' and '.'")
    if not callable(factory) and not (isinstance(factory, str) and ":" in factory):
        raise TypeError(
            f"the factory is {factory!r}; a class, a function or 'module:name' expected"
        )
    _known()  # what other packages bring comes first, so that this one is not overwritten later
    with _lock:
        _providers[provider.lower()] = ProviderInfo(
            name=provider.lower(),
            factory=factory,
            default_model=default_model,
            key_variable=key_variable,
            source="registered",
        )


def alias(short: str, target: str) -> None:
    """Let `short` stand for `target`: a model's name, or a provider's."""
    if not isinstance(short, str) or not short.strip():
        raise ValueError(f"{short!r} is no alias; a name was expected")
    if short.strip().lower() in _known():
        raise ValueError(f"{short!r} is a provider's name already")
    if not isinstance(target, str) or not target.strip():
        raise ValueError(f"{target!r} is no model's name")
    with _lock:
        _aliases[short.strip().lower()] = target.strip()


def providers() -> list[ProviderInfo]:
    """Return all known providers, in the order in which they became known."""
    return list(_known().values())


def models() -> list[str]:
    """Return known models' names and aliases, for completion. No network."""
    names: list[str] = []
    for info in _known().values():
        ids = info.known_models or ((info.default_model,) if info.default_model else ())
        names += [f"{info.name}/{model}" for model in ids] or [f"{info.name}/"]
    return [*names, *_aliases]


def _known() -> dict[str, ProviderInfo]:
    """Return the providers, those of other packages included: looked for once."""
    global _entry_points_read  # noqa: PLW0603 (a registry is one for the process)
    with _lock:
        if not _entry_points_read:
            _entry_points_read = True
            for named in entry_points.installed():
                _add(named)
        return dict(_providers)


def _add(named: Named) -> None:
    """Make a name of another package's known, if it is one and nobody has it."""
    name = named.name.lower()
    if not _NAME.fullmatch(name):
        _misnamed[name] = named.package
    elif name not in _providers:
        _providers[name] = ProviderInfo(name=name, factory=named.value, source=named.package)


def _split(text: str) -> tuple[str, str, str]:
    """Return `text` at its first slash or colon."""
    match = re.search(r"[/:]", text)
    if match is None:
        return text, "", ""
    return text[: match.start()].strip(), match.group(), text[match.end() :]


_LONGEST = 80
"""Characters of a name that an error repeats."""


def _unknown(text: str, known: dict[str, ProviderInfo]) -> UnknownModel:
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    head, separator, rest = _split(text)
    near = difflib.get_close_matches(head.lower(), [*known, *_aliases], 2, 0.6)
    near = [f"{name}{separator}{rest}" for name in near]
    if not near:
        infos = reversed(known.values())  # of two providers with one id, the first stays
        named = {name: f"{info.name}/{name}" for info in infos for name in info.known_models}
        found = difflib.get_close_matches(text.lower(), [*models(), *named], 2, 0.6)
        near = [named.get(name, name) for name in found]
    what = (
        f"No provider or alias is called {head!r}" if separator else f"No model is called {text!r}"
    )
    wrong = [name for name in _misnamed if text.lower().startswith(name)]
    if wrong:
        fix = (
            f"the package {_misnamed[wrong[0]]} calls a provider {wrong[0]!r}, which is no name:"
            " letters, digits, '-', '_' and '.'; tell its makers."
        )
    elif near:
        fix = f"did you mean {' or '.join(near)}?"
    else:
        fix = f"write provider/model; the providers are {', '.join(known)}."
    return UnknownModel(f"{what}.", fix=fix, provider=head if separator else "", model=text)
