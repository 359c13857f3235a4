"""Who makes pictures and clips: the protocol that a service of one's own speaks here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from agentcell.errors import GenerationError, NotResumable
from agentcell.imaging.events import BackendEvent
from agentcell.imaging.wish import GenerationWish, Kind

if TYPE_CHECKING:
    from agentcell.imaging.download import Downloader


class ImageBackend:
    """One maker of pictures or clips. A third party need only write `run`.

    A backend keeps no files and no ledger: it carries wishes to a service and bytes back. It does
    no I/O in its constructor. It retries nothing that may be paid for.
    """

    name: ClassVar[str] = ""
    """What `--model NAME/…` and the ledger call it."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({"image"})
    """What it makes."""

    known_models: ClassVar[tuple[str, ...]] = ()
    """Models that it is known to have, for lists and Tab; others may be named too."""

    is_free: ClassVar[bool] = False
    """Whether it costs nothing, whatever is asked."""

    can_resume: ClassVar[bool] = False
    """Whether a job can be asked for again by its request id, without paying twice."""

    keeps_keys: ClassVar[bool] = False
    """Whether the service keeps idempotency keys: a job whose answer was lost may then be sent
    again with its key, and is not charged twice."""

    def downloader(self) -> Downloader:
        """Return what fetches the files that it names by address."""
        from agentcell.imaging.download import Downloader

        return Downloader()

    def is_at_hand(self) -> bool:
        """Whether a wish that names nobody may go here: what it needs (a key, an address) is set.

        Nothing is sent, and nobody who may be slow is asked for it.
        """
        return False

    def check(self, wish: GenerationWish) -> None:
        """Refuse what this backend cannot make, before anything is sent.

        Raises
        ------
        GenerationError
            What was asked, what it can do instead.
        """
        if wish.kind not in self.kinds:
            raise GenerationError(
                f"{self.name} makes no {wish.kind}s.",
                fix="choose another maker with --model, see `%generate models`.",
            )

    def price(self, wish: GenerationWish) -> Decimal | None:
        """Return about what `wish` will cost in US dollars; None if nobody knows.

        What a person said with `set_price` goes before.
        """
        from agentcell.imaging.prices import given_price

        return Decimal(0) if self.is_free else given_price(self.name, wish)

    def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        """Send `wish` and yield what comes; the last event is `Ended`.

        Parameters
        ----------
        wish
            Passed `check`.
        key
            An idempotency key: the same key never makes the service charge twice, if it keeps such
            keys.

        Raises
        ------
        ModelError
            If the service refuses or fails. Its `is_billed` (`GenerationFailed`) says whether it
            may have been paid for.
        """
        raise NotImplementedError

    def resume(self, request_id: str, wish: GenerationWish) -> AsyncIterator[BackendEvent]:
        """Ask for a job that was accepted earlier; nothing is submitted again.

        Raises
        ------
        NotResumable
            If the service keeps no jobs.
        """
        del wish
        raise NotResumable(
            f"{self.name} keeps no jobs, so {request_id or 'this one'} cannot be asked for again.",
            fix="look at your account there: it may have been charged; then ask anew.",
        )

    async def cancel(self, request_id: str) -> bool:
        """Ask the service to stop a job; False if it cannot be stopped."""
        del request_id
        return False
