"""The system's keyring, through the optional package `keyring`: it may be missing, broken or slow.

Each call runs on a thread of its own with a time limit: a keyring of a desktop that is not there
may wait for ever for a window that nobody sees. While one call hangs, no other is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import Any

SERVICE = "agentcell"
"""The service's name; the user's name is the variable's, for example OPENAI_API_KEY."""

PATIENCE = 5.0
"""Seconds to wait for an answer: long enough for a click on "allow"."""

_lock = threading.Lock()
_hanging: list[threading.Thread] = []


class NoKeyring(Exception):
    """There is no keyring to ask; its text says why, in a few words."""


def is_installed() -> bool:
    """Whether the package `keyring` is there. It is not imported."""
    try:
        return find_spec("keyring") is not None
    except (ImportError, ValueError):
        return False


def read(name: str, *, patience: float = PATIENCE) -> str:
    """Return what is kept under `name`; empty if nothing is.

    Raises
    ------
    NoKeyring
        If there is none, or it did not answer within `patience` seconds.
    """

    def work(keyring: Any) -> str:
        return str(keyring.get_password(SERVICE, name) or "").strip()

    return str(_in_time(work, patience))


def store(name: str, value: str, *, patience: float = PATIENCE) -> None:
    """Keep `value` under `name`, and make sure that it is kept: some keyrings keep nothing.

    Raises
    ------
    NoKeyring
        If it is not kept.
    """

    def work(keyring: Any) -> bool:
        keyring.set_password(SERVICE, name, value)
        return bool(keyring.get_password(SERVICE, name) == value)

    if not _in_time(work, patience):
        raise NoKeyring("keeps nothing here")


def delete(name: str, *, patience: float = PATIENCE) -> bool:
    """Take away what is kept under `name`, and say whether there was something.

    Raises
    ------
    NoKeyring
        If there is no keyring to ask.
    """

    def work(keyring: Any) -> bool:
        if not keyring.get_password(SERVICE, name):
            return False
        keyring.delete_password(SERVICE, name)
        return True

    return bool(_in_time(work, patience))


def _in_time(work: Callable[[Any], object], patience: float) -> object:
    if not is_installed():
        raise NoKeyring("not installed")
    answers: SimpleQueue[tuple[bool, object]] = SimpleQueue()

    def run() -> None:
        try:
            import keyring

            answers.put((True, work(keyring)))
        except BaseException as problem:  # noqa: BLE001 (other people's backends raise anything)
            # The text of their error may hold anything; its kind says enough.
            answers.put((False, type(problem).__name__))

    with _lock:
        _hanging[:] = [thread for thread in _hanging if thread.is_alive()]
        if _hanging:
            raise NoKeyring("does not answer")
    thread = threading.Thread(target=run, name="agentcell-keyring", daemon=True)
    thread.start()
    try:
        went_well, answer = answers.get(timeout=patience)
    except Empty:
        with _lock:
            _hanging.append(thread)
        raise NoKeyring("does not answer") from None
    if went_well:
        return answer
    raise NoKeyring("none on this machine" if answer == "NoKeyringError" else f"failed: {answer}")
