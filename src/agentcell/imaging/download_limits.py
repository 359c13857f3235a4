"""How much, how long and how often: numbers → limits of a download, checked."""

from __future__ import annotations

from dataclasses import dataclass


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
            least = 0 if name in {"redirects", "retries", "first_wait", "longest_wait"} else 1e-9
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least:
                raise ValueError(f"{name} is {value!r}; a number above 0 was expected")
