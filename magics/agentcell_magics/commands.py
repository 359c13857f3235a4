"""The words after `%agent`, to what the begun one may become."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentcell_magics.offers import Known, Offer, Offers, conversations, matching, models, paths

_MOST_TURNS = 50


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
    if len(plain) == 1 and name in _SECOND:
        return [*_SECOND[name](known, plain[0], begun), *flags]
    arguments = _ARGUMENTS.get(name)
    found = list(arguments(known, begun)) if arguments is not None and not plain else []
    return [*found, *flags]


def _tags_and_turns(known: Known, begun: str) -> Offers:
    """Offer attachments, and turns: by number, behind the conversation's name where need be."""
    session = known.session()
    tags = (tag.strip("[]").split(" ")[0] for tag in session.tags)
    names = session.conversations
    turns = conversations(known, begun) if len(names) > 1 else []
    if len(names) == 1:
        turns = _numbers(known, names[0], begun)
    return [*matching(tags, begun, "attachment"), *turns]


def _numbers(known: Known, name: str, begun: str) -> list[Offer]:
    """Offer the numbers of a conversation's turns, the last first."""
    session = known.session()
    count = session.history.count(name) if name in session.conversations else 0
    last = range(count, max(0, count - _MOST_TURNS), -1)
    return matching(map(str, last), begun, "turn")


def _former_runs(known: Known, begun: str) -> Offers:
    from agentcell.history.lookup import gone

    session = known.session()
    runs = reversed(session.history.former_runs)
    turns = (one for name in session.conversations for one in gone(session.history, name, last=8))
    ids = matching((one.turn.id[:8] for one in turns), begun, "turn")
    return [*matching([*(run.name for run in runs), "last", "notebook"], begun, "run"), *ids]


def _notebooks(begun: str) -> list[Offer]:
    """Offer notebooks and the folders on the way to them."""
    found = paths(begun, "any")
    return [one for one in found if one.goes_on or one.word.endswith(".ipynb")]


def _cancel(known: Known, begun: str) -> Offers:
    from agentcell_magics.background import background

    names = [handle.name for handle in background(known.session()).running]
    return matching([*names, *(["all"] if names else [])], begun, "answer")


def _providers(_: Known, begun: str) -> Offers:
    from agentcell.adapters.registry import providers

    names = [info.name for info in providers() if info.key_variable]
    return matching([*names, "hosted"], begun, "provider")


def _models(_: Known, begun: str) -> Offers:
    return models(begun)


def _panels(_: Known, begun: str) -> Offers:
    from agentcell_magics.panel_command import CLOSE, KINDS

    return matching([*KINDS, CLOSE], begun, "panel")


def _recordings(_: Known, begun: str) -> Offers:
    """Offer recordings and the folders on the way to them; other files where there are none."""
    found = list(paths(begun, "any"))
    fitting = [one for one in found if one.goes_on or one.word.endswith(".jsonl")]
    return [*(fitting or found), *_off(begun)]


def _images(_: Known, begun: str) -> Offers:
    from agentcell_magics.images_command import WORDS

    return matching(WORDS, begun, "choice")


def _off(begun: str) -> list[Offer]:
    return matching(["off"], begun, "choice")


def _files(_: Known, begun: str) -> Offers:
    return paths(begun, "any")


def _prune(_: Known, begun: str) -> Offers:
    return matching(["prune"], begun, "choice")


_ARGUMENTS: Mapping[str, Callable[[Known, str], Offers]] = {
    "budget": lambda _, begun: _off(begun),
    "cancel": _cancel,
    "export": _files,
    "forget": _tags_and_turns,
    "history": conversations,
    "images": _images,
    "key": _providers,
    "model": _models,
    "panel": _panels,
    "record": _recordings,
    "recording": _prune,
    "replay": _recordings,
    "restore": _former_runs,
    "undo": conversations,
}
"""What each command takes; those that are not there are not asked."""

_SECOND: Mapping[str, Callable[[Known, str, str], Offers]] = {
    "export": lambda known, _, begun: conversations(known, begun),
    "forget": _numbers,
    "images": lambda _, first, begun: paths(begun, "folder") if first == "allow" else [],
    "restore": lambda _, first, begun: _notebooks(begun) if first == "notebook" else [],
}
"""What a command takes after its first word."""

_FLAGS: Mapping[str, tuple[str, ...]] = {
    "budget": ("--ask-above",),
    "export": ("--force",),
    "history": ("--all",),
    "key": ("--forget",),
    "record": ("--again",),
    "replay": ("--or-ask", "--timing"),
}
