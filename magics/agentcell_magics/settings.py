"""Settings in a profile's file, `%config` and the environment, to the value that was set last.

This module is loaded with the extension; what it needs of the library is loaded at its first use.
"""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

from traitlets import TraitError, TraitType
from traitlets.config import Configurable
from traitlets.config.loader import DeferredConfig

from agentcell_magics.setting_kinds import example, expected

if TYPE_CHECKING:
    from traitlets.config import Config

    from agentcell.errors import CellError

_PREFIX = "AGENTCELL_"


class Settings(Configurable):
    """Traits that a person sets, each with an environment variable, and short errors.

    Parameters
    ----------
    given
        A profile's whole configuration. What is wrong in it is kept for `check`.
    """

    def __init__(self, given: Config | None = None) -> None:
        super().__init__()
        self._wrong: dict[str, CellError] = {}
        self.fixed: dict[str, Any] = {}
        """What can be changed no more, with the value that holds."""
        self.remarks: list[str] = []
        """What to tell once about `given`, a line each."""
        section = given.get(type(self).__name__, {}) if given else {}
        for name, value in section.items():
            self._take(name, value)

    def value_in_words(self, name: str) -> str:
        """Return what holds where a setting is None, as help shows it."""
        return repr(self._from_environment(name))

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
        return f"{said}\n    In force: {inst.value_in_words(name)} ({origin})"

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
                f"AgentMagics.{name} is {value!r:.80}; {expected(trait)} was expected.",
                fix=f"run %config AgentMagics.{name} = {example(trait)}",
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
                f" {expected(trait)} was expected.",
                fix=f"set it anew, or run %config AgentMagics.{name} = {example(trait)}",
            ) from None

    @classmethod
    def _checked(cls, name: str, value: Any) -> Any:
        """Return `value` as the trait takes it; traitlets checks only what is set."""
        one = cls()
        setattr(one, name, value)
        return getattr(one, name)
