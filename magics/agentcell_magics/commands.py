"""The words after `%agent`, to what the begun one may become."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentcell_magics.offers import Known, Offers, matching, models

if TYPE_CHECKING:
    from collections.abc import Mapping


def command_offers(known: Known, words: tuple[str, ...], begun: str) -> Offers:
    """Return what the begun word may become: a command, or what that command takes.

    Parameters
    ----------
    words
        The whole words before it, the command first.
    begun
        What it says so far.
    """
    from agentcell_magics.status import COMMANDS

    if not words:
        return matching(COMMANDS, begun, "command")
    arguments = _ARGUMENTS.get(words[0]) if words[0] in COMMANDS and len(words) == 1 else None
    return arguments(known, begun) if arguments is not None else []


def _tags(known: Known, begun: str) -> Offers:
    blocks = known.session().attachments
    return matching((block.tag.strip("[]").split(" ")[0] for block in blocks), begun, "attachment")


def _models(_: Known, begun: str) -> Offers:
    return models(begun)


def _cancel(known: Known, begun: str) -> Offers:
    from agentcell_magics.async_answer import background

    names = [handle.name for handle in background(known.session()).running]
    return matching([*names, *(["all"] if names else [])], begun, "answer")


def _key(_: Known, begun: str) -> Offers:
    from agentcell.adapters.registry import providers

    keyed = (info.name for info in providers() if info.key_variable)
    return matching([*keyed, "--forget"], begun, "provider")


_ARGUMENTS: Mapping[str, Callable[[Known, str], Offers]] = {
    "cancel": _cancel,
    "forget": _tags,
    "key": _key,
    "model": _models,
}
