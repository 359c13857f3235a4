"""What a session was given to attach, to what goes with the next question."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentcell.assets.asset import MediaAsset
from agentcell.assets.content import Content
from agentcell.errors import AttachmentError
from agentcell.history.notebook import NotebookHistory
from agentcell.messages import MediaMessageBlock
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.session_tags import SessionTags

_MOST_NAMED = 8
"""Attachments that an error names: the last ones."""

Asker = tuple[str | None, int]
"""Who asks: a cell, and which of its questions it is."""


@dataclass(slots=True, kw_only=True)
class _Viewed:
    """An attachment that waits for the next question, and then remembers who asked it."""

    asset: MediaAsset
    spec: FieldSpec
    place: str
    waits: bool = True
    asker: Asker | None = None


class Attachments:
    """A session's attachments, by tag. Safe to share between threads.

    Parameters
    ----------
    history
        Knows those of earlier turns; they are read when they are needed.
    """

    def __init__(self, history: NotebookHistory) -> None:
        self.tags = SessionTags()
        self._history = history
        self._named: dict[str, str] = {}
        """Fingerprints by tags, in the order in which they came."""
        self._blocks: dict[str, MediaMessageBlock] = {}
        self._viewed: list[_Viewed] = []
        self._forgotten = set(history.forgotten)
        for tag, fingerprint in history.tags():
            self.tags.adopt(tag, fingerprint)
            self._named[tag] = fingerprint
        self._contents: weakref.WeakValueDictionary[str, Content] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()

    @property
    def blocks(self) -> tuple[MediaMessageBlock, ...]:
        """Every attachment that may go out, in the order in which they came."""
        with self._lock:
            found = [self._block(tag) for tag in self._known()]
            return tuple(block for block in found if block is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The tags of `blocks`; nothing is read for them."""
        with self._lock:
            return tuple(self._known())

    def __len__(self) -> int:
        return len(self.names)

    def block(self, tag: str) -> MediaMessageBlock | None:
        """Return the attachment of that tag; None if there is none that may go out."""
        with self._lock:
            return self._block(tag) if tag in self._known() else None

    def learn(self, blocks: Iterable[MediaMessageBlock]) -> None:
        """Take note of attachments in turns, which another kernel may have asked."""
        with self._lock:
            for block in blocks:
                if block.tag not in self._named:
                    self.tags.adopt(block.tag, block.fingerprint)
                    self._name(block)

    @property
    def forgotten(self) -> frozenset[str]:
        """Fingerprints of those that must not go out again."""
        with self._lock:
            return frozenset(self._forgotten)

    def view(self, asset: MediaAsset, spec: FieldSpec, place: str) -> MediaMessageBlock:
        """Let `asset` go with the next question.

        Parameters
        ----------
        place
            Where it was found, if anywhere: what still waits of the same place stays away.
        """
        with self._lock:
            self._remember(asset.fingerprint())
            if place:
                self._viewed = [v for v in self._viewed if not (v.waits and v.place == place)]
            tag = self.tags.tag(asset, spec)
            block = self.shared(MediaMessageBlock(asset, spec.name, tag, spec.description))
            self._viewed.append(_Viewed(asset=block.asset, spec=spec, place=place))
            return self._name(block)

    def viewed_for(self, asker: Asker) -> list[tuple[FieldSpec, MediaAsset]]:
        """Return what waits, and what went with the same cell's question before."""
        with self._lock:
            mine = asker[0] is not None
            found = [v for v in self._viewed if v.waits or (mine and v.asker == asker)]
            newer = {v.place for v in found if v.waits and v.place}
            return [(v.spec, v.asset) for v in found if v.waits or v.place not in newer]

    @property
    def waiting(self) -> tuple[MediaMessageBlock, ...]:
        """What goes out with the next question, each once, in the order in which it came."""
        with self._lock:
            found = {self.tags.tag(one.asset, one.spec): one for one in self._viewed if one.waits}
            return tuple(
                MediaMessageBlock(one.asset, one.spec.name, tag, one.spec.description)
                for tag, one in found.items()
            )

    def withdraw(self, tag: str) -> bool:
        """Let what waits under that tag not go out with the next question; say whether it did.

        It stays known, unlike what is forgotten.
        """
        with self._lock:
            left = [
                one
                for one in self._viewed
                if not (one.waits and self.tags.tag(one.asset, one.spec) == tag)
            ]
            found, self._viewed = len(left) < len(self._viewed), left
            return found

    def arrange(self, tags: Iterable[str]) -> None:
        """Put attachments into that order, before all others; what waits goes out in it.

        Parameters
        ----------
        tags
            Whole; those that are not known count for nothing.
        """
        with self._lock:
            place = {tag: number for number, tag in enumerate(tags)}
            last = len(place)
            named = sorted(self._named.items(), key=lambda one: place.get(one[0], last))
            self._named = dict(named)
            self._viewed.sort(key=lambda one: place.get(self.tags.tag(one.asset, one.spec), last))

    def relabel(self, tag: str, label: str) -> MediaMessageBlock:
        """Give what waits another label, and with it another tag.

        Raises
        ------
        AttachmentError
            If none waits under that tag, or it stands in a turn.
        """
        with self._lock:
            waits = [
                one
                for one in self._viewed
                if one.waits and self.tags.tag(one.asset, one.spec) == tag
            ]
            if not waits or self._history.block(tag) is not None:
                raise AttachmentError(
                    f"{tag[:80]} went out with a question; its name stands in what was said.",
                    fix="attach it again under another name.",
                )
            for one in waits:
                one.spec = replace(one.spec, description=label)
            asset, spec = waits[0].asset, waits[0].spec
            name = self.tags.tag(asset, spec)
            block = self.shared(MediaMessageBlock(asset, spec.name, name, label))
            self._named = {
                (name if known == tag else known): fingerprint
                for known, fingerprint in self._named.items()
            }
            self._blocks.pop(tag, None)
            return self._name(block)

    def shared(self, block: MediaMessageBlock) -> MediaMessageBlock:
        """Return the block with its content kept once, however often it was read."""
        content = block.asset.snapshot
        if content is None:
            return block
        with self._lock:
            kept = self._contents.setdefault(block.fingerprint, content)
        if kept is content:
            return block
        return replace(block, asset=replace(block.asset, snapshot=kept))

    def add(self, blocks: Iterable[MediaMessageBlock], *, asker: Asker, sent: bool) -> None:
        """Take note of a question's attachments.

        Parameters
        ----------
        sent
            Whether the question was answered, in part at least; else it will be asked again.
        """
        blocks = tuple(blocks)
        fingerprints = {block.fingerprint for block in blocks}
        with self._lock:
            for block in blocks:
                self._name(block)
            if not sent:
                return
            for fingerprint in fingerprints:
                self._remember(fingerprint)
            for viewed in self._viewed:
                if viewed.waits and viewed.asset.fingerprint() in fingerprints:
                    viewed.waits, viewed.asker = False, asker

    def forget(self, tag: str) -> MediaMessageBlock:
        """Let an attachment never go out again.

        Raises
        ------
        AttachmentError
            If none has that tag.
        """
        with self._lock:
            known = self._known()
            named = [one for one in known if tag in {one, one.strip("[]").split(" ")[0]}]
            block = self._block(named[0]) if named else None
            if block is None:
                last = ", ".join(known[-_MOST_NAMED:])
                raise AttachmentError(
                    f"No attachment is called {tag[:80]!r}.",
                    fix=f"name one of these: {last}." if last else "attach something first.",
                )
            gone = block.fingerprint
            self._forgotten.add(gone)
            self._viewed = [v for v in self._viewed if v.asset.fingerprint() != gone]
        self._history.set_forgotten(gone)
        return block

    def _known(self) -> list[str]:
        """Return the tags of what may go out."""
        return [tag for tag, one in self._named.items() if one not in self._forgotten]

    def _block(self, tag: str) -> MediaMessageBlock | None:
        """Return an attachment, read if need be; None if its content is gone."""
        found = self._blocks.get(tag)
        if found is None:
            kept = self._history.block(tag)
            if kept is not None:
                found = self._blocks[tag] = self.shared(kept)
        return found

    def _name(self, block: MediaMessageBlock) -> MediaMessageBlock:
        self._named.setdefault(block.tag, block.fingerprint)
        return self._blocks.setdefault(block.tag, block)

    def _remember(self, fingerprint: str) -> None:
        if fingerprint in self._forgotten:
            self._forgotten.discard(fingerprint)
            self._history.set_forgotten(fingerprint, forgotten=False)
