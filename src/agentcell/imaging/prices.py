"""A wish → what a person said that it costs, by the piece or by the second."""

from __future__ import annotations

from decimal import Decimal

from agentcell.adapters.pricing import piece_price
from agentcell.imaging.wish import GenerationWish


def given_price(backend: str, wish: GenerationWish) -> Decimal | None:
    """Return what `wish` costs in US dollars by a price that was given; None if none was.

    Parameters
    ----------
    backend
        Who makes it.
    wish
        With the backend's own name for the model. A clip's price by the second says something
        only where its length is known.

    Raises
    ------
    PriceError
        If the file that ``AGENTCELL_PRICES`` names cannot be read.
    """
    names = (f"{backend}/{wish.model}", wish.model) if wish.model else (backend,)
    price = piece_price(names)
    if price is None:
        return None
    if wish.kind == "image":
        return None if price.per_image is None else price.per_image * wish.count
    if price.per_second is None or wish.seconds is None:
        return None
    return price.per_second * wish.seconds
