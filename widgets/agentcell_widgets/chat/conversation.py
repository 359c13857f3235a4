"""A session and one of its conversations → what a chat shows, and what a person does in it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.registry import models
from agentcell.budget import amount, dollars
from agentcell.errors import AgentcellError, HistoryError, PanelError
from agentcell.history.forked import conversation_of, next_name
from agentcell.history.notebook import MAIN
from agentcell.history.panel_cells import is_panel_cell, new_panel_cell
from agentcell.history.turns import Turn
from agentcell.loop import LOOP
from agentcell.messages import MediaMessageBlock, media_blocks
from agentcell.request import Request
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import say
from agentcell_widgets.chat.answering import Answering, Mode, Tell
from agentcell_widgets.chat.asked_again import asks_again
from agentcell_widgets.chat.views import Seen, View, attachment_view, tokens, turn_view

AT_ONCE = 40
"""As many turns are sent at a time: the last ones, and earlier ones when somebody looks there."""

_MOST_SEEN = 500
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
    mode
        See `Answering`.
    """

    def __init__(
        self,
        session: Session,
        tell: Tell,
        *,
        conversation: str = MAIN,
        options: Mapping[str, Any] | None = None,
        mode: Mode | None = None,
    ) -> None:
        self.session = session
        self.conversation = conversation
        self._tell = tell
        self._options = dict(options or {})
        self._mode = mode
        self._lock = threading.RLock()
        self._shown = AT_ONCE
        self._sent: dict[str, bool] = {}
        """Turns that the page has, by their ids: whether they were stale."""
        self._forgotten: frozenset[str] = frozenset()
        self._order: list[str] = []
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._blocks: dict[str, MediaMessageBlock] = {}
        self._answering: Answering | None = None

    # -- what is shown ------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a question is on its way."""
        return self._answering is not None and not self._answering.is_over

    def state(self) -> View:
        """Return all that stands around the turns."""
        session = self.session
        try:
            model, fault = session.model_name, ""
        except AgentcellError as error:
            model, fault = session.chosen_model_name or "", plain(error.problem)
        names = dict.fromkeys((*session.conversations, self.conversation))
        waiting = session.waiting
        self._learn(waiting)
        return {
            "conversation": self.conversation,
            "conversations": list(names),
            "model": plain(model),
            "fault": fault,
            "models": models(),
            "waiting": [attachment_view(block) for block in waiting],
            "busy": self.is_busy,
            "cost": self._cost(),
        }

    def _cost(self) -> str:
        session = self.session
        said = [tokens(session.usage)]
        spent, budget = session.cost, session.budget
        if spent.usd:
            said.append(dollars(spent.usd))
        if spent.unknown:
            said.append(say("cost of {count} turns unknown", count=f"{spent.unknown:,}"))
        if budget is not None:
            left = max(budget.usd - spent.usd, amount(0))
            said.append(
                say("{left} of {budget} left", left=dollars(left), budget=dollars(budget.usd))
            )
        return " · ".join(one for one in said if one)

    def turns(self, *, anew: bool = False) -> View | None:
        """Return what changed of the turns since it was asked last; None if nothing did.

        Parameters
        ----------
        anew
            All that is shown, for a page that has nothing yet.
        """
        with self._lock:
            turns = self.session.history.turns(self.conversation, last=self._shown)
            order = [turn.id for turn in turns]
            forgotten = self.session.history.forgotten
            if anew or forgotten != self._forgotten:
                self._sent = {}
            changed = [turn for turn in turns if self._sent.get(turn.id) != turn.stale]
            if not changed and order == self._order and not anew:
                return None
            self._order = order
            self._sent = {turn.id: turn.stale for turn in turns}
            self._forgotten = forgotten
            return {
                "conversation": self.conversation,
                "order": order,
                "more": self.session.history.count(self.conversation) - len(order),
                "turns": [self._view(turn, forgotten) for turn in changed],
            }

    def live(self) -> View | None:
        """Return what came until now of the answer that is on its way; None if there is none."""
        return None if self._answering is None else self._answering.live()

    def earlier(self) -> View | None:
        """Return turns before those that are shown, as `turns` does."""
        with self._lock:
            self._shown += AT_ONCE
        return self.turns()

    def picture(self, key: str) -> MediaMessageBlock | None:
        """Return an attachment that was shown, by its key.

        Parameters
        ----------
        key
            Its fingerprint.
        """
        with self._lock:
            return self._blocks.get(key)

    def _view(self, turn: Turn, forgotten: frozenset[str]) -> View:
        self._learn(media_blocks(turn.messages))
        seen, answering = self._seen.get(turn.id), self._answering
        if seen is None and answering is not None and answering.id == turn.id:
            seen = answering.seen  # its end is about to be told
        return turn_view(turn, seen, forgotten=forgotten)

    def _learn(self, blocks: Any) -> None:
        with self._lock:
            self._blocks.update({block.fingerprint: block for block in blocks})

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
        self._ask(text.strip("\n").rstrip(), {}, cell=new_panel_cell(), given_back=text)

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
            self._ask(turn.question, options, cell=str(turn.cell_id), replaces=turn.id)
            return
        if turn.is_sent_again:
            self.show(self.session.branch(turn_id, before=True))
        self._ask(turn.question, options, cell=new_panel_cell())

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
        self.show(self.session.branch(turn_id, before=True))
        options = asks_again(turn)
        self._ask(text.strip("\n").rstrip(), options, cell=new_panel_cell(), given_back=text)

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
        self.show(name)
        return name

    def new(self) -> str:
        """Begin a new conversation, and return its name."""
        name = next_name(self.conversation, {*self.session.conversations, self.conversation})
        self.show(name)
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
        name = plain(conversation).strip()
        if not name or len(name) > _LONGEST_NAME:
            raise PanelError(
                f"A conversation's name has 1 to {_LONGEST_NAME} characters;"
                f" {len(name):,} were given.",
                fix="choose another name.",
            )
        self._must_be_free()
        with self._lock:
            self.conversation = name
            self._shown = AT_ONCE
        self._tell("turns", **(self.turns(anew=True) or {}))
        self._tell("state", **self.state())

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
        request = self._prepared(text.strip("\n").rstrip(), {}, cell=new_panel_cell(), look=True)
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
            LOOP.loop().call_soon_threadsafe(answering.answered, ask, said)

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
        def prepare(answering: Answering) -> Request:
            ways = {"approve": answering.approve, "confirm": answering.confirm}
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
        self._tell("state", **self.state())

    def _prepared(
        self, text: str, options: Mapping[str, Any], *, cell: str, look: bool = False
    ) -> Request:
        given = {name: value for name, value in options.items() if value is not None}
        return self.session.prepare(
            text,
            **{**self._options, **given},
            conversation=self.conversation,
            cell_id=cell,
            look=look,
        )

    def _told(self, kind: str, /, **facts: Any) -> None:
        """Pass a message of `Answering` on, and keep what it alone knows."""
        answering = self._answering
        if kind == "begun" and answering is not None and answering.request is not None:
            self._learn(answering.request.question.blocks)
        if kind == "ended" and answering is not None:
            self._keep(facts["turn"], answering.seen)
        self._tell(kind, **facts)

    def _keep(self, turn_id: str, seen: Seen) -> None:
        with self._lock:
            self._seen[turn_id] = seen
            while len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)
            turn = self.session.history.find(turn_id)
            if turn is not None:
                self._learn(media_blocks(turn.messages))
                self._sent[turn_id] = False  # it goes with the message of its end

    def _over(self) -> None:
        self._tell("state", **self.state())

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


def _to_nobody(_kind: str, /, **_facts: Any) -> None:
    return
