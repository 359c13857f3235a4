"""A session's attachments -> a tray of cards: look, add, name, put in order, take out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from agentcell.assets.asset import MediaAsset, asset_from_path
from agentcell.assets.preview import enlarged, preview, preview_problem
from agentcell.errors import AgentcellError, AttachmentError
from agentcell.messages import MediaMessageBlock
from agentcell.prompts.place import field_name
from agentcell.safe_text import as_html, as_literal, plain
from agentcell.session import Session
from agentcell.wording import say, word
from agentcell_widgets.attachments.cards import Cards
from agentcell_widgets.attachments.places import assets_at, names_of_pictures
from agentcell_widgets.attachments.zh import ZH
from agentcell_widgets.panel import (
    Message,
    Panel,
    Payload,
    Static,
    Uploaded,
    css,
    esm,
    handles,
    that_fit,
)
from agentcell_widgets.panel.media_words import alternative, described

__all__ = ["AttachmentsPanel"]

THUMBNAIL_SIDE = 256
"""Pixels of a thumbnail's longer side: twice what the panel shows, for sharp screens."""

_LONGEST_TAG = 200
_LONGEST_PLACE = 20_000_000
"""Characters of a place: a ``data:`` address holds a whole picture."""

_MOST_PAGES = 100_000
_MOST_TAGS = 10_000
_MOST_NAMED = 3
_MOST_REMOVED = 20

EMPTY = "No attachments yet."

Variables = Callable[[], Mapping[str, Any]]


class AttachmentsPanel(Panel):
    """Shows what a session has attached, what it comes to, and lets a person change it.

    Parameters
    ----------
    session
        The session behind it.
    variables
        Returns the notebook's variables by name, which may then be attached by it; None: none.

    Notes
    -----
    The page is told ``state``: ``model``, ``total``, ``cards`` and ``names``; see `Cards`. It asks
    ``add`` (``place``, ``kind``), ``remove`` and ``bring-back`` (``tag``), ``label`` (``tag``,
    ``label``), ``arrange`` (``tags``) and ``picture`` (``tag``, ``page``, ``large``), and sends
    files.
    """

    NAME = "attachments"
    TITLE = "Attachments"
    WORDS = ZH

    _esm = esm(__file__, "card.js", "enlarge.js", "attachments.js")
    _css = css(__file__, "attachments.css")

    def __init__(self, session: Session, *, variables: Variables | None = None) -> None:
        self._variables = variables
        self._cards = Cards()
        self._removed: deque[tuple[MediaMessageBlock, bool]] = deque(maxlen=_MOST_REMOVED)
        self._told: Mapping[str, Any] | None = None
        super().__init__(session)

    def state(self) -> Mapping[str, Any]:
        """Return what the page shows: no picture, which it asks for one by one."""
        return {**self._cards.of(self.session), "names": names_of_pictures(self._values())}

    def followed(self) -> None:
        """Tell the views, if anything that they show is different."""
        state = self.state()
        if state != self._told:
            self._told = state
            self.tell("state", state)

    def static(self) -> Static:
        """Return the list without its pictures: those are saved once, under the cells."""
        lines = [(plain(one.tag), described(one.asset)) for one in self.session.attachments]
        if not lines:
            empty = word(EMPTY)
            return Static(html=f"<p>{as_html(empty)}</p>", markdown=as_literal(empty), text=empty)
        rows = [
            (
                f"<li><strong>{as_html(tag)}</strong> {as_html(facts)}</li>",
                f"- **{as_literal(tag)}** {as_literal(facts)}",
                f"{tag} {facts}",
            )
            for tag, facts in lines
        ]
        if left_out := len(rows) - that_fit(rows):
            more = say("and {count} more", count=left_out)
            rows = [*rows[:-left_out], (f"<li>{as_html(more)}</li>", f"- {as_literal(more)}", more)]
        return Static(
            html=f"<ul>{''.join(html for html, _, _ in rows)}</ul>",
            markdown="\n".join(markdown for _, markdown, _ in rows),
            text="\n".join(text for _, _, text in rows),
        )

    # -- added

    def uploaded(self, file: Uploaded, message: Message) -> dict[str, Any]:  # noqa: ARG002
        """Attach a file that the page sent; its content says what it is."""
        asset = asset_from_path(file.path, filename=file.name or None)
        name = asset.filename or ("pasted" if file.name else "file")
        return self._attached([asset], field_name(name), name, place="")

    @handles("add")
    def _add(self, message: Message) -> dict[str, Any]:
        """Attach what is at a path or an address, or what a variable holds."""
        place = message.text("place", longest=_LONGEST_PLACE).strip()
        kind = message.choice("kind", ("", "image", "pdf"), default="")
        found = assets_at(place, kind, self._values())
        name = field_name(found.name)
        return self._attached(found.assets, name, found.label, place=found.place)

    def _attached(
        self, assets: list[MediaAsset], name: str, label: str, *, place: str
    ) -> dict[str, Any]:
        known = set(self.session.tags)
        tags = [
            self.session.attach(
                one,
                name=name,
                label=label or one.filename or "",
                place=place if len(assets) == 1 else "",
            )
            for one in assets
        ]
        shown = ", ".join(map(plain, tags[:_MOST_NAMED])) + (
            " …" if len(tags) > _MOST_NAMED else ""
        )
        notes = [plain(note) for one in assets for note in one.notes]
        said = (
            say("{tags}: attached before; goes with the next question.", tags=shown)
            if known.issuperset(tags)
            else say("{tags} goes with the next question.", tags=shown)
        )
        return {"tags": tags, "notice": " ".join([said, *notes])}

    # -- changed

    @handles("remove")
    def _remove(self, message: Message) -> dict[str, Any]:
        tag = message.text("tag", longest=_LONGEST_TAG)
        waits = any(one.tag == tag for one in self.session.waiting)
        self._removed.append((self.session.forget(tag), waits))
        return {
            "notice": say("{tag} is removed; the model will not be given it again.", tag=plain(tag))
        }

    @handles("bring-back")
    def _bring_back(self, message: Message) -> dict[str, Any]:
        """Undo a removal."""
        tag = message.text("tag", longest=_LONGEST_TAG)
        found = next((one for one in self._removed if one[0].tag == tag), None)
        if found is None:
            raise AttachmentError(
                f"{plain(tag)[:80]!r} is none of those that were removed here last.",
                fix="attach it again.",
            )
        self._removed.remove(found)
        block, waits = found
        tag = self.session.attach(block.asset, name=block.field_name, label=block.description)
        if not waits:
            self.session.withdraw(tag)
        return {"tag": tag, "notice": say("{tag} is back.", tag=plain(tag))}

    @handles("label")
    def _label(self, message: Message) -> dict[str, Any]:
        tag = message.text("tag", longest=_LONGEST_TAG)
        label = " ".join(plain(message.text("label", longest=1_000)).split())
        new = self.session.relabel(tag, label)
        return {"tag": new, "notice": say("It is called {tag} now.", tag=plain(new))}

    @handles("arrange")
    def _arrange(self, message: Message) -> None:
        self.session.arrange(message.texts("tags", most=_MOST_TAGS, longest=_LONGEST_TAG))

    # -- looked at

    @handles("picture")
    def _picture(self, message: Message) -> Payload:
        """Return a thumbnail, or a large picture, of an image or one page of a PDF."""
        block = self._block(message.text("tag", longest=_LONGEST_TAG))
        page = message.number("page", least=1, most=_MOST_PAGES, default=1)
        asset = block.asset
        if message.flag("large", default=False):
            shown = enlarged(asset, page=page)
        else:
            shown = preview(asset, max_side=THUMBNAIL_SIDE, page=page)
        if shown is None:
            return Payload({"problem": plain(preview_problem(asset, page=page)), "page": page})
        facts = {
            "alt": alternative(asset, page),
            "type": shown.mime_type,
            "width": shown.width,
            "height": shown.height,
            "page": page,
        }
        return Payload(facts, [shown.data])

    def _block(self, tag: str) -> MediaMessageBlock:
        found = next((one for one in self.session.attachments if one.tag == tag), None)
        if found is None:
            raise AttachmentError(
                f"No attachment is called {plain(tag)[:80]!r}.", fix="it was removed meanwhile."
            )
        return found

    def _values(self) -> Mapping[str, Any]:
        if self._variables is None:
            return {}
        try:
            return dict(self._variables())
        except (AgentcellError, RuntimeError):  # they changed while they were read
            return {}
