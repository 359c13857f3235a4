"""An attachment and a model → how it would go out, and how many tokens it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentcell.adapters.estimate import Estimate, EstimatePart, estimate_tokens
from agentcell.adapters.model import Model, innermost
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.uploads import UploadsFiles
from agentcell.assets.asset import MediaAsset
from agentcell.assets.prepare import Form
from agentcell.errors import AgentcellError
from agentcell.messages import MediaMessageBlock, Message, media_blocks

How: TypeAlias = Literal["inline", "upload", "url", "file id", "text", "page images", "refused"]

HOW_TEXTS: dict[How, str] = {
    "inline": "with the question",
    "upload": "uploaded once, then by its file id",
    "url": "by its address, which the service reads",
    "file id": "by its file id",
    "text": "as text",
    "page images": "as images of its pages",
    "refused": "refused",
}
"""How an attachment goes out, as a person reads it after "goes"; to be translated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """About how many tokens: about, at the least, at the most."""

    tokens: int
    low: int
    high: int

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.tokens:,} tokens"
        return f"about {self.tokens:,} tokens ({self.low:,} to {self.high:,})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DryAttachment:
    """One attachment as it would go out.

    Parameters
    ----------
    place
        The number of its message, from 1.
    is_new
        Whether it belongs to this question, and not to an earlier turn or the instructions.
    given
        What was attached, in words: ``PNG image, 60 × 90 px, 1 kB``.
    sent
        What would go out for it, in words; several for the pages of a PDF, none for a text.
    how
        The way it goes.
    notes
        What was done to it and why, a sentence each.
    refusal
        Why this model does not take it; empty if it does.
    tokens
        What it comes to; None where nobody can say.
    """

    tag: str
    place: int
    is_new: bool
    given: str
    sent: tuple[str, ...]
    how: How
    notes: tuple[str, ...] = ()
    refusal: str = ""
    tokens: Count | None = None


def look_at(model: Model, block: MediaMessageBlock, form: Form | None = None) -> DryAttachment:
    """Return how an attachment would go out to a model if it went alone; nothing is sent.

    Parameters
    ----------
    model
        Who would be asked.
    block
        The attachment.
    form
        Its detail, and how a PDF goes; None: as it is.
    """
    alone: list[Message] = [{"role": "user", "content": [block]}]
    asked = innermost(model)
    refusal, ready, count = "", Outgoing(messages=alone), None
    try:
        ready = model.ready(alone, forms={block.fingerprint: form} if form else None)
        count = Counts(estimate_tokens(ready, model)).attachment(block.tag)
    except AgentcellError as error:
        refusal = f"{error.problem} {error.fix}".strip()
    files = asked.as_files(ready.messages) if isinstance(asked, UploadsFiles) else {}
    sent = [one.asset for one in media_blocks(ready.messages)]
    return DryAttachment(
        tag=block.tag,
        place=1,
        is_new=True,
        given=block.asset.describe(),
        sent=() if refusal else tuple(asset.describe() for asset in sent),
        how="refused" if refusal else way_of(block.asset, sent, files),
        notes=tuple(dict.fromkeys((*block.asset.notes, *ready.notes))),
        refusal=refusal,
        tokens=count,
    )


class Counts:
    """An estimate's parts, by attachment and by message."""

    def __init__(self, estimate: Estimate | None) -> None:
        parts = estimate.parts if estimate else ()
        self._texts = iter([part for part in parts if part.kind == "text"])
        self._media: dict[str, list[EstimatePart]] = {}
        for part in parts:
            if part.kind in {"image", "pdf"}:
                self._media.setdefault(part.name, []).append(part)

    def text(self) -> Count | None:
        """Return what the next message's texts come to."""
        part = next(self._texts, None)
        return None if part is None else _sum([part])

    def attachment(self, tag: str) -> Count | None:
        """Return what an attachment comes to, all its pages."""
        return _sum(self._media.get(tag, []))


def _sum(parts: list[EstimatePart]) -> Count | None:
    if not parts:
        return None
    return Count(
        tokens=sum(part.tokens for part in parts),
        low=sum(part.low for part in parts),
        high=sum(part.high for part in parts),
    )


def way_of(given: MediaAsset, sent: list[MediaAsset], files: Mapping[str, bool]) -> How:
    """Return the way that an attachment goes.

    Parameters
    ----------
    given, sent
        What was attached, and what goes out for it.
    files
        By fingerprints: what goes as a file, and whether it is uploaded already.
    """
    is_pdf = given.mime_type == "application/pdf"
    if not sent:
        return "text"
    if is_pdf and any(asset.mime_type != "application/pdf" for asset in sent):
        return "page images"
    match sent[0].source_kind:
        case "url":
            return "url"
        case "file_id":
            return "file id"
    known = [files[one] for asset in sent if (one := asset.fingerprint()) in files]
    return "inline" if not known else "file id" if all(known) else "upload"
