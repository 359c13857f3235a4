"""The magics' names in a shell: ours where they are free, with a prefix where they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_PREFIX = "agentcell_"


class Names:
    """Registers magics and takes them away again; a magic that is not ours is never touched.

    Parameters
    ----------
    kinds
        With how many signs each is called: ``line``, ``cell`` or both.
    """

    def __init__(self, shell: InteractiveShell, kinds: Mapping[str, tuple[str, ...]]) -> None:
        self._shell = shell
        self._kinds = kinds
        self._registered: dict[tuple[str, str], tuple[str, object]] = {}

    def register(self, functions: Mapping[str, Callable[..., Any]]) -> Iterator[str]:
        """Register each function; yield what to tell the person, a line for each name taken.

        Parameters
        ----------
        functions
            By the magics' own names.
        """
        self.unregister()
        for name, kinds in self._kinds.items():
            used = name
            if self._is_taken(name, kinds):
                used = _PREFIX + name
                signs = "/".join("%%" if kind == "cell" else "%" for kind in kinds)
                if self._is_taken(used, kinds):
                    yield (
                        f"agentcell: {name} and {used} are taken by other extensions;"
                        f" unload one and run %reload_ext agentcell."
                    )
                    continue
                yield f"agentcell: {signs}{name} is taken by another extension; use {used}."
            for kind in kinds:
                self._manager.register_function(functions[name], magic_kind=kind, magic_name=used)
                self._registered[kind, used] = name, functions[name]

    def unregister(self) -> None:
        """Take our magics away; where another extension took a name since, that stays."""
        for (kind, used), (_, function) in self._registered.items():
            table = self._manager.magics[kind]
            if table.get(used) is function:
                del table[used]
            if vars(self._manager.user_magics).get(used) is function:
                delattr(self._manager.user_magics, used)
        self._registered.clear()

    def used(self, kind: str) -> dict[str, str]:
        """Return the names under which our magics are called now, with the magics' own names.

        Parameters
        ----------
        kind
            ``line`` or ``cell``.
        """
        table = self._manager.magics[kind]
        return {
            used: name
            for (of_kind, used), (name, function) in self._registered.items()
            if of_kind == kind and table.get(used) is function
        }

    @property
    def _manager(self) -> Any:
        return self._shell.magics_manager

    def _is_taken(self, name: str, kinds: tuple[str, ...]) -> bool:
        """Whether somebody else's magic is called so, or is to be loaded at its first use."""
        later = str(self._manager.lazy_magics.get(name, "agentcell"))
        return any(name in self._manager.magics[kind] for kind in kinds) or (
            later.partition(".")[0].partition(":")[0] not in {"agentcell", "agentcell_magics"}
        )
