"""A provider's environment variables, to its key: the first place that has it, in a fixed order.

Environment; what was typed in this session; keyring; Colab's store; `llm`'s keys file; last a
question to the person, where one sits there. Each is asked when a key is needed, none before.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal, TypeAlias

from agentcell.keys import keyring_store, llm_file
from agentcell.keys.asking import asker
from agentcell.keys.keyring_store import NoKeyring
from agentcell.keys.shapes import is_placeholder

Source: TypeAlias = Literal[
    "argument", "placeholder", "environment", "typed", "keyring", "colab", "llm"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked for: whose key, and the host that it would go to."""

    provider: str
    host: str


_SAID = {
    "argument": "{0}",  # what people are told to check where it is refused
    "placeholder": "{0}",
    "environment": "{0}",
    "typed": "{0}, as typed in this session,",
    "keyring": "{0} in keyring",
    "colab": "{0} in Colab's secrets",
    "llm": "{0} in llm's keys file",
}

_SECRET_VARIABLE = (
    *("_API_KEY", "_APIKEY", "_API_TOKEN", "_AUTH_TOKEN", "_ACCESS_TOKEN", "_SECRET_ACCESS_KEY"),
    *("_MEDIA_TOKEN", "HF_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
)
"""Ends of the names of variables that hold keys."""

_SHORTEST_KNOWN = 12
"""Characters of a variable's value that may be a key: servers of one's own get "EMPTY" or "x"."""

_lock = threading.RLock()
_typed: dict[str, str] = {}
_found: dict[str, Key] = {}
"""What a slow place gave, by variable: it is asked once, until that key is refused."""
_without: set[tuple[str, ...]] = set()
"""Variables for which the slow places had nothing: `llm`'s file is then looked at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key and where it came from. Its repr does not show it."""

    value: str = field(repr=False)
    variable: str
    source: Source

    @property
    def place(self) -> str:
        """What to tell people to look at, for example ``OPENAI_API_KEY in keyring``."""
        return _SAID[self.source].format(self.variable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A key, or None; and every other place that was looked at, in words."""

    key: Key | None
    looked_at: tuple[str, ...] = ()


def look(
    variables: Iterable[str],
    *,
    stores: bool = True,
    is_own_address: bool = True,
    question: Question | None = None,
    main: str = "",
) -> Search:
    """Look for a key in every place, in their order.

    Parameters
    ----------
    variables
        The environment variables that may hold it, first to last.
    stores
        Whether to look beyond the environment and what was typed.
    is_own_address
        Whether it is for the provider's own address: `llm`'s keys are for no other.
    question
        What to ask the person where it is nowhere; None: nobody is asked.
    main
        The variable that a typed key counts for; the first, if not given.
    """
    names = tuple(name for name in variables if name)
    key = _at_hand(names)
    if key is not None or not stores:
        return Search(key=key)
    with _lock:
        key = next((_found[name] for name in names if name in _found), None)
        is_nowhere_slow = names in _without
    looked_at: list[str] = []
    if key is None and is_nowhere_slow and is_own_address:
        key = _in_llm_file(names, looked_at)
    if key is not None:
        return Search(key=key)
    looked_at.clear()
    key = _in_keyring(names, looked_at) or _in_colab(names, looked_at)
    with _lock:
        if key is not None:
            _found[key.variable] = key
            return Search(key=key)
        _without.add(names)
    if is_own_address:
        key = _in_llm_file(names, looked_at)
    if key is None and names:
        key = _asked(main or names[0], question)
    return Search(key=key, looked_at=tuple(looked_at))


def is_at_hand(variables: Iterable[str]) -> bool:
    """Whether a key is known without asking anyone who may be slow.

    The environment, what was typed, what a slow place gave before, and `llm`'s keys file count.
    keyring and Colab are not asked: that costs a fifth of a second, or a window.
    """
    names = tuple(name for name in variables if name)
    with _lock:
        kept = any(name in _found for name in names)
    return kept or _at_hand(names) is not None or any(map(llm_file.key_for, names))


def keep(variable: str, value: str) -> str:
    """Keep a key in keyring, else for this process alone. Return why not in keyring, or nothing."""
    _forget_found(variable)
    try:
        keyring_store.store(variable, value)
    except NoKeyring as problem:
        with _lock:
            _typed[variable] = value
        return str(problem)
    with _lock:
        _typed.pop(variable, None)
        _found[variable] = Key(value=value, variable=variable, source="keyring")
    return ""


def forget(variable: str) -> tuple[Source, ...]:
    """Forget a key that was typed or kept in keyring. Return where it was."""
    was: list[Source] = []
    _forget_found(variable)
    with _lock:
        if _typed.pop(variable, None) is not None:
            was.append("typed")
    try:
        if keyring_store.delete(variable):
            was.append("keyring")
    except NoKeyring:
        pass
    return tuple(was)


def refused(key: str) -> None:
    """Note that a service refused `key`: a slow place is asked again, and so is the person."""
    with _lock:
        for name in [name for name, found in _found.items() if found.value == key]:
            del _found[name]
        for name in [name for name, value in _typed.items() if value == key]:
            del _typed[name]
        _without.clear()


def known(variables: Iterable[str] = (), *, slow: bool = False) -> dict[str, str]:
    """Return the keys that this process knows, by where they come from.

    Parameters
    ----------
    variables
        Names to look for in keyring, where `slow` allows it.
    slow
        Whether keyring may be asked.
    """
    found: dict[str, str] = {}
    for name, value in os.environ.items():
        if name.upper().endswith(_SECRET_VARIABLE) and _may_be_key(value.strip()):
            found[name] = value.strip()
    with _lock:
        remembered = [*_found.values()]
        found |= {f"{name}, as typed": value for name, value in _typed.items()}
    if slow:
        for name in variables:
            kept = _in_keyring((name,), [])
            remembered += [kept] if kept is not None else []
    found |= {key.place: key.value for key in remembered}
    for name, value in llm_file.kept().items():
        found[f"{name} in llm's keys file"] = value
    return {name: value for name, value in found.items() if _may_be_key(value)}


def _may_be_key(value: str) -> bool:
    return len(value) >= _SHORTEST_KNOWN and can_be_key(value) and not is_placeholder(value)


def _at_hand(names: tuple[str, ...]) -> Key | None:
    for name in names:
        if value := os.environ.get(name, "").strip():
            return Key(value=value, variable=name, source="environment")
    with _lock:
        for name in names:
            if name in _typed:
                return Key(value=_typed[name], variable=name, source="typed")
    return None


def _in_keyring(names: tuple[str, ...], looked_at: list[str]) -> Key | None:
    try:
        for name in names:
            if value := keyring_store.read(name):
                return Key(value=value, variable=name, source="keyring")
    except NoKeyring as problem:
        looked_at.append(f"keyring ({problem})")
    else:
        looked_at.append("keyring")
    return None


def _in_colab(names: tuple[str, ...], looked_at: list[str]) -> Key | None:
    if "google.colab" not in sys.modules:
        return None
    looked_at.append("Colab's secrets")
    for name in names:
        try:
            value = str(import_module("google.colab.userdata").get(name) or "").strip()
        except Exception:  # noqa: BLE001, S112 (no such secret, no access to it, nobody at the page)
            continue
        if value:
            return Key(value=value, variable=name, source="colab")
    return None


def _in_llm_file(names: tuple[str, ...], looked_at: list[str]) -> Key | None:
    for name in names:
        if value := llm_file.key_for(name):
            return Key(value=value, variable=name, source="llm")
    if any(name in llm_file.NAMES for name in names):
        looked_at.append("llm's keys file")
    return None


def _asked(variable: str, question: Question | None) -> Key | None:
    """Ask the person, in the thread that shows what a cell prints and takes what is typed."""
    is_main = threading.current_thread() is threading.main_thread()
    ask = asker()
    if ask is None or question is None or not is_main:
        return None
    value = (ask(question) or "").strip()
    if not can_be_key(value):
        return None
    with _lock:
        _typed[variable] = value
    return Key(value=value, variable=variable, source="typed")


def can_be_key(value: str) -> bool:
    """Whether a header can carry it: keys hold no blanks and no letters beyond ASCII."""
    return bool(value) and value.isascii() and value.isprintable() and " " not in value


def _forget_found(variable: str) -> None:
    with _lock:
        _found.pop(variable, None)
        _without.clear()
