"""`%agent …`: what the session holds, and the few things one can tell it to do."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable
from pathlib import Path

from agentcell.adapters.registry import models
from agentcell.errors import CellError
from agentcell.history import reader_words
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.background import background
from agentcell_magics.background_commands import cancel, show_running
from agentcell_magics.budget_command import budget, status_facts
from agentcell_magics.export_command import export
from agentcell_magics.history_commands import forget, history, restore, undo
from agentcell_magics.images_command import images, word_of
from agentcell_magics.key_command import key_command
from agentcell_magics.line import HELP_WORDS, shown, tokens
from agentcell_magics.live import show
from agentcell_magics.panel_command import panel
from agentcell_magics.recording_command import record, recording, replay
from agentcell_magics.wording import say

_SAME = {
    "redo": "restore ID does that; %agent history --all shows the ids.",
    "clear": "reset forgets all turns; %agent forget TURN forgets one.",
    "stop": "cancel stops answers in the background.",
    "save": "export FILE writes the answers.",
    "cost": "budget shows what was spent, and sets a limit.",
}
"""What people call a command elsewhere, and how it is written here."""


def run_command(session: Session, line: str) -> None:
    """Do what `%agent` was told; without words, show the session.

    Raises
    ------
    CellError
        If there is no such command, or it is given too little or too much.
    """
    words = tokens(line)
    name, arguments = (words[0], words[1:]) if words else ("status", [])
    command = COMMANDS.get(name)
    if command is None:
        fix = f"use one of {', '.join(COMMANDS)}; or ask below %%agent, with two signs."
        if name in HELP_WORDS:
            fix = "run %agent? to see what it can do."
        elif name in _SAME:
            fix = f"%agent {_SAME[name]}"
        elif close := difflib.get_close_matches(name, COMMANDS, n=1):
            fix = f"did you mean %agent {close[0]}?"
        raise CellError(f"%agent has no command {shown(name)!r}.", fix=fix)
    command(session, arguments)


def _none(arguments: list[str], name: str) -> None:
    if arguments:
        raise CellError(
            f"%agent {name} takes nothing more, but {shown(' '.join(arguments))!r} was given.",
            fix=f"write %agent {name} alone.",
        )


def _status(session: Session, arguments: list[str]) -> None:
    _none(arguments, "status")
    facts = [("model", session.model_name)]
    names = session.conversations or ("main",)
    facts.append(
        (
            "conversation",
            ", ".join(f"{name} ({_counted(session, name)})" for name in names),
        )
    )
    facts.append(("attachments", "\n".join(b.tag for b in session.attachments) or "none"))
    if counted := reader_words.tokens(session.usage):
        facts.append(("tokens", counted))
    facts += status_facts(session)
    if count := len(background(session).running):
        facts.append(("in the background", str(count)))
    if session.recorder.mode != "off" and (used := session.recorder.file) is not None:
        mode = say("{mode}, {file}", mode=session.recorder.mode, file=used.as_posix())
        facts.append(("recording", mode))
    if (opened := word_of(session.image_tools)) != "off":
        facts.append(("image tools", opened))
    facts.append(("history", _place(session)))
    if session.model.provider == "local":
        facts += _local_reader()
    show(cards.rows("agentcell", facts))


def _place(session: Session) -> str:
    folder = session.history.folder
    if folder is None:
        return say("in memory: it ends with the kernel")
    with contextlib.suppress(ValueError):
        folder = folder.relative_to(Path.cwd())
    return folder.as_posix()


def _counted(session: Session, conversation: str) -> str:
    count = len(session.conversation(conversation).turns)
    return say("{count} turn", count=count) if count == 1 else say("{count} turns", count=count)


def _local_reader() -> list[tuple[str, str]]:
    from agentcell.adapters.local import local_status

    state = local_status()
    facts = [
        ("reads text by", state.ocr or "not installed"),
        ("sentences by", state.runtime or "not installed"),
        ("weights", str(state.weights) if state.weights else "not fetched"),
    ]
    return facts + [("to do", fix) for fix in state.fixes]


def _model(session: Session, arguments: list[str]) -> None:
    if len(arguments) > 1:
        raise CellError(
            f"%agent model takes one name, but {len(arguments)} were given.", fix="keep one."
        )
    if arguments:
        session.model = arguments[0]
    show(cards.line(say("Questions go to {model}.", model=session.model_name)))


def _models(_: Session, arguments: list[str]) -> None:
    _none(arguments, "models")
    show(
        cards.rows(
            "Models by name; any other of these providers works too", [(m, "") for m in models()]
        )
    )


def _attachments(session: Session, arguments: list[str]) -> None:
    _none(arguments, "attachments")
    if session.attachments:
        show(cards.attachments(session.attachments))
    else:
        show(cards.line("Nothing is attached yet."))


def _reset(session: Session, arguments: list[str]) -> None:
    _none(arguments, "reset")
    session.reset()
    show(cards.line("All turns and attachments of this session are forgotten."))


COMMANDS: dict[str, Callable[[Session, list[str]], None]] = {
    "status": _status,
    "model": _model,
    "models": _models,
    "history": history,
    "images": images,
    "attachments": _attachments,
    "panel": panel,
    "undo": undo,
    "forget": forget,
    "restore": restore,
    "reset": _reset,
    "export": export,
    "budget": budget,
    "running": show_running,
    "cancel": cancel,
    "key": key_command,
    "record": record,
    "replay": replay,
    "recording": recording,
}
