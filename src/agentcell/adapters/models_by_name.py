"""A model's name, to the one model of that name in a session."""

from __future__ import annotations

import threading

from agentcell.adapters.known_providers import ProviderInfo
from agentcell.adapters.model import Model
from agentcell.adapters.registry import default_name, locate, resolve


class ModelsByName:
    """Makes each model once. Safe to share between threads.

    Parameters
    ----------
    default
        The model that is meant where none is named. None: what the environment says.
    """

    def __init__(self, default: Model | str | None = None) -> None:
        self.default = default
        self._made: dict[tuple[ProviderInfo, str], Model] = {}
        self._lock = threading.Lock()

    @property
    def default_name(self) -> str:
        """What the default is called; nothing is looked up, so a wrong name is no error."""
        default = self.default or default_name()
        return default.name if isinstance(default, Model) else default

    def named(self, name: str | None = None) -> Model:
        """Return the model of that name, always the same object; None means the default.

        Raises
        ------
        UnknownModel
            If no provider or alias has that name.
        """
        wanted = self.default if name is None else name
        if isinstance(wanted, Model):
            return wanted
        if wanted is None:
            wanted = default_name()  # each time anew: a key may have been set since
        place = locate(wanted)  # a provider that was registered anew is another place
        with self._lock:
            if place not in self._made:
                self._made[place] = resolve(wanted)
            return self._made[place]
