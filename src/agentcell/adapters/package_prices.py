"""A model and counted tokens, to dollars by the prices that the package ``genai-prices`` brings.

It is imported at the first question, about 0.2 seconds, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agentcell.adapters.addresses import host_of
from agentcell.adapters.price_table import MILLION
from agentcell.adapters.remote import RemoteModel

if TYPE_CHECKING:
    from agentcell.adapters.events import Usage
    from agentcell.adapters.model import Model

_PROVIDERS = {
    "openai": ("openai", ".openai.com"),
    "openai-chat": ("openai", ".openai.com"),
    "anthropic": ("anthropic", ".anthropic.com"),
    "gemini": ("google", ".googleapis.com"),
}
"""By our names: the package's, and where the provider's own address ends."""

_SAME_MODEL = re.compile(r"[-@:](latest|preview|exp|\d{2,8}|\d{4}-\d\d-\d\d)([-@:].*)?$")
"""What may follow a model's id without making it another model."""

_USUAL_TIERS = {"", "auto", "default", "standard", "standard_only"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Tokens that do not contradict each other; `cached` and `written` are parts of `input`."""

    input: int
    cached: int
    written: int
    written_hour: int
    output: int
    output_images: int
    input_images: int = 0

    @classmethod
    def of(cls, usage: Usage | None) -> Counts | None:
        """Return what `usage` counts, None where a count is missing or contradicts another."""
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        counts = cls(
            input=usage.input_tokens,
            cached=usage.cached_tokens or 0,
            written=usage.cache_write_tokens or 0,
            written_hour=usage.hour_cache_write_tokens or 0,
            output=usage.output_tokens,
            output_images=usage.image_output_tokens or 0,
            input_images=usage.image_tokens or 0,
        )
        is_sound = (
            all(isinstance(count, int) and count >= 0 for count in counts._all())
            and counts.cached + counts.written <= counts.input
            and counts.written_hour <= counts.written
            and counts.output_images <= counts.output
            and counts.input_images <= counts.input
        )
        return counts if is_sound else None

    def _all(self) -> tuple[int, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


def dollars(
    model: Model, counts: Counts, tiers: Mapping[str, str | None], when: datetime | None
) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return what was paid for input, cached input and output; None if the package knows no price.

    Parameters
    ----------
    tiers
        ``service_tier`` by the provider's own name, None: as `model` asks for it; ``processing``.
    when
        The time of the request; None: now.
    """
    try:
        import genai_prices
    except ImportError:
        return None
    name = model.model_name.strip().lower().removeprefix("models/")
    whose, context = _whose(model), _context(model, tiers)
    tokens = {
        "input_tokens": counts.input,
        "cache_read_tokens": counts.cached,
        "cache_write_tokens": counts.written,
        "cache_write_1h_tokens": counts.written_hour,
        "output_tokens": counts.output,
    }

    def priced(**more: int) -> Any:
        return genai_prices.calc_price(
            genai_prices.Usage(**tokens, **more),
            name,
            genai_request_timestamp=when,
            price_context=context or None,
            **whose,
        )

    try:
        found = priced()
        if not _is_meant(name, found.model.id):
            return None
        if found.provider.id != whose.get("provider_id", found.provider.id):
            return None  # a provider of a like name
        if any(not _has_variant(found.model, key, tier) for key, tier in context.items()):
            return None
        apart = {
            f"{side}_image_tokens": count
            for side, count in (("input", counts.input_images), ("output", counts.output_images))
            if getattr(found.model_price, f"{side}_image_mtok", None) is not None
        }
        if apart:
            found = priced(**apart)
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
    rates = found.model_price
    rate = rates.cache_read_mtok if rates.cache_read_mtok is not None else rates.input_mtok
    cached = counts.cached * _at(rate, counts.input) / MILLION
    return found.input_price - cached, cached, found.output_price


def _at(rate: Any, input_tokens: int) -> Decimal:
    """Return a rate that may depend on how much was read."""
    if rate is None or isinstance(rate, Decimal):
        return rate or Decimal(0)
    reached = [tier.price for tier in rate.tiers if input_tokens > tier.start]
    found: Decimal = reached[-1] if reached else rate.base
    return found


def _whose(model: Model) -> dict[str, str]:
    """Return whose price is asked for: the provider's, or that of the address."""
    provider, home = _PROVIDERS.get(model.provider, (model.provider, ""))
    if not isinstance(model, RemoteModel):
        return {"provider_id": provider}
    url = model.base_url
    if home and f".{host_of(url)}".endswith(home):
        return {"provider_id": provider}
    return {"provider_api_url": url}


def _context(model: Model, tiers: Mapping[str, str | None]) -> dict[str, str]:
    """Return what else the price depends on, where it is not as usual."""
    extra: Mapping[str, Any] = getattr(model, "_extra_body", {})
    wanted = {
        "service_tier": tiers.get("service_tier") or extra.get("service_tier"),
        "speed": extra.get("speed"),
        "processing": tiers.get("processing"),
    }
    return {
        name: str(value).lower()
        for name, value in wanted.items()
        if value and str(value).lower() not in _USUAL_TIERS
    }


def _has_variant(found: Any, name: str, value: str) -> bool:
    variants = found.price_variants or ()
    return any(variant.when.get(name) == value for variant in variants)


def _is_meant(name: str, found: str) -> bool:
    """Return whether the model that was found is the one that was asked for, not a namesake."""
    if not name.startswith(found) or name == found:
        return True
    return _SAME_MODEL.match(name[len(found) :]) is not None
