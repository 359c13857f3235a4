"""The kind of a setting, to what it takes: an amount of dollars, and words for every kind."""

from __future__ import annotations

from typing import Any

from traitlets import Bool, Enum, Float, Int, TraitError, TraitType


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
        from agentcell.amounts import amount, plain_amount
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


def expected(trait: TraitType[Any, Any]) -> str:
    """Return what a setting takes, in words: ``a whole number from 1``."""
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


def example(trait: TraitType[Any, Any]) -> str:
    """Return a value that a setting takes, as Python code."""
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
