"""An account and a file's digest, to the file's copy at a service, for as long as that is there.

Copies are known to the whole process, and, where a folder is given, in ``uploads.json`` there: to
the next process and to others at the same moment. Neither holds a key: an account is a hash of
the service, its address and the key.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentcell.adapters.failures import Origin
from agentcell.adapters.file_lock import alone

logger = logging.getLogger(__name__)

FILE = "uploads.json"

SPARE_SECONDS = 600.0
"""A copy that is deleted sooner than this is not named any more: an answer takes its time."""

_MOST_SEEN = 10_000
"""Files that are remembered as sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file's copy at a service.

    Parameters
    ----------
    provider
        Whose Files API keeps it.
    file_id
        The service's name for it.
    digest
        ``sha256:<hex>`` of the content, as `MediaAsset.fingerprint`.
    size_bytes, mime_type
        Of the file.
    uploaded_at, expires_at
        Seconds since 1970, by this machine's clock; None if the service never deletes it.
    uri
        The address by which a request names it, where that is not its id.
    """

    provider: str
    file_id: str
    digest: str
    size_bytes: int
    mime_type: str
    uploaded_at: float
    expires_at: float | None = None
    uri: str = ""

    def __repr__(self) -> str:
        return f"Upload({self.provider}, {self.file_id!r:.60}, {self.size_bytes:,} bytes)"

    @property
    def reference(self) -> str:
        """What a request names it by."""
        return self.uri or self.file_id

    @property
    def usable(self) -> bool:
        """Whether it is there for long enough yet to ask about it."""
        return self.expires_at is None or time.time() + SPARE_SECONDS < self.expires_at

    @property
    def expired(self) -> bool:
        """Whether the service has deleted it by now."""
        return self.expires_at is not None and time.time() >= self.expires_at


def account_of(origin: Origin) -> str:
    """Return what tells `origin`'s files from those of other keys, addresses and services."""
    secret = f"agentcell uploads\n{origin.provider}\n{origin.address}\n{origin.key}"
    return hashlib.sha256(secret.encode()).hexdigest()[:32]


T = TypeVar("T")

_Place = tuple[str, str]
"""An account and a digest."""


class UploadStore:
    """What this process knows of copies; all its methods may be called by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[_Place, Upload] = {}
        self._lost: set[tuple[str, str]] = set()
        self._seen: dict[_Place, None] = {}
        self._flights: dict[_Place, Flight] = {}

    def find(self, account: str, digest: str, folder: Path | None = None) -> Upload | None:
        """Return the usable copy of `digest`, or None."""
        place = (account, digest)
        with self._lock:
            known = self._known.get(place)
            if known is not None and known.usable:
                return known
        known = _read(folder).get(place) if folder is not None else None
        if known is None or not known.usable:
            return None
        with self._lock:
            if (account, known.file_id) in self._lost:  # told by a folder that cannot be written
                return None
            self._known[place] = known
        return known

    def keep(self, account: str, upload: Upload, folder: Path | None = None) -> None:
        """Remember `upload`, in the place of an earlier one of that digest."""
        place = (account, upload.digest)
        with self._lock:
            self._known[place] = upload
        if folder is not None:
            _change(folder, lambda entries: entries.update({place: upload}))

    def forget(self, account: str, upload: Upload, folder: Path | None = None) -> None:
        """Forget `upload`; another copy of the same digest, made meanwhile, stays."""
        place = (account, upload.digest)

        def drop(entries: dict[_Place, Upload]) -> None:
            known = entries.get(place)
            if known is not None and known.file_id == upload.file_id:
                del entries[place]

        with self._lock:
            drop(self._known)
            self._lost.add((account, upload.file_id))
        if folder is not None:
            _change(folder, drop)

    def all_of(self, account: str, folder: Path | None = None) -> list[Upload]:
        """Return the copies of `account` that are still there, the oldest first."""
        entries = {} if folder is None else _read(folder)
        with self._lock:
            entries |= self._known
            found = [
                upload
                for (whose, _), upload in entries.items()
                if whose == account and (account, upload.file_id) not in self._lost
            ]
        return sorted((one for one in found if not one.expired), key=lambda one: one.uploaded_at)

    def seen(self, account: str, digest: str) -> bool:
        """Return whether `digest` was sent before."""
        with self._lock:
            return (account, digest) in self._seen

    def see(self, account: str, digest: str) -> None:
        """Remember that `digest` is being sent."""
        with self._lock:
            self._seen[account, digest] = self._seen.pop((account, digest), None)
            if len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]

    def take_off(self, account: str, digest: str) -> tuple[Flight, bool]:
        """Return the upload of `digest` that is under way, and whether it is the caller's own.

        The owner must let it `land`.
        """
        with self._lock:
            flight = self._flights.get((account, digest))
            if flight is not None:
                return flight, False
            flight = self._flights[account, digest] = Flight()
            return flight, True

    def land(self, account: str, digest: str, error: Exception | None = None) -> None:
        """End the caller's own upload of `digest`, well or with an `error` for all who wait."""
        with self._lock:
            flight = self._flights.pop((account, digest))
        flight.error = error
        flight.landed = True


class Flight:
    """One upload under way, which may be watched from other threads and loops."""

    __slots__ = ("error", "landed")

    def __init__(self) -> None:
        self.landed = False
        self.error: Exception | None = None


UPLOADS = UploadStore()
"""The process's own."""


async def kept(folder: Path | None, work: Callable[..., T], *arguments: Any) -> T:
    """Call a method of the store, in a thread where it reads or writes a file."""
    if folder is None:
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments, folder)


def _read(folder: Path) -> dict[_Place, Upload]:
    """Return what the folder's file holds; a missing or damaged one holds nothing."""
    try:
        entries = json.loads((folder / FILE).read_text(encoding="utf-8"))["uploads"]
        return dict(filter(None, map(_entry, entries)))
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return {}


def _entry(fields: Any) -> tuple[_Place, Upload] | None:
    if not isinstance(fields, dict):
        return None
    fields = dict(fields)
    account = fields.pop("account", None)
    try:
        upload = Upload(**fields)
    except TypeError:
        return None
    expires = upload.expires_at
    texts = (account, upload.provider, upload.file_id, upload.digest, upload.mime_type, upload.uri)
    numbers = (upload.size_bytes, upload.uploaded_at, 0.0 if expires is None else expires)
    if not all(isinstance(text, str) for text in texts):
        return None
    if not upload.file_id or not all(type(number) in {int, float} for number in numbers):
        return None
    return (str(account), upload.digest), upload


def _change(folder: Path, change: Callable[[dict[_Place, Upload]], object]) -> None:
    """Let `change` work on the folder's entries; a folder that cannot be written is let be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            entries = _read(folder)
            change(entries)
            _write(folder, {place: one for place, one in entries.items() if not one.expired})
    except OSError as error:
        logger.warning(
            "The uploads are not kept in %s (%s); the next process uploads anew.",
            folder,
            error.strerror,
        )


def _write(folder: Path, entries: Mapping[_Place, Upload]) -> None:
    import tempfile

    rows = [{"account": place[0], **asdict(upload)} for place, upload in entries.items()]
    text = json.dumps({"uploads": rows}, ensure_ascii=False, indent=1)
    # A file of its own that only this user may read, then a rename: nobody sees half of it.
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{FILE}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(folder / FILE)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


_file_lock = threading.Lock()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other threads, and other processes, from changing the folder's file meanwhile."""
    with _file_lock, alone(folder / f"{FILE}.lock"):
        yield
