"""A wish → pictures or a clip by Google's Gemini: one name for its two ways."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import ClassVar

from agentcell import keys
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.gemini import GeminiModel
from agentcell.errors import NotResumable
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.gemini_images import GeminiImages
from agentcell.imaging.backends.gemini_video import GeminiVideo
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import BackendEvent
from agentcell.imaging.wish import GenerationWish, Kind


class GeminiMedia(ImageBackend):
    """Pictures by `generate_content`, clips by Interactions.

    Parameters
    ----------
    api_key, base_url
        As for `GeminiModel`.
    timeout
        Seconds, or `Timeouts`, for the first byte and each next one of an answer.
    patience
        How long a clip is waited for.

    Notes
    -----
    A clip is a job that the service keeps: it can be asked for again by its id. A picture comes
    with the answer, and an answer that is lost is lost.
    """

    name = "gemini"
    known_models = (
        *("gemini-nano-banana-2.1", "gemini-3-pro-image"),
        *("gemini-omni-1.2-flash", "gemini-omni-1.1-flash"),
    )
    kinds: ClassVar[frozenset[Kind]] = frozenset({"image", "video"})
    can_resume = True

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float | Timeouts | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._key = api_key
        self._images = GeminiImages(api_key, base_url, Timeouts.of(timeout))
        self._video = GeminiVideo(api_key, base_url, Timeouts.of(timeout), patience or Patience())

    def is_at_hand(self) -> bool:
        """Whether a key is set."""
        return bool(self._key) or keys.is_at_hand(GeminiModel.key_variables)

    def check(self, wish: GenerationWish) -> None:
        """Refuse what the API does not take.

        Parameters
        ----------
        wish
            See `ImageBackend.check`.

        Raises
        ------
        GenerationError, AttachmentError
            What was asked, and what it takes.
        KeyMissing
            If there is no key.
        """
        super().check(wish)
        self._way(wish).check(wish)

    def price(self, wish: GenerationWish) -> Decimal | None:
        """Return about what `wish` will cost; None where nobody knows.

        Parameters
        ----------
        wish
            See `ImageBackend.price`.
        """
        given = super().price(wish)
        return self._way(wish).price(wish) if given is None else given

    def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        """Ask, and yield what comes.

        Parameters
        ----------
        wish, key
            See `ImageBackend.run`; the service keeps no idempotency keys.
        """
        del key
        return self._way(wish).run(wish)

    def resume(self, request_id: str, wish: GenerationWish) -> AsyncIterator[BackendEvent]:
        """Ask for a clip that was accepted earlier.

        Parameters
        ----------
        request_id, wish
            See `ImageBackend.resume`.

        Raises
        ------
        NotResumable
            If it is a picture: those come with the answer alone.
        """
        if wish.kind == "image":
            raise NotResumable(
                "gemini keeps no pictures: they come with the answer, which was lost.",
                fix="look at your account there, it may have been charged; then ask anew.",
            )
        return self._video.watched(request_id, wish)

    async def cancel(self, request_id: str) -> bool:
        """Ask the service to stop a clip.

        Parameters
        ----------
        request_id
            The service's own name of it.

        Returns
        -------
        bool
            Whether it says that it did.
        """
        return await self._video.cancel(request_id)

    def _way(self, wish: GenerationWish) -> GeminiImages | GeminiVideo:
        return self._images if wish.kind == "image" else self._video
