"""Attachments and what is known of them, to those that are uploaded, and notes that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.upload_messages import Attached
from agentcell.assets.asset import MediaAsset
from agentcell.messages import Message, media_blocks
from agentcell.modality import FieldModality

LARGE_BYTES = 4_000_000
"""From here on ``auto`` uploads a file the first time already."""


def choose(
    attached: Attached,
    *,
    every: bool,
    takes_ids: Callable[[FieldModality], bool],
    seen: Callable[[str], bool],
    room: int,
) -> dict[str, MediaAsset]:
    """Return the attachments that are to be files, by digest.

    Parameters
    ----------
    every
        Whether all are; else those that are large, those that are sent a second time, and, until
        the rest fit into one request, the largest.
    takes_ids
        Whether a question may name a file of that modality.
    seen
        Whether a digest was sent or uploaded before.
    room
        Bytes of base64 that one request may hold.
    """
    fit = [asset for asset in attached.at.values() if takes_ids(asset.modality)]
    if every:
        return {asset.fingerprint(): asset for asset in fit}
    count = Counter(asset.fingerprint() for asset in fit)
    chosen = {
        digest: asset
        for asset in fit
        if count[digest := asset.fingerprint()] > 1 or _size(asset) >= LARGE_BYTES or seen(digest)
    }
    rest = sorted((one for one in fit if one.fingerprint() not in chosen), key=_size)
    beside = [one for one in attached.at.values() if not takes_ids(one.modality)]
    while rest and sum(_base64_size(one) for one in (*rest, *beside)) > room:
        largest = rest.pop()
        chosen[largest.fingerprint()] = largest
    return chosen


def with_notes(
    ready: Outgoing, messages: list[Message], digests: Collection[str], end: str
) -> Outgoing:
    """Return `ready` with a note about each attachment that will be uploaded.

    Parameters
    ----------
    messages
        Before they were made ready: notes are known by the attachments in them.
    digests
        Of what is to be uploaded, as it goes out.
    end
        What is said of each, after its name.
    """
    notes_of = dict(ready.notes_of)
    given, sent = list(media_blocks(messages)), list(media_blocks(ready.messages))
    if len(given) != len(sent):
        given = sent  # pages in the place of a PDF: each for itself
    for before, after in zip(given, sent, strict=True):
        if after.fingerprint in digests:
            old = notes_of.get(before.fingerprint, ())
            note = f"{after.asset.default_filename} {end}"
            notes_of[before.fingerprint] = (*(one for one in old if one != note), note)
    notes = tuple(dict.fromkeys(note for each in notes_of.values() for note in each))
    return replace(ready, notes=notes, notes_of=notes_of)


def _size(asset: MediaAsset) -> int:
    return asset.size_bytes or 0


def _base64_size(asset: MediaAsset) -> int:
    return (_size(asset) + 2) // 3 * 4
