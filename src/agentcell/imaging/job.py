"""One request that may be paid for ↔ its record: all that is needed to ask for it again later."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from agentcell.adapters.redaction import REMOVED, known_keys, redacted
from agentcell.assets.asset import ImageAsset
from agentcell.errors import AttachmentError, GenerationError
from agentcell.imaging.web_text import without_queries
from agentcell.imaging.wish import GenerationWish

JobState: TypeAlias = Literal[
    "planned", "submitted", "accepted", "saving", "done", "failed", "cancelled", "unknown"
]
"""planned: written down, nothing was sent. submitted: it goes out, no answer yet. accepted: the
service has it, under its request id. saving: it is made, the files are on their way. unknown:
nobody knows whether the service has it, or what became of it."""

STATES: tuple[JobState, ...] = get_args(JobState)

UNFINISHED: frozenset[JobState] = frozenset({"submitted", "accepted", "saving", "unknown"})
"""The states of a job that may be paid for and whose files are not on disk."""

_PLAIN = (
    *("kind", "model", "count", "size", "format", "quality"),
    *("seed", "seconds", "aspect", "negative"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request for pictures or a clip, from before it is sent until its files are on disk.

    Parameters
    ----------
    id
        Its name here, ``job-`` and ten letters and digits.
    key
        The idempotency key that it is sent with, each time.
    backend
        Who is to make it.
    wish
        What was asked, as JSON values: pictures by digest and path, no bytes, no keys, no query
        of an address.
    state
        See `JobState`.
    request_id
        The service's name for it; empty while nobody knows.
    model
        Who made it, where the service told.
    files
        What is saved.
    held
        Files that hold answers as they came, until they have their names.
    cost
        US dollars; None where nobody knows.
    problem
        Why it failed, or what is missing.
    cell
        The notebook cell that it was asked in.
    created, updated
        In UTC.
    home
        The notebook's folder: places in `wish` that are relative begin there.
    """

    id: str
    key: str
    backend: str
    wish: Mapping[str, Any]
    state: JobState
    created: datetime
    updated: datetime
    request_id: str = ""
    model: str = ""
    files: tuple[Path, ...] = ()
    held: tuple[Path, ...] = ()
    cost: Decimal | None = None
    problem: str = ""
    cell: str = ""
    home: Path | None = field(default=None, repr=False)

    @property
    def prompt(self) -> str:
        """What was to be seen."""
        return str(self.wish.get("prompt", ""))

    @property
    def is_unfinished(self) -> bool:
        """Whether it may be paid for and is not on disk."""
        return self.state in UNFINISHED

    def wish_again(self, *, is_whole: bool = True) -> GenerationWish:
        """Return the wish as it was.

        Parameters
        ----------
        is_whole
            Whether it is to be sent again, so that all of its pictures are needed. False: those
            that are gone are left out, which is enough to ask what became of it.

        Raises
        ------
        GenerationError
            If a picture is gone or was changed.
        """
        return wish_of(self.wish, self.home, is_whole=is_whole)


def record_of(wish: GenerationWish, home: Path | None = None) -> dict[str, Any]:
    """Return `wish` as JSON values without bytes, keys and the queries of addresses.

    Parameters
    ----------
    home
        The notebook's folder: paths in it are written without it.
    """
    record: dict[str, Any] = {"prompt": without_secrets(wish.prompt)}
    for name in _PLAIN:
        value = getattr(wish, name)
        if value not in ("", None):
            record[name] = without_secrets(value) if isinstance(value, str) else value
    if wish.references:
        record["references"] = [_picture(one, home) for one in wish.references]
    if wish.mask is not None:
        record["mask"] = _picture(wish.mask, home)
    if wish.parents:
        record["parents"] = list(wish.parents)
    texts = (wish.prompt, wish.model, wish.negative)
    if any(without_secrets(text) != text for text in texts):
        record["is_shortened"] = True
    return record


def wish_of(
    record: Mapping[str, Any], home: Path | None = None, *, is_whole: bool = True
) -> GenerationWish:
    """Return the wish that `record_of` wrote; parameters and errors as for `Job.wish_again`."""
    if is_whole and record.get("is_shortened"):
        raise GenerationError(
            "This job's words held a key or a signed address, which are not kept: it cannot be"
            " sent again as it was.",
            fix="look at your account with the service, it may have been charged; then ask anew.",
        )
    try:
        return _wish_of(record, home, is_whole=is_whole)
    except (AttributeError, KeyError, TypeError) as error:  # written by another version
        raise GenerationError(
            "What is written down of this job cannot be read.", fix="ask anew."
        ) from error


def _wish_of(record: Mapping[str, Any], home: Path | None, *, is_whole: bool) -> GenerationWish:
    references = [_found(one, home) for one in record.get("references", ())]
    mask = _found(record["mask"], home) if "mask" in record else None
    lost = None in references or ("mask" in record and mask is None)
    if lost and is_whole:
        raise GenerationError(
            "A picture that this job was made from is gone or was changed.",
            fix="put it back where it was, or ask anew.",
        )
    pictures = tuple(one for one in references if one is not None)
    return GenerationWish(
        prompt=record["prompt"],
        references=pictures,
        mask=mask if pictures else None,
        parents=tuple(record.get("parents", ())),
        **{name: record[name] for name in _PLAIN if name in record},
    )


def without_secrets(text: str) -> str:
    """Return `text` without keys, and without the queries of addresses: those may be signed."""
    return redacted(without_queries(text), *known_keys())


def without_keys(text: str) -> str:
    """Return `text` without the keys that this process knows, and all else as it is.

    A service's name for a job must stay what it is, whatever it looks like: by nothing else can a
    paid job be found again.
    """
    for key in known_keys():
        text = text.replace(key, REMOVED)
    return text


def place_record(path: Path, home: Path | None) -> str:
    """Return `path` as text, without `home` where it lies in it."""
    path = path.absolute()
    if home is not None and path.is_relative_to(home):
        return path.relative_to(home).as_posix()
    return str(path)


def place_of(text: str, home: Path | None) -> Path:
    """Return the path that `place_record` wrote."""
    return Path(text) if home is None else home / text


def moment(text: str) -> datetime:
    """Return a time as the ledger writes it; the beginning of time where it is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def dollars(text: object) -> Decimal | None:
    """Return a sum as the ledger writes it; None where it is none."""
    try:
        cost = Decimal(str(text))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() else None


def _picture(asset: ImageAsset, home: Path | None) -> dict[str, str]:
    record = {"digest": asset.identity}
    if asset.path is not None:
        record["path"] = place_record(asset.path, home)
    if asset.url is not None and without_secrets(asset.url) == asset.url:
        record["url"] = asset.url
    if asset.file_id is not None:
        record["file_id"] = asset.file_id
    return record


def _found(record: Mapping[str, str], home: Path | None) -> ImageAsset | None:
    with contextlib.suppress(AttachmentError):
        if "url" in record:
            return ImageAsset.from_url(record["url"])
        if "file_id" in record:
            return ImageAsset.from_file_id(record["file_id"])
        if "path" in record:
            asset = ImageAsset.from_path(place_of(record["path"], home))
            return asset if asset.identity == record["digest"] else None
    return None
