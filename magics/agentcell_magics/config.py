"""`%config AgentMagics`, a profile's file and the environment, to the defaults that hold.

This module is loaded with the extension; what it needs of the library is loaded at its first use.
"""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from traitlets import Bool, Enum, Float, Int, TraitError, Unicode, observe, validate

from agentcell_magics.cells import is_validated
from agentcell_magics.setting_kinds import Amount
from agentcell_magics.settings import Settings

if TYPE_CHECKING:
    from traitlets.config import Config

    from agentcell.budget import Budget
    from agentcell.request import Defaults
    from agentcell.session import Session


class AgentMagics(Settings):
    """What the magics do where a cell says nothing.

    What holds, first to last: an option on the cell's line; what was set here or in
    ``ipython_config.py`` (``c.AgentMagics.model = "openai/gpt-4.1"``); the environment variable
    of the same name (``AGENTCELL_MODEL``, ``AGENTCELL_DETAIL``, …); the default. None hands a
    setting back to the environment.

    Parameters
    ----------
    given
        A profile's whole configuration. What is wrong in it is kept for `check`.
    """

    model = Unicode(
        None, allow_none=True, help="Who is asked, for example openai/gpt-4.1 or local."
    ).tag(config=True)
    system = Unicode(
        None,
        allow_none=True,
        help="Instructions of a conversation in which no cell gives any (-s).",
    ).tag(config=True)
    temperature = Float(
        None, min=0.0, allow_none=True, help="How freely the model may choose its words (-t)."
    ).tag(config=True)
    max_tokens = Int(
        None, min=1, allow_none=True, help="The longest answer, in tokens (--max-tokens)."
    ).tag(config=True)
    detail = Enum(
        ("auto", "high", "original"),
        None,
        allow_none=True,
        help="How closely new images are looked at: scaled down (auto, high), or not (--detail).",
    ).tag(config=True)
    pdf_as = Enum(
        ("pdf", "images", "text"),
        None,
        allow_none=True,
        help="Send PDFs as they are, as images of their pages, or as their text (--pdf-as).",
    ).tag(config=True)
    approve = Enum(
        ("ask", "run", "refuse", "always", "never"),
        None,
        allow_none=True,
        help="Whether the tools of -T run: ask before each call, run all, refuse all (--approve).",
    ).tag(config=True)
    history = Enum(
        ("notebook", "memory"),
        None,
        allow_none=True,
        help="Keep turns beside the notebook, or in the kernel's memory alone. Holds from the first"
        " question of a kernel on: set it before, or in ipython_config.py. A validating test run"
        " (pytest --nbval) keeps nothing on disk unless it is told to.",
    ).tag(config=True)
    history_turns = Int(
        None,
        min=0,
        allow_none=True,
        help="How many earlier turns of its conversation go out with a question; 0 is all.",
    ).tag(config=True)
    budget = Amount(
        "off",
        help="What may be spent, for example 2.00 usd: what would pass it is refused. What every"
        " turn of this notebook cost counts (%agent budget).",
    ).tag(config=True)
    ask_above = Amount(
        help="A question that is expected to cost more is asked about; else a tenth of the budget.",
    ).tag(config=True)
    image_tools = Enum(
        ("off", "view", "generate", "on"),
        None,
        allow_none=True,
        help="Which image tools go with every question: view_image, image_generation, both (on),"
        " or none (%agent images).",
    ).tag(config=True)
    language = Unicode(
        None,
        allow_none=True,
        help="The language of what the magics say: en, zh, one that add_language added, or auto,"
        " by the kernel's environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG).",
    ).tag(config=True)
    mode = Enum(
        ("off", "record", "rerecord", "replay", "auto"),
        None,
        allow_none=True,
        help="Whether answers are recorded or replayed where no %agent record or %agent replay"
        " said it; the environment's AGENTCELL_MODE wins over all three.",
    ).tag(config=True)
    recording = Unicode(
        None,
        allow_none=True,
        help="The recording's file where the notebook names none; recordings/NOTEBOOK.jsonl"
        " where the notebook's name is known.",
    ).tag(config=True)
    quiet = Bool(
        None, allow_none=True, help="Show the answer alone (-q); --no-quiet shows all in one cell."
    ).tag(config=True)

    default_values: ClassVar[dict[str, Any]] = {
        "system": "",
        "pdf_as": "pdf",
        "history": "notebook",
        "image_tools": "off",
        "language": "auto",
        "mode": "off",
        "budget": "off",
        "quiet": False,
    }
    """What holds where nothing is said; None where that is the model's or the session's affair."""

    def __init__(self, given: Config | None = None) -> None:
        self._applied: Budget | None = None
        self._applied_gates = "off"
        super().__init__(given)

    def in_force(self, name: str) -> Any:
        """Return what holds where a cell says nothing.

        Parameters
        ----------
        name
            A trait's.

        Raises
        ------
        CellError
            If the environment says something that cannot be used.
        """
        value = getattr(self, name)
        if value is None and name != "model":  # the session itself asks the environment for it
            value = self._from_environment(name)
        if value is None and name == "history_turns":
            from agentcell.history.past import MOST_TURNS

            return MOST_TURNS
        if value is None and name == "history" and is_validated():
            return "memory"
        return self.default_values.get(name) if value is None else value

    def defaults(self) -> Defaults:
        """Return what a session needs to know of this."""
        from agentcell.request import Defaults

        settings = {name: self.in_force(name) for name in ("temperature", "max_tokens")}
        return Defaults(
            system=self.in_force("system"),
            settings={name: value for name, value in settings.items() if value is not None},
            detail=self.in_force("detail"),
            pdf_as=self.in_force("pdf_as"),
        )

    def apply(self, session: Session) -> None:
        """Let a session know what holds.

        Parameters
        ----------
        session
            The magics' own.

        Raises
        ------
        CellError
            If the environment says something that cannot be used.
        NoBackend
            If pictures are to be made, and nobody is set up who could.
        """
        session.defaults = self.defaults()
        session.history.max_turns = self.in_force("history_turns")
        session.recorder.usual_mode = self.mode or "off"  # it asks the environment itself
        session.recorder.chosen_file = Path(self.recording) if self.recording else None
        budget = self._budget()
        self._applied = budget
        session.budget = budget
        self._open_gates(session)

    def share(self, session: Session) -> None:
        """Do as `apply`; what cannot be done, each cell will tell.

        Parameters
        ----------
        session
            The magics' own.
        """
        from agentcell.errors import CellError, NoBackend

        with suppress(CellError, NoBackend):
            self.apply(session)

    def follow(self, session: Session) -> None:
        """Show model and budget as they were set in another way, by `%agent` or in Python.

        Parameters
        ----------
        session
            The magics' own.
        """
        self.model = session.chosen_model_name
        if (gates := _gates(session)) != self._applied_gates:
            self._applied_gates = self.image_tools = gates
        from agentcell.errors import PriceError

        try:
            budget = session.budget
        except PriceError:  # of the environment: a cell tells it
            return
        if budget == self._applied:
            return
        from agentcell_magics.budget_command import settings_of

        self._applied = budget
        with self.hold_trait_notifications():
            for name, value in settings_of(budget).items():
                setattr(self, name, value)

    def _open_gates(self, session: Session) -> None:
        """Open the gates of the image tools, where the session's are not so already."""
        word = self.in_force("image_tools")
        if word == self._applied_gates:
            return
        from agentcell.errors import NoBackend
        from agentcell_magics.images_command import opened

        before, self._applied_gates = self._applied_gates, word
        try:
            session.image_tools = opened(session.image_tools, word)
        except NoBackend as error:
            self._applied_gates = before  # the next cell tries again, and tells again
            close = "%config AgentMagics.image_tools = 'off' closes the gate"
            error.fix = f"{error.fix.rstrip('.')}; {close}."
            raise

    def _budget(self) -> Budget | None:
        values = [self.in_force(name) for name in ("budget", "ask_above")]
        if values[0] == "off":
            return None
        from agentcell_magics.budget_command import configured

        return configured(*values)

    @validate("temperature", "max_tokens")
    def _no_strange_number(self, proposal: Any) -> Any:
        value = proposal["value"]
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise TraitError(f"AgentMagics.{proposal['trait'].name} is {value!r}, no such number.")
        return value

    @validate("language")
    def _known_language(self, proposal: Any) -> Any:
        from agentcell_magics import wording

        value = proposal["value"]
        if value is not None:
            try:
                wording.choose(value)
            except ValueError as error:
                raise TraitError(str(error)) from None
        return value

    @observe("language")
    def _speak(self, change: Any) -> None:
        from agentcell_magics import wording

        wording.choose(change["new"] or wording.AUTO)

    @validate("model")
    def _no_blank_name(self, proposal: Any) -> Any:
        value = proposal["value"]
        if value is not None and not value.strip():
            raise TraitError(f"AgentMagics.model is {value!r}: the name of a model was expected.")
        return value

    def value_in_words(self, name: str) -> str:
        """Return what holds where a setting is None, as help shows it."""
        from agentcell.adapters.registry import default_name
        from agentcell.errors import CellError

        try:
            value = default_name() if name == "model" else self.in_force(name)
        except CellError as error:
            return error.problem
        if value is None:
            return "a tenth of the budget" if name == "ask_above" else "as the model has it"
        return repr(value)


def _gates(session: Session) -> str:
    from agentcell_magics.images_command import word_of

    return word_of(session.image_tools)
