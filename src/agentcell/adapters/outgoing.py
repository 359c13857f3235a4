"""Messages and what a service takes, to the messages that go out, and notes of what was changed.

The originals stay as they are: history keeps what the person attached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agentcell.assets.limits import MediaLimits
from agentcell.assets.prepare import Form, Prepared, prepare
from agentcell.messages import Block, MediaMessageBlock, Message, TextMessageBlock, media_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """What goes out.

    Parameters
    ----------
    messages
        The given ones, attachments replaced where they had to be.
    notes
        What was done, a sentence for each attachment and change.
    notes_of
        The same by attachment: its fingerprint, and the sentences about it.
    """

    messages: list[Message]
    notes: tuple[str, ...] = ()
    notes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def notes_about(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        """Return what was done to these attachments, each sentence once."""
        notes = (note for one in fingerprints for note in self.notes_of.get(one, ()))
        return tuple(dict.fromkeys(notes))

    def __repr__(self) -> str:
        return f"Outgoing({len(self.messages)} messages, {len(self.notes)} notes)"


def outgoing(
    messages: list[Message],
    limits: MediaLimits,
    *,
    detail: str = "",
    pdf_as: str = "pdf",
    forms: Mapping[str, Form] | None = None,
) -> Outgoing:
    """Return `messages` with every attachment in a form that fits `limits`.

    Parameters
    ----------
    detail, pdf_as, forms
        As for `prepare`.

    Raises
    ------
    AttachmentError
        If one cannot be made to fit, or `detail` or `pdf_as` is none of their choices.
    """
    assets = [block.asset for block in media_blocks(messages)]
    prepared = prepare(assets, limits, detail=detail, pdf_as=pdf_as, forms=forms)
    if all(_is_untouched(each) for each in prepared):
        return Outgoing(messages=messages)
    queue = iter(prepared)
    changed = [
        {**message, "content": [part for block in content for part in _parts(block, queue)]}
        if isinstance(message, dict) and isinstance(content := message.get("content"), list)
        else message
        for message in messages
    ]
    notes_of = {each.original.fingerprint(): each.notes for each in prepared if each.notes}
    notes = dict.fromkeys(note for notes in notes_of.values() for note in notes)
    return Outgoing(messages=changed, notes=tuple(notes), notes_of=notes_of)


def _is_untouched(ready: Prepared) -> bool:
    """Whether it goes out as it was attached: the very asset, for equal ones may be seen closer."""
    return len(ready.assets) == 1 and ready.assets[0] is ready.original and not ready.notes


def _parts(block: Block, prepared: Iterator[Prepared]) -> Iterator[Block]:
    if not isinstance(block, MediaMessageBlock):
        yield block
        return
    ready = next(prepared)
    if not ready.assets:
        yield TextMessageBlock(f"{block.tag} as text:\n{ready.text}")
    elif len(ready.assets) == 1:
        yield replace(block, asset=ready.assets[0])
    else:
        for page, asset in enumerate(ready.assets, start=1):
            yield TextMessageBlock(f"Page {page} of {block.tag}:")
            yield replace(block, asset=asset)
