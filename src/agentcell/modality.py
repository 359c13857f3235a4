"""The kinds of input that a field may hold and a model may take."""

from __future__ import annotations

from enum import StrEnum

from agentcell.errors import FieldError


class FieldModality(StrEnum):
    """What a field holds: text, an image, a PDF, or any of them."""

    TEXT = "TEXT"
    IMAGE = "IMAGE"
    PDF = "PDF"
    ANY = "ANY"

    @classmethod
    def from_value(cls, value: object) -> FieldModality:
        """Return the modality that `value` names, in any case; None means ANY.

        Raises
        ------
        FieldError
            If it names none of the four.
        """
        if isinstance(value, cls):
            return value
        if value is None:
            return cls.ANY
        try:
            return cls(str(value).strip().upper())
        except ValueError:
            raise FieldError(
                f"Unknown modality {value!r}.", fix="use TEXT, IMAGE, PDF or ANY."
            ) from None
