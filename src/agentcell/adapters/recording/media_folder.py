"""Media that recorded answers hold ↔ files beside the recording, named by their SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

from agentcell.errors import HistoryError

_NAME = re.compile(r"[0-9a-f]{64}")


class MediaFolder:
    """The media of one recording; the folder is made with the first of them.

    Parameters
    ----------
    recording
        The text file's path: of ``recordings/tutorial.jsonl`` the media lie in
        ``recordings/tutorial.files``.
    """

    def __init__(self, recording: Path) -> None:
        self.path = recording.with_suffix(".files")

    def read(self, digest: str) -> bytes:
        """Return the medium of a SHA-256.

        Raises
        ------
        HistoryError
            If its file is gone, or is another.
        """
        file = self.path / digest
        try:
            data = file.read_bytes()
        except OSError as error:
            raise HistoryError(
                f"A recorded answer holds the file '{file}', which cannot be read:"
                f" {error.strerror or error}.",
                fix="commit that folder with the recording, or record the answer anew.",
            ) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise HistoryError(
                f"The file '{file}' of a recorded answer is not what was recorded:"
                " its SHA-256 is another.",
                fix="restore it from a copy (git may have changed line ends, or LFS holds it), or"
                " record the answer anew.",
            )
        return data

    def write(self, media: Mapping[str, bytes]) -> None:
        """Keep media, each under its SHA-256.

        Raises
        ------
        HistoryError
            If one cannot be written.
        """
        for digest, data in media.items():
            file = self.path / digest
            partial = self.path / f".{digest}.{os.getpid()}.{threading.get_ident()}.part"
            try:
                if file.exists() and file.stat().st_size == len(data):
                    continue
                self.path.mkdir(parents=True, exist_ok=True)
                partial.write_bytes(data)
                partial.replace(file)
            except OSError as error:
                raise HistoryError(
                    f"The file '{file}' of an answer cannot be written: {error.strerror or error}.",
                    fix="free some space, or choose a file and a folder that can be written.",
                ) from error

    def keep_only(self, wanted: set[str]) -> None:
        """Delete the media that no answer holds; what is not ours stays."""
        if not self.path.is_dir():
            return
        for file in list(self.path.iterdir()):
            if _NAME.fullmatch(file.name) and file.name not in wanted:
                file.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()
