"""A finished file, as bytes or by its address → what is saved of it, under a name of its own."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from pathlib import Path

from agentcell.assets.asset import ImageAsset
from agentcell.assets.sniff import EXTENSIONS
from agentcell.errors import AttachmentError, DownloadError
from agentcell.imaging import provenance
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Made
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.job import Job
from agentcell.imaging.media_type import HEAD_BYTES, media_type
from agentcell.imaging.placing import Part, part_of
from agentcell.imaging.saving import (
    POSTER,
    Target,
    alt_text,
    artifact,
    clip_artifact,
    encoded,
    saved,
)
from agentcell.imaging.wish import GenerationWish


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Saves the files of one job.

    Parameters
    ----------
    backend, wish
        Who made what.
    target
        Where they go; it has a name.
    job_id, request_id
        The job's names, for what its files say of themselves.
    as_made
        See `Generator.stream`.
    """

    backend: ImageBackend
    wish: GenerationWish
    target: Target
    job_id: str
    request_id: str
    as_made: bool

    async def fetched(self, made: Made, index: int) -> Artifact:
        """Fetch a file from where the service says that it is, and save it.

        Parameters
        ----------
        made
            With an address.
        index
            Which of the job's files it is, from 0.

        Raises
        ------
        DownloadError, AttachmentError, OSError
            If it cannot be had, is something else, or cannot be written.
        """
        downloader = self.backend.downloader()
        part = await downloader.fetch(made.url, self.target.folder)
        try:
            if self.as_made or part.media.kind == "video":
                done = await asyncio.to_thread(self._put, part, index)
            else:
                data = await asyncio.to_thread(part.path.read_bytes)
                made = replace(made, kind="image")  # whatever it was to be: it is paid for
                done = await asyncio.to_thread(self.written, made, data, index)
        finally:
            part.discard()
        if made.kind == "video" and made.thumbnail_url:
            done = replace(done, poster=await self._poster(made.thumbnail_url, index))
        return done

    async def _poster(self, url: str, index: int) -> Path | None:
        """Fetch a clip's still picture; the clip is as good without it."""
        with contextlib.suppress(DownloadError, OSError):
            part = await self.backend.downloader().fetch(url, self.target.folder)
            try:
                if part.media.kind == "image":
                    stem = self.target.path(index, "mp4").stem
                    return await asyncio.to_thread(part.put, f"{stem}{POSTER}")
            finally:
                part.discard()
        return None

    def _put(self, part: Part, index: int) -> Artifact:
        """Give a file that was fetched its name, as it came."""
        alt = alt_text(self.wish.prompt)
        name = self.target.path(index, part.media.extension)
        asset = None
        if part.media.kind == "image":  # first: nothing damaged is ever there under its name
            asset = ImageAsset.from_path(part.path, filename=name.name)
        path = part.put(name.stem)
        if asset is not None:
            return artifact(path, asset, alt)
        return Artifact(
            path=path,
            kind="video",
            mime_type=part.media.mime_type,
            digest=part.digest,
            size_bytes=part.size_bytes,
            alt=alt,
        )

    def written(self, made: Made, data: bytes, index: int) -> Artifact:
        """Save a file that is here as bytes.

        Parameters
        ----------
        made
            What is known of it.
        data
            All of it.
        index
            As for `fetched`; so are the errors.
        """
        alt = alt_text(self.wish.prompt)
        if made.kind == "video":
            seen = media_type(data[:HEAD_BYTES])
            if not seen.extension or seen.kind != "video":
                raise AttachmentError(f"it is {seen.noun}, and no clip.")
            return self._put(part_of(data, self.target.folder), index)
        if self.as_made:
            asset = ImageAsset.from_bytes(data)
        else:
            data, asset = encoded(data, self.wish.format)
            data = provenance.written(data, self._provenance(made), alt)
            asset = ImageAsset.from_bytes(data)
        path = self.target.path(index, EXTENSIONS[asset.mime_type])
        return artifact(saved(path, data), asset, alt)

    def _provenance(self, made: Made) -> provenance.Provenance:
        return provenance.Provenance.of(
            self.wish.prompt,
            backend=self.backend.name,
            model=made.model or self.wish.model,
            seed=self.wish.seed if made.seed is None else made.seed,
            parents=parents_of(self.wish),
            job_id=self.job_id,
            request_id=self.request_id,
        )


def generation_of(job: Job) -> Generation | None:
    """Return what came of a job that is done; None where its files are gone."""
    wish = job.wish_again(is_whole=False)
    alt = alt_text(wish.prompt)
    found = []
    for path in job.files:
        if not path.is_file():
            continue
        with path.open("rb") as stream:  # a service may have made another kind than was wished
            is_clip = media_type(stream.read(HEAD_BYTES)).kind == "video"
        if is_clip:
            found.append(clip_artifact(path, alt))
        else:
            found.append(artifact(path, ImageAsset.from_path(path), alt))
    if not found:
        return None
    return Generation(
        artifacts=tuple(found),
        prompt=wish.prompt,
        model=job.model,
        backend=job.backend,
        seed=wish.seed,
        parents=parents_of(wish),
        cost=job.cost,
        job_id=job.id,
        request_id=job.request_id,
        missing=() if len(found) == len(job.files) else ("A file of it is gone.",),
    )


def parents_of(wish: GenerationWish) -> tuple[str, ...]:
    """Return the digests of the pictures that a wish starts from."""
    return wish.parents or tuple(one.fingerprint() for one in wish.references)
