"""A session's conversation → a panel in which a person talks to a model, by mouse and keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentcell.agents.acting import ApprovalMode
from agentcell.assets.preview import preview
from agentcell.errors import AttachmentError, PanelError
from agentcell.history.notebook import MAIN
from agentcell.messages import MediaMessageBlock
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import add_language, say
from agentcell_widgets.chat.attached import attach_file
from agentcell_widgets.chat.conversation import Chat
from agentcell_widgets.chat.dry_view import dry_view
from agentcell_widgets.chat.record import transcript
from agentcell_widgets.chat.words import PAGE, SAID
from agentcell_widgets.panel import (
    ANSWERED,
    Message,
    Panel,
    Payload,
    Static,
    Uploaded,
    css,
    esm,
    handles,
)
from agentcell_widgets.panel.media_words import alternative

__all__ = ["ChatPanel"]

add_language("zh", SAID)

THUMBNAIL_SIDE = 320
"""Pixels of a picture's longer side: twice what the panel shows, for sharp screens."""

_MODES = (None, "ask", "run", "refuse")


class ChatPanel(Panel):
    """Shows a conversation, and lets a person go on with it.

    What a cell or Python code asks in the same session appears here, and what is asked here is
    seen there. It answers while a cell runs.

    Parameters
    ----------
    session
        A `Session`; ``ChatPanel(Session())`` works.
    conversation
        The one that is shown first.
    variables
        Called for what ``{name}`` in a question may stand for, as in a cell; None: nothing.
    tools
        What the model may call: functions, tools, MCP servers; one or several.
    approve
        ``ask``: each call waits for the person's yes, ``run``: none does, ``refuse``: none runs.
        None: as each tool wants it.
    system
        Instructions for questions that are asked here; None: those of the conversation.
    settings
        For the model: ``temperature``, ``max_tokens``, …

    Raises
    ------
    PanelError
        If `approve` is none of these.

    Notes
    -----
    Besides those of `Panel`, the page sends ``submit``, ``stop``, ``retry``, ``edit``, ``branch``,
    ``new``, ``show``, ``model``, ``dry-run``, ``answer``, ``earlier``, ``picture``, ``withdraw``,
    ``bring-back``; and is told ``turns``, ``begun``, ``delta``, ``thinking``, ``call``, ``ask``,
    ``asked``, ``status``, ``ended`` and ``refused``. See `Chat`, `Answering` and `Asks`.
    """

    NAME = "chat"
    TITLE = "Chat"
    WORDS = PAGE

    _esm = esm(__file__, "copying.js", "transcript.js", "chat.js")
    _css = css(__file__, "chat.css")

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        session: Session,
        *,
        conversation: str = MAIN,
        variables: Callable[[], Mapping[str, Any]] | None = None,
        tools: Any = None,
        approve: ApprovalMode | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if approve not in _MODES:
            raise PanelError(
                f"approve is {approve!r:.60}; 'ask', 'run', 'refuse' or None was expected.",
                fix="leave it out: tools that want it then ask before they run.",
            )
        self.chat = Chat(
            session,
            self._say,
            conversation=conversation,
            variables=variables,
            options={"tools": tools, "system": system, "settings": settings},
            mode=approve,
        )
        super().__init__(session)  # from now on it is told of changes

    # -- what it says of itself ---------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return what stands around the turns; see `Chat.state`."""
        return self.chat.state()

    def followed(self) -> None:
        """Tell the views of the turns that changed, and of what stands around them."""
        self.chat.tell_changes()

    def static(self) -> Static:
        """Return the last turns, as they read where no kernel runs."""
        history, name = self.session.history, self.chat.shown.conversation
        turns = history.turns(name, last=40)
        more = history.count(name) - len(turns)
        return transcript(name, turns, more=more, forgotten=history.forgotten)

    def uploaded(self, file: Uploaded, message: Message) -> Mapping[str, Any]:  # noqa: ARG002
        """Attach a file that came whole to the next question.

        Parameters
        ----------
        file
            Where it is.
        message
            Holds nothing more.

        Raises
        ------
        AttachmentError
            If it is neither an image nor a PDF.
        """
        tag = attach_file(self.session, file)
        return {"notice": say("{tag} goes with the next question.", tag=plain(tag))}

    def close(self) -> None:
        """End the panel; an answer that is on its way is stopped, what came of it is kept."""
        if not self._is_closed:
            self.chat.close()
        super().close()

    def _say(self, kind: str, /, **facts: Any) -> None:
        self.tell(kind, facts)

    # -- what the page asks for ---------------------------------------------------------------

    @handles("hello")
    def _greet(self, message: Message) -> object:
        with self.chat.telling:
            whole = {
                **self.state(),
                "widget": self.model_id,  # to find the panel's cell by
                "turns": self.chat.shown.turns(anew=True),
                "live": self.chat.live(),
            }
            self._send_reply(message, whole)
        return ANSWERED

    @handles("submit")
    def _submit(self, message: Message) -> None:
        self.chat.submit(message.text("text"))

    @handles("stop", at_once=True)
    async def _stop(self, _: Message) -> dict[str, Any]:
        return {"stopped": self.chat.stop()}

    @handles("answer", at_once=True)
    async def _answer_question(self, message: Message) -> None:
        said = message.choice("said", ("yes", "all", "no"))
        self.chat.answer(message.text("ask", longest=64), said)

    @handles("retry")
    def _retry(self, message: Message) -> None:
        self.chat.retry(message.text("turn", longest=200))

    @handles("edit")
    def _edit(self, message: Message) -> None:
        self.chat.edit(message.text("turn", longest=200), message.text("text"))

    @handles("branch")
    def _branch(self, message: Message) -> dict[str, Any]:
        name = self.chat.branch(message.text("turn", longest=200))
        return {"notice": say("You go on in {conversation}.", conversation=plain(name))}

    @handles("new")
    def _new(self, _: Message) -> dict[str, Any]:
        name = self.chat.new()
        self.changed()  # for the output below
        return {"notice": say("You go on in {conversation}.", conversation=plain(name))}

    @handles("show")
    def _show(self, message: Message) -> None:
        self.chat.show(message.text("conversation", longest=1_000))
        self.changed()  # for the output below

    @handles("model")
    def _model(self, message: Message) -> dict[str, Any]:
        name = message.text("name", longest=500).strip()
        self.session.model = name or None
        chosen = plain(self.session.model_name)
        return {"notice": say("Questions go to {model}.", model=chosen), "model": chosen}

    @handles("dry-run")
    def _dry_run(self, message: Message) -> Mapping[str, Any]:
        return dry_view(*self.chat.dry_run(message.text("text")))

    @handles("earlier")
    def _earlier(self, message: Message) -> object:
        with self.chat.telling:
            self._send_reply(message, {"turns": self.chat.shown.earlier()})
        return ANSWERED

    @handles("picture", at_once=True)
    async def _picture(self, message: Message) -> Mapping[str, Any]:
        block = self.chat.shown.picture(message.text("key", longest=500))
        if block is None:
            return {"type": None}
        shown = await asyncio.to_thread(preview, block.asset, max_side=THUMBNAIL_SIDE)
        if shown is None:
            return {"type": None}
        return Payload({"type": shown.mime_type, "alt": alternative(block.asset, 1)}, [shown.data])

    @handles("withdraw")
    def _withdraw(self, message: Message) -> dict[str, Any]:
        tag = self._tag(message, self.session.waiting)
        self.session.withdraw(tag)
        return {"notice": say("{tag} stays here.", tag=plain(tag))}

    @handles("bring-back")
    def _bring_back(self, message: Message) -> dict[str, Any]:
        """Undo `_withdraw`."""
        known = self.session.attachments
        tag = self._tag(message, known)
        block = next((one for one in known if one.tag == tag), None)
        if block is None:
            raise AttachmentError(
                f"No attachment is called {plain(tag)[:80]!r}.", fix="attach it again."
            )
        self.session.attach(block.asset, name=block.field_name, label=block.description)
        return {"notice": say("{tag} goes with the next question.", tag=plain(tag))}

    def _tag(self, message: Message, blocks: Iterable[MediaMessageBlock]) -> str:
        """Return the tag that the page shows as the message says."""
        shown = message.text("tag", longest=2_000)
        return next((one.tag for one in blocks if plain(one.tag) == shown), shown)
