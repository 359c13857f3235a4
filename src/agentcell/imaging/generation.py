"""What came of a job: files on disk, and how they came to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.assets.asset import ImageAsset
from agentcell.errors import FieldError

if TYPE_CHECKING:
    from agentcell.imaging.wish import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One generated file on disk.

    Parameters
    ----------
    path
        Where it lies.
    kind
        ``image`` or ``video``.
    mime_type
        By its content.
    digest
        SHA-256 of its bytes, in hexadecimal.
    size_bytes
        Of the file.
    width, height
        Pixels; 0 where they are not known.
    alt
        What a reader is told who cannot see it: from the prompt.
    poster
        A clip's still picture, if there is one.
    """

    path: Path
    kind: Kind
    mime_type: str
    digest: str
    size_bytes: int
    width: int = 0
    height: int = 0
    alt: str = ""
    poster: Path | None = None


_COUNTED = " asked for, and the service made "


def other_count(asked: int, made: int) -> str:
    """Return the sentence about a service that made another number than was asked for."""
    return f"{asked} {'was' if asked == 1 else 'were'}{_COUNTED}{made}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Pictures or a clip, with all that is known of how they were made.

    It can stand in a question (``{gen}``) like any picture.

    Parameters
    ----------
    artifacts
        What was saved, in order; not empty.
    prompt, model, backend, seed
        As they were used; `seed` None and `model` empty where the service did not tell.
    parents
        Digests of the pictures that it was made from.
    cost
        US dollars; None where nobody knows, 0 where it is free.
    job_id, request_id
        The name in our ledger, and the service's own.
    revised_prompt
        What the service made of the prompt, if it says so.
    missing
        What could not be saved, one sentence each; and where another number was made than was
        asked for, a sentence about that.
    """

    artifacts: tuple[Artifact, ...]
    prompt: str
    model: str
    backend: str
    seed: int | None = None
    parents: tuple[str, ...] = ()
    cost: Decimal | None = None
    job_id: str = ""
    request_id: str = ""
    revised_prompt: str = ""
    missing: tuple[str, ...] = field(default=())

    @property
    def maker(self) -> str:
        """``backend/model``, or the backend alone."""
        return "/".join(filter(None, (self.backend, self.model)))

    @property
    def can_be_completed(self) -> bool:
        """Whether a file could not be saved, and its service may be asked for it again."""
        return bool(self.request_id) and any(_COUNTED not in one for one in self.missing)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the files lie, in order."""
        return tuple(artifact.path for artifact in self.artifacts)

    def _agentcell_assets_(self) -> list[ImageAsset]:
        """Return the pictures as attachments: what ``{gen}`` stands for.

        Raises
        ------
        FieldError
            If it is a clip without a still picture.
        AttachmentError
            If a file is gone.
        """
        found = []
        for one in self.artifacts:
            path = one.path if one.kind == "image" else one.poster
            if path is None:
                raise FieldError(
                    f"{one.path.name} is a clip, which no model takes here.",
                    fix="attach a picture of it.",
                )
            found.append(ImageAsset.from_path(path))
        return found

    def _repr_mimebundle_(
        self,
        include: object = None,  # noqa: ARG002 (IPython gives it)
        exclude: object = None,  # noqa: ARG002 (IPython gives it)
    ) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Show a small picture of all that was made, and words; never the files themselves."""
        from agentcell.imaging.contact_sheet import display_bundle

        return display_bundle(self)
