"""A block of code, to the error that it raised; as `pytest.raises`, which need not be there."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Generic, Self, TypeVar

Error = TypeVar("Error", bound=BaseException)


class raises(Generic[Error]):  # noqa: N801 (it reads as a word of the language)
    """Expect one of `kinds`; another error, or none, fails the check.

    Parameters
    ----------
    kinds
        Classes of errors.
    match
        A pattern that is somewhere in the error's text.

    Attributes
    ----------
    value
        The error, after the block.
    """

    value: Error

    def __init__(self, *kinds: type[Error], match: str = "") -> None:
        self._kinds = kinds
        self._match = match

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        wanted = " or ".join(kind.__name__ for kind in self._kinds)
        assert error is not None, f"nothing was raised; {wanted} was expected"
        if not isinstance(error, Exception) and not isinstance(error, self._kinds):
            return False  # an interrupt is nobody's failure
        text = f"{type(error).__name__}: {error}"
        assert isinstance(error, self._kinds), f"{wanted} was expected, and this raised: {text}"
        assert re.search(self._match, str(error)), f"{self._match!r} is not in {text}"
        self.value = error
        return True
