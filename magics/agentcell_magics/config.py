"""`%config AgentMagics`, a profile's file and the environment, to the defaults that hold.

This module is loaded with the extension; what it needs of the library is loaded at its first use.
"""

from __future__ import annotations

import difflib
import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from traitlets import Bool, Enum, Float, Int, TraitError, TraitType, Unicode, observe, validate
from traitlets.config import Configurable
from traitlets.config.loader import DeferredConfig

from agentcell_magics.cells import is_validated

if TYPE_CHECKING:
    from traitlets.config import Config

    from agentcell.budget import Budget
    from agentcell.errors import CellError
    from agentcell.request import Defaults
    from agentcell.session import Session

_PREFIX = "AGENTCELL_"


class Amount(TraitType[Any, Any]):
    """A trait: an amount of US dollars, kept as the text ``2.00``; or one of `words`.

    Parameters
    ----------
    words
        What else may stand there.
    """

    def __init__(self, *words: str, **options: Any) -> None:
        super().__init__(None, allow_none=True, **options)
        self.words = words

    def validate(self, _: Any, value: Any) -> str | None:
        """Return `value` as it is kept."""
        from agentcell.budget import amount, plain_amount
        from agentcell.errors import PriceError

        if value is None:
            return None
        if isinstance(value, str) and value.strip().casefold() in self.words:
            return value.strip().casefold()
        try:
            return plain_amount(amount(value, self.name or "The amount"))
        except PriceError as error:
            raise TraitError(error.problem) from error

    def from_string(self, s: str) -> str:
        """Return what the environment says, which is checked when it is set."""
        return s


class AgentMagics(Configurable):
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
        help="Scale large images down when they first go out (auto, high), or not (--detail).",
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
    language = Unicode(
        None,
        allow_none=True,
        help="The language of what the magics say: en, zh, one that add_language added, or auto,"
        " by the kernel's environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG).",
    ).tag(config=True)
    quiet = Bool(
        None, allow_none=True, help="Show the answer alone (-q); --no-quiet shows all in one cell."
    ).tag(config=True)

    default_values: ClassVar[dict[str, Any]] = {
        "system": "",
        "detail": "original",
        "pdf_as": "pdf",
        "history": "notebook",
        "language": "auto",
        "budget": "off",
        "quiet": False,
    }
    """What holds where nothing is said; None where that is the model's or the session's affair."""

    def __init__(self, given: Config | None = None) -> None:
        super().__init__()
        self._wrong: dict[str, CellError] = {}
        self._applied: Budget | None = None
        self.fixed: dict[str, Any] = {}
        """What can be changed no more, with the value that holds."""
        self.remarks: list[str] = []
        """What to tell once about `given`, a line each."""
        section = given.get(type(self).__name__, {}) if given else {}
        for name, value in section.items():
            self._take(name, value)

    def update_config(self, config: Config) -> None:
        """Take what `%config AgentMagics.name = value` says.

        Parameters
        ----------
        config
            Holds the values that are set now, and no others.

        Raises
        ------
        CellError, UnknownModel
            If there is no setting of that name, or the value cannot be used.
        """
        for name, value in config.get(type(self).__name__, {}).items():
            self._refuse_if_late(name, value)
            if name == "model" and isinstance(value, str):
                from agentcell.adapters.registry import locate

                locate(value)
            self._set(name, value)
            self._wrong.pop(name, None)

    def check(self) -> None:
        """Raise what was wrong in a profile's file and was not set anew since.

        Raises
        ------
        CellError
            If there is anything.
        """
        for wrong in self._wrong.values():
            raise wrong

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
        """
        session.defaults = self.defaults()
        session.history.max_turns = self.in_force("history_turns")
        budget = self._budget()
        self._applied = budget
        session.budget = budget

    def share(self, session: Session) -> None:
        """Do as `apply`; what is wrong in the environment, a cell will tell.

        Parameters
        ----------
        session
            The magics' own.
        """
        from agentcell.errors import CellError

        with suppress(CellError):
            self.apply(session)

    def follow(self, session: Session) -> None:
        """Show model and budget as they were set in another way, by `%agent` or in Python.

        Parameters
        ----------
        session
            The magics' own.
        """
        self.model = session.chosen_model_name
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

    def _budget(self) -> Budget | None:
        values = [self.in_force(name) for name in ("budget", "ask_above")]
        if values[0] == "off":
            return None
        from agentcell_magics.budget_command import configured

        return configured(*values)

    @classmethod
    def class_get_trait_help(
        cls,
        trait: TraitType[Any, Any],
        inst: Any = None,
        helptext: str | None = None,
    ) -> str:
        """Return what `%config AgentMagics` shows for one trait."""
        said = super().class_get_trait_help(trait, inst, helptext)
        name = trait.name or ""
        if inst is None or getattr(inst, name) is not None:
            return said
        variable = _PREFIX + name.upper()
        origin = variable if os.environ.get(variable, "").strip() else "the default"
        return f"{said}\n    In force: {inst._shown(name)} ({origin})"  # noqa: SLF001 (its own)

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

    def _shown(self, name: str) -> str:
        from agentcell.adapters.registry import default_name
        from agentcell.errors import CellError

        try:
            value = default_name() if name == "model" else self.in_force(name)
        except CellError as error:
            return error.problem
        if value is None:
            return "a tenth of the budget" if name == "ask_above" else "as the model has it"
        return repr(value)

    def _refuse_if_late(self, name: str, value: Any) -> None:
        from agentcell.errors import CellError

        if name in self.fixed and value != self.fixed[name]:
            raise CellError(
                f"AgentMagics.{name} is {self.fixed[name]!r} since the first question here.",
                fix="restart the kernel and set it before the first question.",
            )

    def _take(self, name: str, value: Any) -> None:
        """Set `name` from a profile, where nobody could read an error yet."""
        from agentcell.errors import CellError

        try:
            self._set(name, value)
        except CellError as error:
            self.remarks.append(f"agentcell: ipython_config.py: {error.problem} ({error.fix})")
            if self.has_trait(name):
                self._wrong[name] = error

    def _set(self, name: str, value: Any) -> None:
        from agentcell.errors import CellError

        if name not in self.trait_names(config=True):
            close = difflib.get_close_matches(name, self.trait_names(config=True), n=1)
            raise CellError(
                f"AgentMagics has no setting {name!r}.",
                fix=f"did you mean {close[0]}?"
                if close
                else "run %config AgentMagics to see them.",
            )
        trait = self.traits()[name]
        try:
            if isinstance(value, DeferredConfig):  # from the command line
                value = value.get_value(trait)
            setattr(self, name, value)
        except (TraitError, ValueError) as error:
            raise CellError(
                f"AgentMagics.{name} is {value!r:.80}; {_expected(trait)} was expected.",
                fix=f"run %config AgentMagics.{name} = {_example(trait)}",
            ) from error

    def _from_environment(self, name: str) -> Any:
        from agentcell.errors import CellError

        variable = _PREFIX + name.upper()
        said = os.environ.get(variable, "").strip()
        if not said:
            return None
        trait = self.traits()[name]
        try:
            return self._checked(name, trait.from_string(said))
        except (TraitError, ValueError):
            raise CellError(
                f"The environment variable {variable} is {said!r:.80};"
                f" {_expected(trait)} was expected.",
                fix=f"set it anew, or run %config AgentMagics.{name} = {_example(trait)}",
            ) from None

    @classmethod
    def _checked(cls, name: str, value: Any) -> Any:
        """Return `value` as the trait takes it; traitlets checks only what is set."""
        one = cls()
        setattr(one, name, value)
        return getattr(one, name)


def _expected(trait: TraitType[Any, Any]) -> str:
    match trait:
        case Enum():
            return f"one of {', '.join(trait.values or ())}"
        case Bool():
            return "True or False"
        case Float():
            return "a number from 0"
        case Amount():
            return " or ".join(["US dollars such as '2.00'", *map(repr, trait.words)])
        case Int():
            return f"a whole number from {trait.min}"
        case _:
            return "a text"


def _example(trait: TraitType[Any, Any]) -> str:
    match trait:
        case Enum():
            return repr((trait.values or ("",))[0])
        case Bool():
            return "True"
        case Float():
            return "0.2"
        case Int():
            return "500"
        case Amount():
            return "'2.00'" if trait.words else "'0.10'"
        case _:
            return "'local'" if trait.name == "model" else "'Be brief.'"
