"""A configured media service → three tools that a model can call, on the way that all jobs take."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from agentcell.agents.tools import Tool
from agentcell.assets.access import AccessPolicy
from agentcell.errors import GenerationError
from agentcell.imaging import media_arguments
from agentcell.imaging.choosing import Backends
from agentcell.imaging.events import Generated, GenerationEvent, Saved
from agentcell.imaging.generating import Generator
from agentcell.imaging.generation import Generation
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.service import MediaService
from agentcell.imaging.job import place_record
from agentcell.imaging.jobs import FILE, JobLedger
from agentcell.imaging.listed import listed
from agentcell.imaging.plan import Confirm
from agentcell.imaging.web_text import without_queries
from agentcell.imaging.wish import GenerationWish

MediaConfig: TypeAlias = MediaService | HostedMediaBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaToolFacts:
    """What a host may want to know of a media tool before it offers it.

    Parameters
    ----------
    category, group
        ``workflow`` and ``media`` for all of them.
    permission
        ``execute`` or ``read_only``; a host that allows less does not offer the tool.
    is_billed
        Whether a call may cost money.
    """

    category: Literal["workflow"] = "workflow"
    group: Literal["media"] = "media"
    permission: Literal["execute", "read_only"] = "execute"
    is_billed: bool = True


MEDIA_TOOLS: Mapping[str, MediaToolFacts] = {
    "media_generate_image": MediaToolFacts(),
    "media_generate_video": MediaToolFacts(),
    "media_list_models": MediaToolFacts(permission="read_only", is_billed=False),
}
"""The tools by name, in the order in which they are offered."""

_ONCE = (
    " It costs money: call it once, and never again by yourself after an error; tell the user"
    " what the error says."
)

_DESCRIPTIONS = {
    "media_generate_image": "Make images from a description, or from images to start from, and"
    f" save them; returns their paths, the model and the cost.{_ONCE}",
    "media_generate_video": "Make a short video clip from a description, or from its first frame,"
    " and save it; returns its path, the model and the cost. It takes minutes: say so first."
    f"{_ONCE}",
    "media_list_models": "List the models that make images and videos. It costs nothing.",
}


class MediaResult(str):
    """What a model reads of a job, as Markdown; `payload` holds the same as JSON values.

    A model reads paths from the folder on: what it reads is recorded, and a recording is to be
    known again in another folder. In `payload` they are absolute.
    """

    __slots__ = ("payload",)

    payload: dict[str, Any]

    def __new__(cls, text: str, payload: dict[str, Any] | None = None) -> Self:
        """Return `text` with its `payload`."""
        made = super().__new__(cls, text)
        made.payload = payload or {}
        return made


def build_media_tools(
    config: MediaConfig | None = None,
    action_dir: str | os.PathLike[str] | None = None,
    *,
    generator: Generator | None = None,
    access: AccessPolicy | None = None,
    confirm: Confirm | None = None,
) -> list[Tool]:
    """Return the tools of a hosted media service; none where no service is configured.

    Parameters
    ----------
    config
        None: ``AGENTCELL_MEDIA_URL`` and ``AGENTCELL_MEDIA_TOKEN``.
    action_dir
        Files go into ``generated-media`` in it, and it is made if need be; the current folder by
        default.
    generator, access
        A session's, so that its budget, ledger, recording and rules hold; files then go into its
        folder. None: one for these tools, without a budget.
    confirm
        Asked about the cost, where a budget wants it.

    Returns
    -------
    list of Tool
        ``media_generate_image``, ``media_generate_video``, ``media_list_models``, or nothing. The
        first two need approval; see `MEDIA_TOOLS`. While a recording is replayed they need
        neither approval nor a service.

    Raises
    ------
    GenerationError
        If what is configured cannot be used: an address that is none, or would send the token
        unencrypted.
    """
    backend = _backend(config)
    is_replayed = generator is not None and generator.is_replaying
    if not is_replayed and backend.service() is None:
        return []
    media = _Media.of(backend, action_dir, generator, access, confirm)
    functions = (media.generate_image, media.generate_video, media.list_models)
    schemas = (
        media_arguments.IMAGE_PARAMETERS,
        media_arguments.VIDEO_PARAMETERS,
        media_arguments.MODELS_PARAMETERS,
    )
    return [
        Tool(
            name=name,
            description=_DESCRIPTIONS[name],
            parameters=schema,
            function=function,
            needs_approval=facts.is_billed and not is_replayed,
        )
        for (name, facts), schema, function in zip(
            MEDIA_TOOLS.items(), schemas, functions, strict=True
        )
    ]


async def media_resume(
    request_id: str,
    config: MediaConfig | None = None,
    action_dir: str | os.PathLike[str] | None = None,
    *,
    generator: Generator | None = None,
) -> MediaResult:
    """Fetch what came of a job that was begun earlier; nothing is submitted or paid for again.

    Parameters
    ----------
    request_id
        The service's name for the job, or the ledger's.
    config, action_dir, generator
        As for `build_media_tools`.

    Raises
    ------
    NotResumable
        If no such job is known in that folder.
    ModelError
        If the service does not tell of it, or it is not ready in time.
    """
    media = _Media.of(_backend(config), action_dir, generator, None, None)
    return await _result(media.generator.resume(request_id, as_made=True), media.access.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Media:
    """The tools' functions, and what they share."""

    generator: Generator
    access: AccessPolicy
    backend: HostedMediaBackend
    confirm: Confirm | None
    is_own_folder: bool = False

    @classmethod
    def of(
        cls,
        backend: HostedMediaBackend,
        action_dir: str | os.PathLike[str] | None,
        generator: Generator | None,
        access: AccessPolicy | None,
        confirm: Confirm | None,
    ) -> _Media:
        if generator is not None:
            generator.backends.add(backend)
            access = access or generator.access
            return cls(generator=generator, access=access, backend=backend, confirm=confirm)
        root = Path.cwd() if action_dir is None else Path(action_dir).expanduser().absolute()
        access = access or AccessPolicy(root)
        generator = Generator(
            ledger=JobLedger(root / ".agentcell" / FILE), access=access, backends=Backends(backend)
        )
        return cls(
            generator=generator,
            access=access,
            backend=backend,
            confirm=confirm,
            is_own_folder=True,
        )

    async def generate_image(self, **arguments: Any) -> MediaResult:
        return await self._made(media_arguments.image_wish(arguments, self.access))

    async def generate_video(self, **arguments: Any) -> MediaResult:
        return await self._made(media_arguments.video_wish(arguments, self.access))

    async def list_models(self, **arguments: Any) -> Any:
        include_upstream = media_arguments.includes_upstream(arguments)

        async def now() -> Any:
            return _without_queries(await self.backend.models(include_upstream=include_upstream))

        return await listed(self.generator.recorder, now, include_upstream=include_upstream)

    async def _made(self, wish: GenerationWish) -> MediaResult:
        if self.is_own_folder:  # first: the list of jobs, which lies in it, is written before all
            with contextlib.suppress(OSError):  # what cannot be written is told by the list
                await asyncio.to_thread(self.access.root.mkdir, parents=True, exist_ok=True)
        named = replace(wish, model=f"{self.backend.name}/{wish.model}")
        events = self.generator.stream(named, confirm=self.confirm, asked_by="model", as_made=True)
        return await _result(events, self.access.root)


def _backend(config: MediaConfig | None) -> HostedMediaBackend:
    if isinstance(config, HostedMediaBackend):
        return config
    if isinstance(config, MediaService):
        return HostedMediaBackend(config.base_url, config.token)
    if config is None:
        return HostedMediaBackend()
    raise GenerationError(
        f"A {type(config).__name__} was given as a media service's configuration.",
        fix="give a MediaService, a HostedMediaBackend, or None for the environment's.",
    )


async def _result(events: AsyncIterator[GenerationEvent], root: Path) -> MediaResult:
    saved: dict[Path, Saved] = {}
    async for event in events:
        if isinstance(event, Saved):
            saved[event.path] = event
        elif isinstance(event, Generated):
            payload = _payload(event.generation, saved)
            return MediaResult(_markdown(payload, root), payload)
    raise GenerationError("The job came to no end.", fix="look at `%generate jobs`.")


def _payload(generation: Generation, saved: Mapping[Path, Saved]) -> dict[str, Any]:
    artifacts = []
    for one in generation.artifacts:
        source = saved.get(one.path)
        artifacts.append(
            {
                "type": one.kind,
                "path": str(one.path),
                "source_url": source.source_url if source else "",
                "thumbnail_url": (source.thumbnail_url or None) if source else None,
            }
        )
    payload: dict[str, Any] = {
        "request_id": generation.request_id,
        "model": generation.model,
        "cost_usd": None if generation.cost is None else float(generation.cost),
        "artifacts": artifacts,
    }
    return payload | ({"missing": list(generation.missing)} if generation.missing else {})


def _markdown(payload: Mapping[str, Any], root: Path) -> str:
    artifacts, missing = payload["artifacts"], payload.get("missing", ())
    many = "file" if len(artifacts) == 1 else "files"
    model = f", model {payload['model']}" if payload["model"] else ""
    lines = [f"{len(artifacts)} {many} made (request {payload['request_id']}{model}):", ""]
    for one in artifacts:
        lines.append(f"- {one['type']} → {place_record(Path(one['path']), root)}")
        if one["thumbnail_url"]:
            lines.append(f"  - thumbnail: {one['thumbnail_url']}")
    lines += [f"- not saved: {problem}" for problem in missing]
    cost = payload["cost_usd"]
    told = "not told by the service" if cost is None else f"${cost:.4f}"
    return "\n".join([*lines, "", f"Cost: {told}"])


def _without_queries(value: Any) -> Any:
    """Return JSON values with the queries taken out of addresses."""
    if isinstance(value, str):
        return without_queries(value)
    if isinstance(value, list):
        return [_without_queries(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_queries(one) for key, one in value.items()}
    return value
