"""Files on loopback and how they are fetched, for the tests of downloads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentcell.errors import DownloadError
from agentcell.imaging.download import Downloader
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.imaging.placing import Part

QUICK = DownloadLimits(first_wait=0.01, longest_wait=0.05, total=60)


def fetch(url: str, folder: Path, **options: object) -> Part:
    options.setdefault("limits", QUICK)
    options.setdefault("loopback", True)
    return asyncio.run(Downloader(**options).fetch(url, folder))  # type: ignore[arg-type]


def refused(url: str, folder: Path, **options: object) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        fetch(url, folder, **options)
    return caught.value


class Names:
    """A resolver that says what a test wants, one list for each time that it is asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
