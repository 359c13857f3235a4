"""An account with a provider that makes pictures → advice that fits them, where it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.adapters.remote import RemoteModel
from agentcell.errors import KeyMissing

if TYPE_CHECKING:
    from agentcell.adapters.failures import Origin

_ANOTHER = "or name another maker with -m; `%generate backends` lists them."


class MakersAccount(RemoteModel):
    """What is said of a question, said of a wish: who answers questions makes no pictures."""

    def fixes(self) -> dict[str, str]:
        """Return better advice than the general one, by the name of an error's class."""
        return {
            **super().fixes(),
            "ContentFiltered": "word the prompt differently, or leave the picture out.",
            "QuotaExceeded": f"add credit to the account, {_ANOTHER}",
            "UnknownModel": "check the model's name; `%generate models` lists some.",
        }

    def _origin(self) -> Origin:
        """Return whom requests go to, with which key."""
        try:
            return super()._origin()
        except KeyMissing as error:
            error.fix = (
                f"run `%agent key {self.provider}` to type it, set {self.key_variable} in the"
                f" environment, {_ANOTHER}"
            )
            raise
