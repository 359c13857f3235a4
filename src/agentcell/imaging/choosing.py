"""A wish, and whom it names → the backend that makes it; others' packages may bring more.

``backend/model`` or ``backend`` names one; so does the id of a model whose maker is well known.
A package of your own names a class in the group `GROUP`: ``mine = "my_package:MyBackend"``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from agentcell.adapters.failures import one_line, redacted
from agentcell.errors import AgentcellError, GenerationError, NoBackend
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.wish import GenerationWish, Kind
from agentcell.safe_text import shown_value

GROUP = "agentcell.image_backends"
"""The group of entry points: ``name = "package.module:Class"``."""

MODEL_VARIABLES: Mapping[Kind, str] = {
    "image": "AGENTCELL_IMAGE_MODEL",
    "video": "AGENTCELL_VIDEO_MODEL",
}
"""Who makes pictures and clips where nobody is named."""

BUILT_IN = {
    "hosted": "agentcell.imaging.hosted.backend:HostedMediaBackend",
    "openai": "agentcell.imaging.backends.openai_images:OpenAIImages",
    "gemini": "agentcell.imaging.backends.gemini:GeminiMedia",
    "procedural": "agentcell.imaging.backends.procedural:ProceduralBackend",
}
"""By name, in the order in which they are chosen where nobody is named and one is set up."""

_WELL_KNOWN = (
    *(("gpt-image", "openai"), ("chatgpt-image", "openai")),
    *(("gemini-", "gemini"), ("nano-banana", "gemini")),
    *(("seedream", "hosted"), ("seededit", "hosted"), ("seedance", "hosted"), ("veo-", "hosted")),
)
"""How ids of models begin, and who makes them."""


class Backends:
    """All backends that are known, each made at its first use. Safe to share between threads.

    Parameters
    ----------
    own
        Backends that go before those of the same name.
    """

    def __init__(self, *own: ImageBackend) -> None:
        self._made: dict[str, ImageBackend] = {one.name: one for one in own}

    def add(self, backend: ImageBackend) -> None:
        """Make `backend` known under its name, over one of the same name.

        Parameters
        ----------
        backend
            With a name of its own.

        Raises
        ------
        GenerationError
            If it is none, or has no name.
        """
        if not isinstance(backend, ImageBackend) or not backend.name:
            raise GenerationError(
                f"{shown_value(backend)} is no maker of pictures.",
                fix="give an instance of a subclass of ImageBackend that has a name.",
            )
        self._made[backend.name] = backend

    @property
    def names(self) -> tuple[str, ...]:
        """What `--model NAME/…` may begin with."""
        return tuple(dict.fromkeys([*BUILT_IN, *self._made, *(name for name, _ in _points())]))

    def named(self, name: str) -> ImageBackend:
        """Return the backend of that name.

        Raises
        ------
        GenerationError
            If there is none, or the package that brings it cannot make it.
        """
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _make(name)
        return made

    def chosen(
        self, wish: GenerationWish, default: str = ""
    ) -> tuple[ImageBackend, GenerationWish]:
        """Return who makes `wish`, and the wish with that backend's own name for the model.

        Parameters
        ----------
        wish
            Its `model` may be ``backend/model``, ``backend``, a model's id, or empty.
        default
            The same, for where it is empty.

        Raises
        ------
        NoBackend
            If nobody is named and nobody is set up.
        GenerationError
            If what is named is not known.
        """
        said = wish.model or default or os.environ.get(MODEL_VARIABLES[wish.kind], "").strip()
        if not said:
            return self._set_up(wish.kind), wish
        name, model = self._split(said)
        return self.named(name), replace(wish, model=model)

    def set_up(self, kind: Kind) -> tuple[str, ...]:
        """Return the names of those that may be asked for `kind` without being named."""
        return tuple(one.name for one in self._ready(kind))

    def _split(self, said: str) -> tuple[str, str]:
        head, _, rest = said.partition("/")
        head = head.strip().lower()
        if head in self._made or head in BUILT_IN:
            return head, rest.strip()
        for start, name in _WELL_KNOWN:
            if said.lower().startswith(start):
                return name, said.strip()
        if head in self.names:
            return head, rest.strip()
        raise GenerationError(
            f"Nobody here makes pictures or clips under the name {shown_value(said)}.",
            fix=f"begin it with one of {', '.join(self.names)}, for example openai/gpt-image-2.",
        )

    def _set_up(self, kind: Kind) -> ImageBackend:
        for backend in self._ready(kind):
            return backend
        also = ""
        if kind == "image":
            also = ", or name one that needs none: --model procedural, AGENTCELL_IMAGE_MODEL"
            also += "=procedural in the environment"
        raise NoBackend(
            f"Nobody is set up who could make {'an image' if kind == 'image' else 'a video'}.",
            fix=(
                "set a key (OPENAI_API_KEY for images, GEMINI_API_KEY for images and videos),"
                f" or AGENTCELL_MEDIA_URL and its token for a media service{also}."
            ),
        )

    def _ready(self, kind: Kind) -> Iterator[ImageBackend]:
        for name in self.names:
            try:
                backend = self.named(name)
                if kind in backend.kinds and backend.is_at_hand():
                    yield backend
            except AgentcellError:  # one package's fault must not hide the others
                continue


def _make(name: str) -> ImageBackend:
    value = BUILT_IN.get(name) or dict(_points()).get(name)
    if value is None:
        raise GenerationError(
            f"There is no maker of pictures named {shown_value(name)}.",
            fix="see `%generate backends`.",
        )
    module, _, attribute = value.partition(":")
    try:
        made: Any = getattr(import_module(module), attribute)()
    except (Exception, SystemExit) as error:
        if isinstance(error, AgentcellError):
            raise
        raise GenerationError(
            f"The maker of pictures {name!r} ({value}) cannot be used:"
            f" {one_line(redacted(f'{type(error).__name__}: {error}'))}.",
            fix="update the package that brings it, or tell its makers.",
        ) from error
    if not isinstance(made, ImageBackend):
        raise GenerationError(
            f"The maker of pictures {name!r} ({value}) is a {type(made).__name__}.",
            fix="let the entry point name a subclass of agentcell.imaging.backend.ImageBackend.",
        )
    if not made.name:
        made.name = name  # type: ignore[misc]  # for this object alone
    return made


def _points() -> list[tuple[str, str]]:
    from importlib.metadata import entry_points

    try:
        return [(one.name.lower(), one.value) for one in entry_points(group=GROUP)]
    except Exception:  # noqa: BLE001 (another package's unreadable list must not hide the rest)
        return []
