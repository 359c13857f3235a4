"""A lock file, to a time in which no other thread or process that knows it is at work."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS = 5.0
"""How long to wait for others; then the work goes on without the lock, which somebody forgot."""

_LOOK = 0.01


@contextlib.contextmanager
def alone(lock: Path, seconds: float = SECONDS) -> Iterator[None]:
    """Keep all others who use the same `lock` out meanwhile.

    Raises
    ------
    OSError
        If the lock file cannot be made.
    """
    # Never through a link: a lock may lie in a folder that other people write to.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(lock, flags, 0o600)
    try:
        end = time.monotonic() + seconds
        while not _locked(descriptor) and time.monotonic() < end:
            time.sleep(_LOOK)
        yield
    finally:
        os.close(descriptor)  # gives the lock up


def _locked(descriptor: int) -> bool:
    try:
        try:
            import fcntl
        except ImportError:
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
