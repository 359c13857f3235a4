"""A finished picture's bytes → a file under its own name, whole, and over nothing that is there."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from agentcell.assets.asset import ImageAsset
from agentcell.assets.header import Damaged
from agentcell.assets.pixels import NotDrawable, on_white, upright
from agentcell.errors import AttachmentError, GenerationError
from agentcell.imaging.generation import Artifact
from agentcell.imaging.job import without_secrets
from agentcell.imaging.media_type import HEAD_BYTES, media_type
from agentcell.imaging.placing import part_of, safe_id
from agentcell.imaging.wish import GenerationWish, ImageFormat

FOLDER = "generated-media"
"""Where files lie, in the notebook's folder, if nothing else is said."""

MOST_ALT = 300
"""Characters of a picture's description for who cannot see it."""

POSTER = "-poster"
"""What stands after a clip's name in that of its still picture."""

_PROBE = 4096
"""Bytes that tell whether a disk takes any."""

_POSTER_ENDINGS = ("jpg", "png", "webp")
_JPEG_QUALITY, _WEBP_QUALITY = 92, 90
_ENDINGS = {"png": "png", "webp": "webp", "jpeg": "jpg"}
_KNOWN = {"png": "png", "webp": "webp", "jpg": "jpeg", "jpeg": "jpeg"}
_OTHER_ENDINGS = {"gif", "avif", "bmp", "tif", "tiff", "heic", "svg", "pdf", "mp4", "webm", "mov"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the files of one job go.

    Parameters
    ----------
    folder
        Made with the first file.
    stem
        Their name without number and ending; empty: that of the job.
    count
        How many there will be.
    is_named
        Whether a person chose the name: one file then has no number.
    """

    folder: Path
    stem: str = ""
    count: int = 1
    is_named: bool = False

    @classmethod
    def of(cls, output: Path, wish: GenerationWish, *, may_be_there: bool = False) -> Target:
        """Return where files go whose name was chosen.

        Parameters
        ----------
        output
            Absolute. Its ending must be that of the format, or none.
        may_be_there
            Whether a file of that name is no error yet: it may be the same, and nothing is lost
            by finding out later.

        Raises
        ------
        GenerationError
            If the ending is another, or a file is there.
        """
        ending = output.suffix[1:].lower()
        is_picture = wish.kind == "image"
        wanted = _KNOWN.get(ending)
        if is_picture and (ending in _OTHER_ENDINGS or (wanted and wanted != wish.format)):
            raise GenerationError(
                f"The output is to be {output.name}, and the format is {wish.format}.",
                fix=f"name it {output.stem}.{_ENDINGS[wish.format]}"
                + (f", or ask for --format {wanted}." if wanted else "."),
            )
        is_ending = wanted is not None or ending in _OTHER_ENDINGS
        stem = output.stem if is_ending else output.name
        target = cls(folder=output.parent, stem=stem, count=wish.count, is_named=True)
        for index in range(wish.count):
            path = target.path(index, _ENDINGS[wish.format] if is_picture else ending or "mp4")
            if os.path.lexists(path) and not may_be_there:
                raise GenerationError(
                    f"{path.name} is there already, and nothing is written over it.",
                    fix="choose another name, or move that file away.",
                )
        return target

    def check(self) -> None:
        """Find out, before anything is paid for, whether files can be written there at all.

        Nothing is left behind: the folder itself is made with the first file.

        Raises
        ------
        GenerationError
            If none can: no leave, a full disk, or something else than a folder on the way.
        """
        place = self.folder
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        try:
            with tempfile.TemporaryFile(dir=place) as probe:
                probe.write(bytes(_PROBE))
                probe.flush()
        except OSError as error:
            raise GenerationError(
                f"No file can be written to '{self.folder.name}': {os.strerror(error.errno or 0)}.",
                fix="make room or leave to write there, or choose another place with --output.",
            ) from error

    def named(self, name: str) -> Target:
        """Return it with the name of a job, if it has none yet."""
        return self if self.stem else replace(self, stem=safe_id(name))

    def path(self, index: int, ending: str) -> Path:
        """Return where a file goes, counted from 0."""
        number = "" if self.is_named and self.count == 1 else f"-{index}"
        return self.folder / f"{self.stem}{number}.{ending}"


def encoded(data: bytes, wanted: ImageFormat) -> tuple[bytes, ImageAsset]:
    """Return a picture as a file of the type that was asked for, and what it is.

    A file of that type stays as it came, and so does one that moves or that nothing here can
    decode. What shines through becomes white in a JPEG.

    Parameters
    ----------
    data
        As a service sent it.

    Raises
    ------
    AttachmentError
        If it is no picture, or damaged.
    """
    asset = ImageAsset.from_bytes(data)
    if asset.mime_type == f"image/{wanted}" or asset.animated:
        return data, asset
    try:
        with asset.open() as stream:
            picture = upright(asset.facts, stream)
    except NotDrawable:  # it is paid for: better another type than none
        return data, asset
    except Damaged as problem:
        raise AttachmentError(f"it is damaged: {problem}.") from None
    sink = io.BytesIO()
    picture.info = {}
    if wanted == "jpeg":
        on_white(picture).save(sink, "JPEG", quality=_JPEG_QUALITY)
    elif wanted == "webp":
        picture.save(sink, "WEBP", quality=_WEBP_QUALITY)
    else:
        picture.save(sink, "PNG")
    made = sink.getvalue()
    return made, ImageAsset.from_bytes(made)


def saved(path: Path, data: bytes) -> Path:
    """Write a file, whole, and return its path; another number where another file is there.

    Parameters
    ----------
    path
        Where it shall be. A file with just these bytes there is taken for it.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left then.
    """
    return part_of(data, path.parent).put(path.stem, extension=path.suffix[1:])


def held_path(folder: Path, job_id: str, index: int) -> Path:
    """Return where an answer is kept as it came, until its file has its name.

    Parameters
    ----------
    folder
        Where the file will be.
    job_id, index
        Whose, and which of its answers.
    """
    return folder / f".{safe_id(job_id)}-{index}.held"


def hold(path: Path, data: bytes) -> None:
    """Keep an answer as it came, whole or not at all; a disk that takes nothing keeps nothing."""
    with contextlib.suppress(OSError):
        part = part_of(data, path.parent)
        try:
            part.path.replace(path)
        finally:
            part.discard()


def drop(path: Path) -> None:
    """Take away what `hold` kept; where that cannot be done it stays, and does no harm."""
    with contextlib.suppress(OSError):
        path.unlink()


def artifact(path: Path, asset: ImageAsset, alt: str) -> Artifact:
    """Return what is known of a picture that was written.

    Parameters
    ----------
    asset
        The file's content.
    """
    return Artifact(
        path=path,
        kind="image",
        mime_type=asset.mime_type,
        digest=asset.identity.partition(":")[2],
        size_bytes=asset.size_bytes or 0,
        width=asset.width or 0,
        height=asset.height or 0,
        alt=alt,
    )


def clip_artifact(path: Path, alt: str) -> Artifact:
    """Return what is known of a clip on disk; its poster lies beside it, if there is one.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as stream:
        media = media_type(stream.read(HEAD_BYTES))
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    posters = (path.with_name(f"{path.stem}{POSTER}.{ending}") for ending in _POSTER_ENDINGS)
    return Artifact(
        path=path,
        kind="video",
        mime_type=media.mime_type,
        digest=digest,
        size_bytes=path.stat().st_size,
        alt=alt,
        poster=next((one for one in posters if one.is_file()), None),
    )


def alt_text(prompt: str) -> str:
    """Return what a reader is told of a picture who cannot see it: the prompt, on one line."""
    text = without_secrets(prompt)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= MOST_ALT else f"{line[: MOST_ALT - 1]}…"
