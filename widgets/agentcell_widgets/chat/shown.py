"""A conversation → what the page has of it, and what it has to be told after a change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from agentcell.adapters.registry import models
from agentcell.amounts import amount, dollars
from agentcell.errors import AgentcellError
from agentcell.history.reader_words import tokens
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, media_blocks
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import say
from agentcell_widgets.chat.views import Seen, View, attachment_view, turn_view

AT_ONCE = 40
"""As many turns are sent at a time: the last ones, and earlier ones when somebody looks there."""

_MOST_SEEN = 500


class Shown:
    """The turns of one conversation that the page has. Safe to use from several threads.

    Parameters
    ----------
    session
        Whose turns they are.
    conversation
        Its name.
    """

    def __init__(self, session: Session, conversation: str) -> None:
        self.conversation = conversation
        self._session = session
        self._lock = threading.RLock()
        self._count = AT_ONCE
        self._sent: dict[str, bool] = {}
        """Turns that the page has, by their ids: whether they were stale."""
        self._forgotten: frozenset[str] = frozenset()
        self._order: list[str] = []
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._blocks: dict[str, MediaMessageBlock] = {}

    def turns(self, *, anew: bool = False) -> View | None:
        """Return what changed of the turns since it was asked last; None if nothing did.

        Parameters
        ----------
        anew
            All that is shown, for a page that has nothing yet.
        """
        history = self._session.history
        with self._lock:
            turns = history.turns(self.conversation, last=self._count)
            order = [turn.id for turn in turns]
            forgotten = history.forgotten
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
                "more": history.count(self.conversation) - len(order),
                "turns": [self._view(turn) for turn in changed],
            }

    def earlier(self) -> View | None:
        """Return turns before those that are shown, as `turns` does."""
        with self._lock:
            self._count += AT_ONCE
        return self.turns()

    def go_to(self, conversation: str) -> View | None:
        """Show another conversation, and return its turns.

        Parameters
        ----------
        conversation
            Its name.
        """
        with self._lock:
            self.conversation = conversation
            self._count = AT_ONCE
            return self.turns(anew=True)

    def watch(self, turn_id: str, seen: Seen) -> None:
        """Keep in mind what is seen of a turn while it comes: it is not read from anywhere else.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.
        seen
            It may still grow.
        """
        with self._lock:
            self._seen[turn_id] = seen
            while len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)

    def ended(self, turn_id: str) -> None:
        """Take note of a turn that the page was told whole.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.
        """
        turn = self._session.history.find(turn_id)
        with self._lock:
            if turn is not None:
                self.learn(media_blocks(turn.messages))
                self._sent[turn_id] = False

    def picture(self, key: str) -> MediaMessageBlock | None:
        """Return an attachment that was shown, by its key.

        Parameters
        ----------
        key
            Its fingerprint.
        """
        with self._lock:
            return self._blocks.get(key)

    def learn(self, blocks: Iterable[MediaMessageBlock]) -> None:
        """Take note of attachments that the page may want to see.

        Parameters
        ----------
        blocks
            As they are shown.
        """
        with self._lock:
            self._blocks.update({block.fingerprint: block for block in blocks})

    def around(self) -> View:
        """Return all that stands around the turns."""
        session = self._session
        try:
            model, fault = session.model_name, ""
        except AgentcellError as error:
            model, fault = session.chosen_model_name or "", plain(error.problem)
        names = dict.fromkeys((*session.conversations, self.conversation))
        waiting = session.waiting
        self.learn(waiting)
        return {
            "conversation": self.conversation,
            "conversations": list(names),
            "model": plain(model),
            "fault": fault,
            "models": models(),
            "waiting": [attachment_view(block) for block in waiting],
            "cost": _cost(session),
        }

    def _view(self, turn: Turn) -> View:
        self.learn(media_blocks(turn.messages))
        return turn_view(turn, self._seen.get(turn.id), forgotten=self._forgotten)


def _cost(session: Session) -> str:
    said = [tokens(session.usage)]
    spent, budget = session.cost, session.budget
    if spent.usd:
        said.append(dollars(spent.usd))
    if spent.unknown == 1:
        said.append(say("cost of one turn unknown"))
    elif spent.unknown:
        said.append(say("cost of {count} turns unknown", count=f"{spent.unknown:,}"))
    if budget is not None:
        left = max(budget.usd - spent.usd, amount(0))
        said.append(say("{left} of {budget} left", left=dollars(left), budget=dollars(budget.usd)))
    return " · ".join(one for one in said if one)
