"""What a person does in a chat → questions of a session, in one of its conversations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentcell.agents.acting import ApprovalMode
from agentcell.errors import HistoryError, PanelError
from agentcell.history.forked import conversation_of, next_name
from agentcell.history.notebook import MAIN
from agentcell.history.panel_cells import is_panel_cell, new_panel_cell
from agentcell.history.turns import Turn
from agentcell.loop import LOOP
from agentcell.request import Request
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell_widgets.chat.answering import Answering
from agentcell_widgets.chat.asked_again import asks_again, text_again
from agentcell_widgets.chat.asks import Asks, Tell
from agentcell_widgets.chat.shown import Shown
from agentcell_widgets.chat.views import View

_LONGEST_NAME = 200


class Chat:
    """One chat, without its page. Safe to use from several threads.

    Parameters
    ----------
    session
        What it shares with the magics, Python code and other panels.
    tell
        Takes messages: those of `Answering`, and ``turns``.
    conversation
        The one that is shown first.
    options
        Of `Session.prepare`, for every question: ``tools``, ``system``, ``settings``, …
    variables
        What ``{name}`` in a question may stand for; None: nothing.
    mode
        See `Answering`.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        session: Session,
        tell: Tell,
        *,
        conversation: str = MAIN,
        options: Mapping[str, Any] | None = None,
        variables: Callable[[], Mapping[str, Any]] | None = None,
        mode: ApprovalMode | None = None,
    ) -> None:
        self.session = session
        self.shown = Shown(session, conversation)
        self._tell = tell
        self._options = dict(options or {})
        self._variables = variables
        self._mode = mode
        self._lock = threading.Lock()
        self._answering: Answering | None = None
        self.telling = threading.RLock()
        """Held while what is shown is read and told: an older state never comes after a newer."""

    # -- what is shown ------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a question is on its way."""
        return self._answering is not None and not self._answering.is_over

    def state(self) -> View:
        """Return all that stands around the turns; see `Shown.around`."""
        return {**self.shown.around(), "busy": self.is_busy}

    def tell_state(self) -> None:
        """Tell what stands around the turns. From any thread; it waits for who else tells."""
        with self.telling:
            self._tell("state", **self.state())

    def tell_changes(self) -> None:
        """Tell the turns that changed, and what stands around them. From any thread."""
        with self.telling:
            if (changed := self.shown.turns()) is not None:
                self._tell("turns", **changed)
            self.tell_state()

    def live(self) -> View | None:
        """Return what came until now of the answer that is on its way; None if there is none."""
        return None if self._answering is None else self._answering.live()

    # -- what a person does -------------------------------------------------------------------

    def submit(self, text: str) -> None:
        """Ask; what comes of it is told.

        Parameters
        ----------
        text
            As it was written.

        Raises
        ------
        PanelError
            If it is empty, or an answer is still on its way.
        """
        if not text.strip():
            raise PanelError("The question is empty.", fix="write it, then send it.")
        self._ask(written(text), self._typed(text), cell=new_panel_cell(), given_back=text)

    def retry(self, turn_id: str) -> None:
        """Ask a turn again: in its place, if it was asked in a panel; else in a branch.

        What a cell asked stays as the cell shows it; only a failed one is asked again below.

        Parameters
        ----------
        turn_id
            Its id.

        Raises
        ------
        PanelError
            If it is gone, or an answer is still on its way.
        """
        self._must_be_free()
        turn = self._turn(turn_id)
        options = asks_again(turn)
        if is_panel_cell(turn.cell_id):
            self._ask(text_again(turn), options, cell=str(turn.cell_id), replaces=turn.id)
            return
        if turn.is_sent_again:
            self._go_to(self.session.branch(turn_id, before=True))
        self._ask(text_again(turn), options, cell=new_panel_cell())

    def edit(self, turn_id: str, text: str) -> None:
        """Ask something else in a turn's place, in a branch: a new conversation.

        Parameters
        ----------
        turn_id
            Its id.
        text
            The new question; the turn's attachments go with it.

        Raises
        ------
        PanelError
            If the turn is gone, the text empty, or an answer still on its way.
        """
        self._must_be_free()
        if not text.strip():
            raise PanelError("The question is empty.", fix="write it, then send it.")
        turn = self._turn(turn_id)
        self._go_to(self.session.branch(turn_id, before=True))
        options = {**asks_again(turn), **self._typed(text)}
        self._ask(written(text), options, cell=new_panel_cell(), given_back=text)

    def branch(self, turn_id: str) -> str:
        """Go on from a turn in a new conversation, and return its name.

        Parameters
        ----------
        turn_id
            Its id.

        Raises
        ------
        PanelError
            If it is gone, or an answer is still on its way.
        """
        self._must_be_free()
        self._turn(turn_id)
        name = self.session.branch(turn_id)
        self._go_to(name)
        return name

    def new(self) -> str:
        """Begin a new conversation, and return its name."""
        name = next_name(
            self.shown.conversation, {*self.session.conversations, self.shown.conversation}
        )
        self._go_to(name)
        return name

    def show(self, conversation: str) -> None:
        """Show another conversation.

        Parameters
        ----------
        conversation
            Its name; there need be no turns in it.

        Raises
        ------
        PanelError
            If it is none, or an answer is still on its way.
        """
        known = {*self.session.conversations, self.shown.conversation}
        name = conversation if conversation in known else plain(conversation).strip()
        if name not in known and not 0 < len(name) <= _LONGEST_NAME:
            raise PanelError(
                f"A conversation's name has 1 to {_LONGEST_NAME} characters;"
                f" {len(name):,} were given.",
                fix="choose another name.",
            )
        self._go_to(name)

    def _go_to(self, name: str) -> None:
        self._must_be_free()
        with self.telling:
            self._tell("turns", **(self.shown.go_to(name) or {}))
            self.tell_state()

    def dry_run(self, text: str) -> tuple[Any, str]:
        """Return what a question would send, and that as JSON; nothing is sent.

        Parameters
        ----------
        text
            As it was written.

        Raises
        ------
        AgentcellError
            If it cannot be asked at all.
        """
        if not text.strip():
            raise PanelError("The question is empty.", fix="write it, then look at it.")
        request = self._prepared(written(text), self._typed(text), cell=new_panel_cell(), look=True)
        run = self.session.dry_run(request)
        return run, "" if run.refusal is not None else self.session.as_sent(request)

    def answer(self, ask: str, said: str) -> None:
        """Take what the person said when they were asked.

        Parameters
        ----------
        ask
            The name of the question.
        said
            ``yes``, ``all`` or ``no``.
        """
        answering = self._answering
        if answering is not None:
            LOOP.loop().call_soon_threadsafe(answering.asks.answered, ask, said)

    def stop(self) -> bool:
        """Stop what is on its way, and say whether anything was; what came until now is kept."""
        answering = self._answering
        if answering is None or answering.is_over:
            return False
        answering.stop()
        return True

    def close(self) -> None:
        """Stop what is on its way; nothing is told any more."""
        self._tell = _to_nobody
        self.stop()

    # -- how it is asked ----------------------------------------------------------------------

    def _ask(
        self,
        text: str,
        options: Mapping[str, Any],
        *,
        cell: str,
        replaces: str = "",
        given_back: str = "",
    ) -> None:
        def prepare(asks: Asks) -> Request:
            ways = {"approve": asks.approve, "confirm": asks.confirm}
            return self._prepared(text, {**options, **ways}, cell=cell)

        with self._lock:
            self._must_be_free()
            answering = Answering(
                self.session,
                prepare,
                self._told,
                mode=self._mode,
                replaces=replaces,
                text=given_back,
            )
            self._answering = answering
            answering.start(self._over)
        self.tell_state()

    def _typed(self, text: str) -> dict[str, Any]:
        """Return what a text that a person typed may name; a model may see the files in it."""
        self.session.access.typed(text)
        return {} if self._variables is None else {"values": self._variables()}

    def _prepared(
        self, text: str, options: Mapping[str, Any], *, cell: str, look: bool = False
    ) -> Request:
        given = {name: value for name, value in options.items() if value is not None}
        return self.session.prepare(
            text,
            **{**self._options, **given},
            conversation=self.shown.conversation,
            cell_id=cell,
            look=look,
        )

    def _told(self, kind: str, /, **facts: Any) -> None:
        """Pass a message of `Answering` on, and keep what it alone knows."""
        answering = self._answering
        if kind == "begun" and answering is not None and answering.request is not None:
            self.shown.learn(answering.request.question.blocks)
            self.shown.watch(answering.id, answering.seen)
        if kind == "ended":
            self.shown.ended(facts["turn"])
        self._tell(kind, **facts)

    def _over(self) -> None:
        LOOP.loop().run_in_executor(None, self.tell_state)  # the loop itself waits for nobody

    def _must_be_free(self) -> None:
        if self.is_busy:
            raise PanelError(
                "An answer is still on its way.", fix="wait for its end, or stop it first."
            )

    def _turn(self, turn_id: str) -> Turn:
        turn = self.session.history.find(turn_id)
        if turn is None or conversation_of(self.session.history, turn_id) is None:
            raise HistoryError(
                "This turn is no longer there.", fix="it was replaced or deleted since; ask anew."
            )
        return turn


def written(text: str) -> str:
    """Return what was written without the empty lines around it.

    Parameters
    ----------
    text
        As it was typed.
    """
    return text.strip("\n").rstrip()


def _to_nobody(_kind: str, /, **_facts: Any) -> None:
    return
