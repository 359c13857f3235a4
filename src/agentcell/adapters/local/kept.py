"""What the built-in model reads before every sentence → a file from which it goes on next time.

Reading it takes a second of CPU time, loading what came of it three milliseconds. It is our own
fixed text; nothing of a person's question is ever in such a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import secrets
import time
from pathlib import Path

from agentcell.adapters.local.child import CONTEXT_TOKENS
from agentcell.adapters.local.phrasing import opening
from agentcell.adapters.local.weights import kept_folder

_MOST_FILES = 4
"""Of other versions of the model, the runtime or the text; three megabytes each."""

_STALE_SECONDS = 60.0


class KeptOpening:
    """The file for one model file, one runtime and one text.

    Its name holds the checksum of its content, and one that does not match is never handed to
    the runtime, which would abort.
    """

    def __init__(self, gguf: Path) -> None:
        self.folder = kept_folder()
        facts = gguf.stat()
        version = ""
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version("xllamacpp")
        of = [str(gguf), facts.st_size, facts.st_mtime_ns, version, CONTEXT_TOKENS, opening()]
        self._key = hashlib.sha256(json.dumps(of).encode()).hexdigest()[:16]

    def found(self) -> str | None:
        """Return the name of the file, if it is there and whole."""
        for path in self.folder.glob(f"{self._key}-*.kv"):
            with contextlib.suppress(OSError):
                if path.stem.rpartition("-")[2] == _digest(path):
                    return path.name
                path.unlink()
        return None

    def new_name(self) -> str:
        """Return a name for a file that is being written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob("new-*"):  # by a process that was killed
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink(missing_ok=True)
        return f"new-{os.getpid()}-{secrets.token_hex(4)}.kv"

    def keep(self, name: str) -> None:
        """Give the file of that name, now written, its last name."""
        path = self.folder / name
        path.replace(self.folder / f"{self._key}-{_digest(path)}.kv")
        files = sorted(self.folder.glob("*.kv"), key=lambda each: each.stat().st_mtime)
        for old in files[:-_MOST_FILES]:
            old.unlink(missing_ok=True)

    def drop(self, name: str) -> None:
        """Delete a file that did not get its last name, if it is there."""
        (self.folder / name).unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
