"""A model and the tokens of its answer, to what they cost: US dollars, or None if nobody knows.

Prices are, in this order: those given by `set_price`, those of the JSON file that
``AGENTCELL_PRICES`` names, and those that come with the package ``genai-prices``. Nothing is
fetched. What is not known is never taken for free: only a model that says so (`Model.is_free`) or
a server on this machine that needs no key costs nothing. Fees for a provider's own tools (web
search) stand in no number of tokens and are not counted.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcell.adapters.free_models import is_free
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.package_prices import Counts, dollars
from agentcell.adapters.price_table import MILLION, Price, PriceTable, key_of, read_prices, shown
from agentcell.adapters.registry import locate, resolve
from agentcell.errors import AgentcellError, PriceError, UnknownModel

if TYPE_CHECKING:
    from agentcell.adapters.events import Usage

PRICES_VARIABLE = "AGENTCELL_PRICES"
"""The path of a JSON file of prices; see `agentcell.adapters.price_table.read_prices`."""

LOGGER = logging.getLogger("agentcell.pricing")

_NOTHING = Decimal(0)

_lock = threading.Lock()
_given: PriceTable = {}
_file: tuple[tuple[str, int, int] | None, PriceTable, PriceError | None] = (None, {}, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something costs, in US dollars.

    Parameters
    ----------
    input
        Of what the model read anew, what it put into a cache included.
    cached
        Of what it had in its cache.
    output
        Of what it wrote, reasoning included.
    """

    input: Decimal = _NOTHING
    cached: Decimal = _NOTHING
    output: Decimal = _NOTHING

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.input + self.cached + self.output

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
        )

    def __str__(self) -> str:
        return shown(self.total)


def cost(
    model: Model | str,
    usage: Usage | None,
    *,
    service_tier: str | None = None,
    processing: str | None = None,
    when: datetime | None = None,
) -> Cost | None:
    """Return what an answer cost, None if that is not known; 0 only for what is free.

    Parameters
    ----------
    model
        Who answered, or its name.
    usage
        What the provider counted.
    service_tier
        The provider's own name of it, where it was asked for with the call.
    processing
        ``"batch"`` for an answer of the provider's batch service, which has prices of its own: what
        `set_price` or the file says is not taken for them.
    when
        The time of the request, since some prices change; now by default.

    Notes
    -----
    A file of prices that cannot be read is no reason to lose an answer: it is logged, and the cost
    is not known. `price_of` and `estimate.estimate_cost` raise `PriceError`.
    """
    try:
        asked = innermost(resolve(model) if isinstance(model, str) else model)
    except AgentcellError:
        asked = None
    try:
        price = _own_price(_names(model if asked is None else asked))
    except PriceError as problem:
        _log_once(problem)
        return Cost() if asked is not None and is_free(asked) else None
    if price is not None and price.input is not None and price.output is not None:
        known = processing is None
        return _by_price(price, price.input, price.output, usage) if known else None
    if asked is None:
        return None
    if is_free(asked):
        return Cost()
    counts = Counts.of(usage)
    tiers = {"service_tier": service_tier, "processing": processing}
    paid = None if counts is None else dollars(asked, counts, tiers, when)
    return None if paid is None else Cost(input=paid[0], cached=paid[1], output=paid[2])


def call_cost(
    model: Any, usage: Usage | None, recorded: str | None, *, processing: str | None = None
) -> Decimal | None:
    """Return the US dollars that one call cost: as it was recorded, else by the prices of today.

    Parameters
    ----------
    model
        Who answered; what is no `Model` has no price.
    usage, processing
        See `cost`.
    recorded
        What `Finished.cost` said; empty: nobody knew it then. None: it was not recorded.
    """
    if recorded is not None:
        return Decimal(recorded) if recorded else None
    found = cost(model, usage, processing=processing) if isinstance(model, Model) else None
    return None if found is None else found.total


def set_price(  # noqa: PLR0913 (one for each thing that is paid for)
    name: str,
    *,
    input: Any = None,  # noqa: A002 (what is paid for is called so everywhere)
    output: Any = None,
    cached_input: Any = None,
    cache_write: Any = None,
    per_image: Any = None,
    per_second: Any = None,
) -> None:
    """Set what a model costs, in US dollars for a million tokens; it goes before all other prices.

    What makes pictures and clips may have a price for each of them instead.

    Parameters
    ----------
    name
        ``provider/model``, an alias, or a model's id for all providers.
    input, output, cached_input, cache_write, per_image, per_second
        See `Price`.

    Raises
    ------
    PriceError
        If one is no number of at least 0, or there is none.

    Examples
    --------
    >>> set_price("hosted/seedream-4-0-250828", per_image="0.039")
    """
    values = {"input": input, "output": output}
    values |= {"cached_input": cached_input, "cache_write": cache_write}
    values |= {"per_image": per_image, "per_second": per_second}
    price = Price.of(values, f"The price of {str(name)[:60]}")
    with _lock:
        _given[_full_name(name)] = price


def forget_price(name: str) -> None:
    """Take back what `set_price` set; nothing happens if it set nothing."""
    with _lock:
        _given.pop(_full_name(name), None)


def price_of(model: Model | str) -> Price | None:
    """Return the price that was given for `model` here, None if none was.

    Raises
    ------
    PriceError
        If the file that ``AGENTCELL_PRICES`` names cannot be read.
    """
    return _own_price(_names(model))


def piece_price(names: Iterable[str]) -> Price | None:
    """Return the price by piece that was given under the first of `names` that has one.

    Raises
    ------
    PriceError
        If the file that ``AGENTCELL_PRICES`` names cannot be read.
    """
    tables = (dict(_given), _of_file())
    for table in tables:
        for name in map(key_of, names):
            price = table.get(name)
            if price is not None and (price.per_image, price.per_second) != (None, None):
                return price
    return None


def _full_name(name: str) -> str:
    """Return the name under which a price is kept."""
    try:
        info, model_name = locate(name)
    except UnknownModel:
        return key_of(name)
    return key_of(f"{info.name}/{model_name}")


def _names(model: Model | str) -> tuple[str, ...]:
    """Return the names under which a model's price may stand, the nearest first."""
    if isinstance(model, str):
        full = _full_name(model) if model.strip() else ""
        provider, _, name = full.partition("/")
    else:
        provider, name = model.provider.lower(), model.model_name.strip().lower()
        full = f"{provider}/{name}"
    other = (f"openai/{name}",) if provider == "openai-chat" else ()
    return (full, *other, *((name,) if name else ()))


def _own_price(names: tuple[str, ...]) -> Price | None:
    tables = (dict(_given), _of_file())
    return next((table[name] for table in tables for name in names if name in table), None)


def _of_file() -> PriceTable:
    """Return the prices of the file in the environment, read again where it has changed."""
    global _file  # noqa: PLW0603 (there is one environment)
    text = os.environ.get(PRICES_VARIABLE, "").strip()
    if not text:
        return {}
    path = Path(text).expanduser()
    try:
        stat = path.stat()
        state = (text, stat.st_mtime_ns, stat.st_size)
    except OSError:
        state = (text, 0, 0)
    with _lock:
        known, table, problem = _file
    if known != state:
        table, problem = {}, None
        try:
            table = read_prices(path)
        except PriceError as error:
            problem = error
        with _lock:
            _file = (state, table, problem)
    if problem is not None:
        raise problem.with_traceback(None)
    return table


_logged: set[str] = set()


def _log_once(problem: PriceError) -> None:
    if problem.problem not in _logged:
        _logged.add(problem.problem)
        LOGGER.warning("No costs are known: %s", problem.problem)


def _by_price(price: Price, read: Decimal, wrote: Decimal, usage: Usage | None) -> Cost | None:
    """Return the cost by a price that was given: `read` and `wrote` for a million tokens."""
    parts = (read, wrote, price.cached_input, price.cache_write)
    if not any(parts):
        return Cost()
    counts = Counts.of(usage)
    if counts is None:
        return None
    fresh = counts.input - counts.cached - counts.written
    write = read if price.cache_write is None else price.cache_write
    cached = read if price.cached_input is None else price.cached_input
    return Cost(
        input=(fresh * read + counts.written * write) / MILLION,
        cached=counts.cached * cached / MILLION,
        output=counts.output * wrote / MILLION,
    )
