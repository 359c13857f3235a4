"""A cell's text and the values that it names, to one question with tagged attachments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.errors import CellError, FieldError
from agentcell.messages import Block, MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.fields import FieldSpec, validate_field_value
from agentcell.prompts.image_markers import find_markers
from agentcell.prompts.mentions import Mention, find_mentions
from agentcell.prompts.session_tags import SessionTags
from agentcell.prompts.tags import announcement
from agentcell.prompts.template import fill, find_slots, near_miss
from agentcell.safe_text import unsendable

MOST_HINTS = 3
"""As many slips are pointed out; a text full of braces is code, not a row of slips."""

_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person asks, as it goes out.

    Parameters
    ----------
    text
        The person's text, each named attachment replaced by its tag.
    blocks
        The attachments, in the order: viewed before, given on the line, named in the text.
    named
        Whether the text names anything: it then differs from what was typed.
    notes
        What was done to an attachment, one sentence each.
    hints
        What looks like a slip, one sentence each.
    """

    text: str
    blocks: tuple[MediaMessageBlock, ...] = ()
    named: bool = False
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def message(self, sent: Collection[str]) -> Message:
        """Return the user's message; an attachment in `sent` (fingerprints) goes by its tag."""
        content: list[Block] = []
        again = []
        for block in self.blocks:
            if block.fingerprint not in sent:
                content += [TextMessageBlock(announcement(block)), block]
            elif block.tag not in self.text:  # given again, on the line or by a view
                again.append(block.tag)
        text = "\n".join([*([" ".join(again)] if again else []), self.text])
        if not content:
            return {"role": "user", "content": text}
        return {"role": "user", "content": [*content, TextMessageBlock(text)]}


def compose(  # noqa: PLR0913 (each is a source of its own)
    text: str,
    *,
    values: Mapping[str, Any],
    attach: Mapping[str, Any],
    fields: Mapping[str, FieldSpec],
    viewed: Iterable[tuple[FieldSpec, MediaAsset]],
    tags: SessionTags,
    sent: Mapping[str, str],
    mentions: Mapping[str, tuple[str, MediaAsset]] | None = None,
) -> Question:
    """Return the question that `text` makes with what it names.

    Parameters
    ----------
    text
        ``{name}`` is replaced if `name` is in `attach`, or in `values` with something that can
        be told to a model; all else stays as typed.
    fields
        Declarations; a declared field must be in `attach` or in `values`.
    viewed
        Attachments that go out as well, before the others.
    tags
        Gives an attachment its tag.
    sent
        What earlier messages hold, fingerprint to tag: it keeps its tag, whatever the field.
    mentions
        Files that `text` may name as ``@path``: a field's name and the file, by path as written.
        Or as ``[IMAGE:path]``, by all of that. No others are looked for.

    Raises
    ------
    CellError
        If `text` holds what cannot be sent.
    FieldError, AttachmentError
        If a value is missing, not of its field's kind, or cannot be sent.
    """
    if fault := unsendable(text):
        raise CellError(f"The question holds {fault}.", fix="delete it, or type the text anew.")
    composer = _Composer(values, attach, fields, tags, sent)
    tags.see(text)
    for spec, asset in viewed:
        composer.add(spec, asset)
    for name in attach:
        composer.told(name)
    for name in fields:
        composer.declared(name)
    names = list(dict.fromkeys(slot.name for slot in find_slots(text)))
    said = "".join(composer.filled(text, mentions or {}))
    filled = "\n\n".join([said, *composer.unused_texts(names)])
    return Question(
        text=filled,
        blocks=tuple(composer.blocks.values()),
        named=filled != text,
        notes=tuple(dict.fromkeys(n for b in composer.blocks.values() for n in b.asset.notes)),
        hints=tuple(composer.hints(names)),
    )


class _Composer:
    """Turns names into what the text says for them, and keeps the attachments met on the way."""

    def __init__(
        self,
        values: Mapping[str, Any],
        attach: Mapping[str, Any],
        fields: Mapping[str, FieldSpec],
        tags: SessionTags,
        sent: Mapping[str, str],
    ) -> None:
        self._tag_of = dict(sent)
        self._values = values
        self._attach = attach
        self._fields = fields
        self._tags = tags
        self._said: dict[str, str | None] = {}
        self._texts: set[str] = set()
        self.blocks: dict[str, MediaMessageBlock] = {}  # by tag, in order

    def filled(self, text: str, mentions: Mapping[str, tuple[str, MediaAsset]]) -> Iterable[str]:
        """Yield `text` in pieces: names as they are told, mentions as tags, all else as typed."""
        at = 0
        for mention in _files_in(text, mentions) if mentions else ():
            name, asset = mentions[mention.path]
            spec = self._fields.get(name) or FieldSpec(name=name, description=name)
            yield fill(text[at : mention.start], self.told)
            yield self.add(spec, asset)
            at = mention.end
        yield fill(text[at:], self.told)

    def told(self, name: str) -> str | None:
        """Return what stands for `name`, or None to leave it as typed."""
        if name not in self._said:
            self._said[name] = self._tell(name)
        return self._said[name]

    def declared(self, name: str) -> None:
        """Check that a declared field has a value."""
        if self.told(name) is not None:
            return
        meant = near_miss(name, {*self._attach, *self._values})
        raise FieldError(
            f"The field '{name}' is declared, but there is no variable or attachment of that name.",
            fix=f"did you mean '{meant}'?" if meant else f"set {name} = …, or attach it by name.",
        )

    def unused_texts(self, named: Collection[str]) -> Iterable[str]:
        """Yield texts that were given but are not `named` in the question, with their labels."""
        for name in {**self._attach, **self._fields}:
            told = self.told(name)
            if name not in named and name in self._texts and told is not None:
                spec = self._fields.get(name) or FieldSpec(name=name, description=name)
                yield f"{spec.description or name}: {told}"

    def _tell(self, name: str) -> str | None:
        if name in self._attach:
            value = self._attach[name]
        elif name in self._values and (name in self._fields or _can_be_told(self._values[name])):
            value = self._values[name]
        else:
            return None
        spec = self._fields.get(name) or FieldSpec(name=name, description=name)
        content = coerce(value, name=name, modality=spec.modality)
        validate_field_value(spec, content)
        if isinstance(content, str):
            if fault := unsendable(content):
                raise FieldError(
                    f"'{name}' holds {fault}.", fix=f"take it out of {name}, and ask again."
                )
            self._texts.add(name)
            return content
        assets = [content] if isinstance(content, MediaAsset) else content
        return ", ".join(self.add(spec, asset) for asset in assets)

    def add(self, spec: FieldSpec, asset: MediaAsset) -> str:
        """Keep `asset` as an attachment and return its tag."""
        tag = self._tag_of.get(asset.fingerprint()) or self._tags.tag(asset, spec)
        self._tag_of[asset.fingerprint()] = tag
        if tag not in self.blocks:
            self.blocks[tag] = MediaMessageBlock(asset, spec.name, tag, spec.description)
        return tag

    def hints(self, named: Collection[str]) -> Iterable[str]:
        """Yield what looks like a slip of the pen in the names that stand in braces."""
        known = {*self._attach, *self._values}
        unknown = [name for name in named if self.told(name) is None]
        meant = ((name, near_miss(name, known)) for name in unknown[:_MOST_LOOKED_AT])
        slips = [(name, near) for name, near in meant if near]
        for name, near in slips[:MOST_HINTS]:
            yield f"{{{name}}} stays as typed: did you mean {{{near}}}?"


def _files_in(text: str, known: Collection[str]) -> Iterable[Mention]:
    """Yield where `text` names one of `known`, in order; of two that overlap, the first."""
    whole = [Mention(one.start, one.end, text[one.start : one.end]) for one in find_markers(text)]
    found = [*find_mentions(text, known.__contains__), *(one for one in whole if one.path in known)]
    at = 0
    for one in sorted(found, key=lambda one: one.start):
        if one.start >= at:
            yield one
            at = one.end


def _can_be_told(value: object) -> bool:
    """Whether a notebook's variable is a value, and not a function, a class or a module."""
    return not callable(value) and type(value).__name__ != "module"
