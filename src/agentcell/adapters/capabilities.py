"""What a model takes, and from where: what is asked of it before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

SOURCES = frozenset({"path", "bytes", "base64", "url", "file_id"})
"""Where an asset may come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCapabilities:
    """What a model takes.

    Parameters
    ----------
    image_input, pdf_input
        Whether a message of the user's may hold one.
    image_sources, pdf_sources
        From where: a subset of `SOURCES`.
    image_types
        The types of images it reads, as ``image/png``; empty where that is not known.
    system_media
        Whether a system message may hold media: ``sent``, ``user`` (moved into the first user
        turn, marked) or ``refused``.
    tool_result_media
        Whether a tool's result may: ``sent``, ``user`` (moved to the next user turn) or
        ``refused``.
    tools, streaming
        Whether the model calls tools, and whether its answer comes in pieces.
    structured_output
        Whether the setting ``schema`` makes the model answer by a JSON schema.
    """

    image_input: bool = False
    pdf_input: bool = False
    image_sources: frozenset[str] = SOURCES
    pdf_sources: frozenset[str] = SOURCES
    image_types: frozenset[str] = frozenset()
    system_media: str = "refused"
    tool_result_media: str = "refused"
    tools: bool = True
    streaming: bool = True
    structured_output: bool = False

    def __repr__(self) -> str:
        taken = [name for name in ("image_input", "pdf_input", "tools") if getattr(self, name)]
        places = f"system_media={self.system_media!r}"
        return f"ModelCapabilities({', '.join([*(f'{name}=True' for name in taken), places])})"

    def with_overrides(self, overrides: Mapping[str, Any] | None) -> ModelCapabilities:
        """Return a copy with some fields set otherwise.

        Parameters
        ----------
        overrides
            By field name; None or empty: the very same object.

        Raises
        ------
        TypeError
            If a name is unknown.
        """
        return replace(self, **overrides) if overrides else self


def listed_sources(names: frozenset[str]) -> str:
    """Return sources as a sentence names them: ``path, bytes or url``."""
    ordered = [name for name in ("path", "bytes", "base64", "url", "file_id") if name in names]
    return " or ".join([", ".join(ordered[:-1]), ordered[-1]] if len(ordered) > 1 else ordered)
