"""`%agent key …`: where each provider's key comes from; keeping one, and forgetting it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython

from agentcell import keys
from agentcell.adapters.known_providers import ProviderInfo
from agentcell.adapters.registry import providers
from agentcell.errors import CellError
from agentcell.imaging.hosted.service import NAME, TOKEN_VARIABLE, URL_VARIABLE
from agentcell_magics import cards
from agentcell_magics.key_prompt import can_ask, typed
from agentcell_magics.live import show
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from agentcell.session import Session

_FORGET = "--forget"

_MEDIA = ProviderInfo(name=NAME, factory="", key_variable=TOKEN_VARIABLE)
"""The hosted media service: no model answers there, and its token is kept like a key."""


def key_command(_: Session, arguments: list[str]) -> None:
    """Do what `%agent key` was told. What was typed is not repeated: it may be a key.

    Raises
    ------
    CellError
        If there is no such provider, or nobody can type a key here.
    """
    forgets = _FORGET in arguments
    names = [word for word in arguments if word != _FORGET]
    if not arguments:
        _show()
    elif len(names) != 1:
        raise CellError(
            "%agent key takes a provider and perhaps --forget, never the key itself.",
            fix="write for example %agent key openai, and type the key where it asks.",
        )
    elif forgets:
        _forget(_provider(names[0]))
    else:
        _keep(_provider(names[0]))


def _keyed() -> list[ProviderInfo]:
    """Return the providers that take a key, those of the same variable once."""
    found: dict[tuple[str, ...], ProviderInfo] = {}
    for info in providers():
        if info.variables:
            found.setdefault(info.variables, info)
    media = [_MEDIA] if os.environ.get(URL_VARIABLE) else []
    return [*found.values(), *media]


def _provider(name: str) -> ProviderInfo:
    wanted = name.lower().partition("/")[0]
    found = next((info for info in (*providers(), _MEDIA) if info.name == wanted), None)
    if found is None:
        known = ", ".join(info.name for info in _keyed())
        raise CellError(
            "%agent key knows no provider of that name.",
            fix=f"write one of {known}; a key itself is typed where it asks.",
        )
    if not found.variables:
        raise CellError(f"{found.name} needs no key.", fix="ask it without one.")
    return found


def _show() -> None:
    facts = []
    for info in _keyed():
        found = keys.look(info.looked_at)
        if found.key is not None:
            said = found.key.place.rstrip(",")
            if found.key.source == "environment":
                said = say("{variable} in the environment", variable=said)
        else:
            places = ", ".join([say("the environment"), *found.looked_at])
            said = say("none; looked for in {places}", places=places)
        facts.append((info.name, said))
    show(cards.rows("Where keys come from", facts))


def _keep(info: ProviderInfo) -> None:
    variable = info.variables[0]
    shell = get_ipython()
    if shell is None or not can_ask(shell):
        raise CellError(
            "Nobody can type a key here.", fix=f"set {variable} in the environment instead."
        )
    value = typed(f"Key for {info.name}: ")
    if not value:
        raise CellError("No key was typed.", fix="run the cell again, or leave it.")
    why_not = keys.keep(variable, value)
    said = say(
        "The key for {name} is kept in keyring, for this kernel and later ones.", name=info.name
    )
    if why_not:
        said = say(
            "The key for {name} is kept until the kernel stops: keyring {why}.",
            name=info.name,
            why=why_not,
        )
        if "not installed" in why_not:
            said += " " + say("pip install keyring lets it be kept longer.")
    if first := next((name for name in info.variables if os.environ.get(name, "").strip()), ""):
        said += " " + say("But {variable} in the environment comes first.", variable=first)
    show(cards.line(said))


def _forget(info: ProviderInfo) -> None:
    was = {place for name in info.variables for place in keys.forget(name)}
    words = {"typed": "what was typed", "keyring": "keyring"}
    places = say(" and ").join(say(words[place]) for place in ("typed", "keyring") if place in was)
    said = say("No key for {name} was typed or kept in keyring.", name=info.name)
    if was:
        said = say("The key for {name} is forgotten, from {places}.", name=info.name, places=places)
    found = keys.look(info.looked_at)
    said += (
        " " + say("{place} still holds one.", place=found.key.place)
        if found.key is not None
        else ""
    )
    show(cards.line(said))
