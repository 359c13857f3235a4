"""A request's turns → what is asked, and about which attachments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentcell.adapters.content import Media, Text, Turn
from agentcell.adapters.local.words import language_of
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.modality import FieldModality
from agentcell.prompts.tags import find_tags, is_announcement

_HEAD = re.compile(r"^(?:MESSAGE TO YOU|[^\W\d][\w ]{0,60}):[ \t]*$", re.MULTILINE)
_PROMPT_HEAD = re.compile(r"^MESSAGE TO YOU:[ \t]*$", re.MULTILINE)
_FORMAT_HEAD = re.compile(r"^RESPONSE FORMAT REQUIREMENTS:[ \t]*$", re.MULTILINE)
_FIELDS_HEAD = re.compile(r"^REQUIRED OUTPUT FIELDS[^\n:]*:[ \t]*$", re.MULTILINE)
"""The heads under which an agent says what form the answer has (see `agents.output`)."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """One document of the conversation.

    Parameters
    ----------
    tag
        What the reader calls it.
    is_new
        Whether it came with the question itself.
    is_rule
        Whether it came with the instructions alone: a guide, say, of what receipts look like.
    """

    tag: str
    asset: MediaAsset
    is_new: bool
    is_rule: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked.

    Parameters
    ----------
    question
        The person's words, with the attachments' tags where they were named.
    plain
        The same without any tag: what a sentence is phrased from.
    attachments
        Of the whole conversation, each content once.
    outputs
        Where the text asks for a JSON object: its keys and what each is to hold.
    is_first
        Whether nothing was answered before.
    is_program
        Whether an agent's prompt asks, and not a person.
    """

    question: str
    plain: str
    attachments: tuple[Attachment, ...] = ()
    outputs: dict[str, str] | None = None
    is_first: bool = True
    is_program: bool = False

    @property
    def language(self) -> str:
        """``en``, ``zh`` or ``other``."""
        return language_of(self.plain)

    @property
    def meant(self) -> tuple[str, ...]:
        """The tags of the attachments that are probably asked about: the new ones, if any."""
        new = tuple(each.tag for each in self.attachments if each.is_new)
        return new or tuple(each.tag for each in self.attachments if not each.is_rule)


def read_asked(turns: Sequence[Turn]) -> Asked:
    """Return what the last user turn of `turns` asks.

    Raises
    ------
    AttachmentError
        If an attachment given as a data URL is none.
    """
    last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=-1)
    attachments, names = _attachments(turns, last)
    own = _own_text(turns[last]) if last >= 0 else ""
    text, outputs = _without_format(own)
    for name, tag in names.items():  # one content may have had several names
        if name != tag:
            text = text.replace(name, tag)
    return Asked(
        question=text,
        plain=_without_tags(text, [each.tag for each in attachments]),
        attachments=attachments,
        outputs=outputs,
        is_first=not any(turn.role == "assistant" for turn in turns),
        is_program=outputs is not None or bool(_PROMPT_HEAD.search(own)),
    )


def _attachments(turns: Sequence[Turn], last: int) -> tuple[tuple[Attachment, ...], dict[str, str]]:
    """Return each content once, and which tag stands for each that was ever used."""
    found: dict[str, Attachment] = {}
    names: dict[str, str] = {}
    for at, turn in enumerate(turns):
        for media in turn.media:
            asset = media.asset or _asset(media)
            key = asset.fingerprint()
            known = found.get(key)
            tag = known.tag if known else _unused(media.tag, names)
            names[media.tag if known or media.tag not in names else tag] = tag
            is_rule = turn.role in ("system", "developer") and (known is None or known.is_rule)
            is_new = at == last or (known is not None and known.is_new)
            found[key] = Attachment(tag, asset, is_new=is_new, is_rule=is_rule)
    return tuple(found.values()), names


def _asset(media: Media) -> MediaAsset:
    kind = ImageAsset if media.modality is FieldModality.IMAGE else PdfAsset
    return kind.from_base64(media.url, filename=media.filename or None)


def _unused(tag: str, names: Iterable[str]) -> str:
    """Return `tag`, numbered if it stands for another content already: parts without a name."""
    taken, number, free = set(names), 1, tag
    while free in taken:
        number += 1
        free = f"{tag.removesuffix(']')} {number}]"
    return free


def _own_text(turn: Turn) -> str:
    """Return what the person wrote: no announcements of attachments."""
    kept: list[str] = []
    for at, part in enumerate(turn.parts):
        if isinstance(part, Text):
            after = turn.parts[at + 1] if at + 1 < len(turn.parts) else None
            kept += _lines(part.text, after if isinstance(after, Media) else None)
    return "\n".join(kept).strip()


def _lines(text: str, announced: Media | None) -> Iterator[str]:
    lines = text.splitlines()
    if announced is not None and len(lines) == 1 and announced.tag in text:
        return  # a line just before an attachment that names it, in whatever words
    for line in lines:
        if not is_announcement(line.strip()):
            yield line


def _without_format(text: str) -> tuple[str, dict[str, str] | None]:
    """Take what an agent says about the answer's form off `text`; return the keys it asks for."""
    fields = _FIELDS_HEAD.search(text)
    form = _FORMAT_HEAD.search(text)
    starts = [found.start() for found in (fields, form) if found]
    outputs = _keys(text[fields.end() :]) if fields else None
    own = text[: min(starts)] if starts else text
    if starts or _PROMPT_HEAD.search(own):
        own = _HEAD.sub("", own)
    return re.sub(r"\n{3,}", "\n\n", own).strip(), outputs


def _keys(text: str) -> dict[str, str] | None:
    try:
        value, _ = json.JSONDecoder().raw_decode(text.strip())
    except ValueError:
        return None
    if not isinstance(value, dict) or not value:
        return None
    return {
        str(name): description if isinstance(description, str) else ""
        for name, description in value.items()
    }


def _without_tags(text: str, tags: Iterable[str]) -> str:
    for tag in sorted(tags, key=len, reverse=True):
        text = text.replace(tag, " ")
    for start, end, _ in reversed(find_tags(text)):
        text = f"{text[:start]} {text[end:]}"
    return re.sub(r"[ \t]+([?.!,;:？。！，；：]|$)", r"\1", re.sub(r"[ \t]{2,}", " ", text)).strip()
