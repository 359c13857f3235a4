"""Attachments of turns → each content once, in memory or in a folder; what no turn needs goes."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from agentcell.assets.asset import MediaAsset
from agentcell.errors import AttachmentError
from agentcell.history.records import AssetFolder

GRACE = 3_600.0
"""Seconds for which a file that no turn names may still be wanted: another kernel writes first
the attachment, then the turn."""


class KeptAssets:
    """An `AssetStore` whose assets are each there once, however many turns hold them.

    Parameters
    ----------
    folder
        Where contents are kept. None: in memory, as long as this object.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else AssetFolder(folder)
        self._loaded: weakref.WeakValueDictionary[str, MediaAsset] = weakref.WeakValueDictionary()
        self._held: dict[str, MediaAsset] = {}

    def __repr__(self) -> str:
        return f"KeptAssets({self._folder or 'memory'})"

    def put(self, asset: MediaAsset) -> None:
        """Keep an asset.

        Parameters
        ----------
        asset
            Its content is written once, however often it comes.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        fingerprint = asset.fingerprint()
        if self._folder is None:
            self._held.setdefault(fingerprint, asset)
        elif asset.snapshot is not None:
            with contextlib.suppress(AttachmentError):  # its private copy is gone: none to keep
                self._folder.write(asset)
            self._loaded.setdefault(fingerprint, asset)

    def get(self, fingerprint: str) -> bytes | None:
        """Return a content, None if it is not here or not what it was."""
        if self._folder is None:
            held = self._held.get(fingerprint)
            return held.load_bytes() if held is not None and held.snapshot is not None else None
        return self._folder.get(fingerprint)

    def shared(self, fingerprint: str) -> MediaAsset | None:
        """Return an asset that is loaded already, or can be; None if its content is gone."""
        asset = self._held.get(fingerprint) or self._loaded.get(fingerprint)
        if asset is not None or self._folder is None or not fingerprint.startswith("sha256:"):
            return asset
        data = self._folder.get(fingerprint)
        if data is None:
            return None
        return self._loaded.setdefault(fingerprint, MediaAsset.from_bytes(data))

    def remove(self, fingerprint: str) -> None:
        """Take a content away, at once."""
        self._held.pop(fingerprint, None)
        self._loaded.pop(fingerprint, None)
        if self._folder is not None and (place := self._folder.place(fingerprint)):
            with contextlib.suppress(OSError):
                place.unlink()

    def clean(self, is_used: Callable[[str], bool], *, grace: float = GRACE) -> int:
        """Take away what no turn needs, and files that were never finished; return how many.

        Parameters
        ----------
        is_used
            Whether a turn holds what has this fingerprint.
        grace
            Seconds since a file was written last; a younger one stays.
        """
        if self._folder is None:
            return 0
        before, count = time.time() - grace, 0
        for file in _files(self._folder.folder):
            with contextlib.suppress(OSError):  # another kernel cleans as well
                if file.stat().st_mtime > before:
                    continue
                if file.name.endswith(".part") or not is_used(f"sha256:{file.name}"):
                    Path(file.path).unlink()
                    count += 1
        return count


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as inner:
        for entry in inner:
            if entry.is_dir(follow_symlinks=False):
                with os.scandir(entry.path) as files:
                    yield from (file for file in files if file.is_file(follow_symlinks=False))
