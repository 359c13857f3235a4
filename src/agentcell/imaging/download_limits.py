"""How much, how long and how often: numbers → limits of a download, checked."""

from __future__ import annotations

from dataclasses import dataclass

from agentcell.safe_text import shown_value

_WHOLE = {"image_bytes", "clip_bytes", "redirects", "retries"}
_MAY_BE_NONE = {"redirects", "retries", "first_wait", "longest_wait"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLimits:
    """How much, how long and how often.

    Parameters
    ----------
    image_bytes, clip_bytes
        Bytes of a picture and of a clip.
    redirects
        How often the way may lead on.
    connect, idle, total
        Seconds for a connection, between two pieces, and for all of it.
    retries
        Attempts after the first, where the failure may pass. Nothing is paid for a download.
    first_wait, longest_wait
        Seconds before the second attempt, doubled for each further one; and at most.

    Raises
    ------
    ValueError
        If one of them is something else.
    """

    image_bytes: int = 64 << 20
    clip_bytes: int = 1 << 30
    redirects: int = 5
    connect: float = 15.0
    idle: float = 30.0
    total: float = 900.0
    retries: int = 2
    first_wait: float = 0.5
    longest_wait: float = 10.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            kinds = int if name in _WHOLE else (int, float)
            is_number = isinstance(value, kinds) and not isinstance(value, bool)
            if not is_number or not (value > 0 or (value == 0 and name in _MAY_BE_NONE)):
                what = "whole number" if name in _WHOLE else "number"
                least = "from 0 on" if name in _MAY_BE_NONE else "above 0"
                raise ValueError(f"{name} is {shown_value(value)}; a {what} {least} was expected")
