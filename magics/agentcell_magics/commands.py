"""The words after `%agent`, to what the begun one may become."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcell_magics.offers import Known, Offer, Offers, conversations, matching, models, paths


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
        return matching([*COMMANDS, "-v"], begun, "command")
    name, given = words[0], words[1:]
    if name not in COMMANDS:
        return []
    flags = matching((f for f in _FLAGS.get(name, ()) if f not in given), begun, "option")
    if begun.startswith("-"):
        return flags
    plain = [word for word in given if not word.startswith("-")]
    arguments = _ARGUMENTS.get(name)
    found = list(arguments(known, begun)) if arguments is not None and not plain else []
    return [*found, *flags]


def _tags(known: Known, begun: str) -> Offers:
    blocks = known.session().attachments
    return matching((block.tag.strip("[]").split(" ")[0] for block in blocks), begun, "attachment")


def _cancel(known: Known, begun: str) -> Offers:
    from agentcell_magics.async_answer import background

    names = [handle.name for handle in background(known.session()).running]
    return matching([*names, *(["all"] if names else [])], begun, "answer")


def _providers(_: Known, begun: str) -> Offers:
    from agentcell.adapters.registry import providers

    return matching((info.name for info in providers() if info.key_variable), begun, "provider")


def _models(_: Known, begun: str) -> Offers:
    return models(begun)


def _recordings(_: Known, begun: str) -> Offers:
    """Offer recordings and the folders on the way to them; other files where there are none."""
    found = list(paths(begun, "any"))
    fitting = [one for one in found if one.goes_on or one.word.endswith(".jsonl")]
    return [*(fitting or found), *_off(begun)]


def _off(begun: str) -> list[Offer]:
    return matching(["off"], begun, "choice")


def _files(_: Known, begun: str) -> Offers:
    return paths(begun, "any")


def _prune(_: Known, begun: str) -> Offers:
    return matching(["prune"], begun, "choice")


_ARGUMENTS: Mapping[str, Callable[[Known, str], Offers]] = {
    "cancel": _cancel,
    "export": _files,
    "forget": _tags,
    "key": _providers,
    "model": _models,
    "record": _recordings,
    "recording": _prune,
    "replay": _recordings,
    "undo": conversations,
}
"""What each command takes; those that are not there are not asked."""

_FLAGS: Mapping[str, tuple[str, ...]] = {
    "key": ("--forget",),
    "record": ("--again",),
    "replay": ("--or-ask", "--timing"),
}
