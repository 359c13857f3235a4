"""What a session holds: its model, its conversations, its attachments, and who hears of changes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.models_by_name import ModelsByName
from agentcell.adapters.recording import Recorder
from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import MediaAsset
from agentcell.budget import Budget
from agentcell.errors import AttachmentError, PriceError
from agentcell.history.attachments import Attachments
from agentcell.history.conversations import Conversation
from agentcell.history.notebook import MAIN, NotebookHistory
from agentcell.history.spent import Spent
from agentcell.history.store import Change
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock
from agentcell.metering import Ledger
from agentcell.prompts.fields import FieldSpec
from agentcell.request import Defaults


class Kept:
    """What the magics, the panels and Python code share; see `Session`."""

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        history: NotebookHistory | str | os.PathLike[str] | None = None,
    ) -> None:
        self._models = ModelsByName(model)
        self.history = history if isinstance(history, NotebookHistory) else NotebookHistory(history)
        self._known: Attachments | None = None
        self._reading = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._stale_listeners: list[Callable[[Mapping[str, bool]], None]] = []
        self.recorder = Recorder()
        """Where answers are recorded or replayed, if anywhere."""
        self.defaults = Defaults()
        """What holds where a question says nothing."""
        self._budget: Budget | Literal["environment"] | None = "environment"
        self._ledger = Ledger(self.history)
        home = self.history.folder
        self.access = AccessPolicy(None if home is None else home.parent)
        """Which local files a model may ask for."""

    def __repr__(self) -> str:
        turns, attachments = self.history.count(), len(self._attachments)
        return f"Session({self._models.default_name}, {turns} turns, {attachments} attachments)"

    # -- model

    @property
    def model(self) -> Model:
        """The model that is asked when a cell names none."""
        return self._models.named()

    @model.setter
    def model(self, model: Model | str | None) -> None:
        if isinstance(model, str):
            self._models.named(model)  # a wrong name is told now, not with the next question
        self._models.default = model
        self._changed()

    @property
    def chosen_model(self) -> Model | str | None:
        """The model as it was chosen; None where the environment decides."""
        return self._models.default

    @property
    def chosen_model_name(self) -> str | None:
        """What `chosen_model` is called."""
        chosen = self._models.default
        return chosen.name if isinstance(chosen, Model) else chosen

    @property
    def model_name(self) -> str:
        """``provider/model`` of the session's model."""
        return self.model.name

    # -- conversations and attachments ------------------------------------------------------

    def conversation(self, name: str = MAIN) -> Conversation:
        """Return the conversation of that name, begun if need be.

        Parameters
        ----------
        name
            As `%%agent -c` takes it.
        """
        return self.history.conversation(name)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names of all conversations in which something was said, oldest first."""
        return self.history.conversations

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all conversations; each says whether it is `stale`."""
        return tuple(self.history.turns())

    @property
    def stale(self) -> frozenset[str]:
        """The ids of turns that follow one which was asked again after them."""
        return frozenset(self.history.stale())

    @property
    def usage(self) -> Usage:
        """Tokens of all turns, as far as providers told."""
        return sum((usage for _, usage in self.history.usages()), start=Usage())

    @property
    def cost(self) -> Spent:
        """What was paid until now, by the providers' own counts of tokens.

        Every turn counts that this notebook ever asked, also one that failed, was stopped, taken
        back or forgotten; one that is replayed from a recording costs nothing.
        """
        return self._ledger.total()

    @property
    def budget(self) -> Budget | None:
        """What may be spent: a question that would pass it is refused. None: anything.

        Until it is set, the environment says it; see `Budget.from_environment`.
        """
        return Budget.from_environment() if self._budget == "environment" else self._budget

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        if budget is not None and not isinstance(budget, Budget):
            raise PriceError(
                f"The budget is {budget!r:.60}; a Budget was expected.",
                fix='write for example session.budget = Budget(usd="2.00"); None ends it.',
            )
        if budget != self._budget:
            self._budget = budget
            self._changed()

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """Every attachment that the session knows, in the order in which they came."""
        return self._attachments.blocks

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all attachments; their contents are not read for it."""
        return self._attachments.names

    def attach(
        self, asset: MediaAsset, *, name: str = "image", label: str = "", place: str = ""
    ) -> str:
        """Let `asset` go out with the next question, and return its tag.

        Parameters
        ----------
        asset
            An image or a PDF.
        name, label
            What the tag is made of.
        place
            Where `asset` was found, if that may be looked at again: it then takes the place of
            what was found there before and still waits.
        """
        spec = FieldSpec(name=name, description=label or name)
        block = self._attachments.view(asset, spec, place)
        self._changed()
        return block.tag

    def forget(self, tag: str) -> MediaMessageBlock:
        """Let an attachment never go out again; its name stays in earlier texts.

        Parameters
        ----------
        tag
            Whole, ``"[receipt_1 Receipt]"``, or its beginning, ``"receipt_1"``.

        Raises
        ------
        AttachmentError
            If no attachment has that tag.
        """
        block = self._attachments.forget(tag)
        self._changed()
        return block

    @property
    def waiting(self) -> tuple[MediaMessageBlock, ...]:
        """The attachments that go out with the next question, whoever asks it."""
        return self._attachments.waiting

    def withdraw(self, tag: str) -> None:
        """Let an attachment that waits not go out with the next question; it stays known.

        Parameters
        ----------
        tag
            Whole: ``"[receipt_1 Receipt]"``.

        Raises
        ------
        AttachmentError
            If none of that tag waits.
        """
        if not self._attachments.withdraw(tag):
            raise AttachmentError(
                f"No attachment {tag[:80]!r} waits for the next question.",
                fix="see session.waiting for those that do.",
            )
        self._changed()

    def arrange(self, tags: Iterable[str]) -> None:
        """Put attachments into that order; what waits goes out in it. It holds for this kernel.

        Parameters
        ----------
        tags
            Whole. Attachments that are not named come after those that are.
        """
        self._attachments.arrange(tags)
        self._changed()

    def relabel(self, tag: str, label: str) -> str:
        """Give an attachment that waits another label, and return its new tag.

        Parameters
        ----------
        tag
            Whole: ``"[receipt_1 Receipt]"``.
        label
            For people and for the model; an empty one is its field's name.

        Raises
        ------
        AttachmentError
            If it went out already: its name stands in what was said.
        """
        block = self._attachments.relabel(tag, label)
        self._changed()
        return block.tag

    def reset(self) -> None:
        """Forget all turns and attachments; the model stays."""
        self.history.reset()
        self._known = None
        self._changed()

    # -- who hears of changes

    def on_stale(self, callback: Callable[[Mapping[str, bool]], None]) -> Callable[[], None]:
        """Call `callback` when turns become stale or cease to be; return what ends that.

        Parameters
        ----------
        callback
            Called with ids of turns and whether each is stale now, in the thread that made the
            change. They are those after the change, no more than 1,000.
        """
        return _joined(self._stale_listeners, callback)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; return what ends that.

        Parameters
        ----------
        callback
            Called without arguments, in the thread that made the change.
        """
        return _joined(self._listeners, callback)

    def _changed(self, change: Change | None = None) -> None:
        if change is not None and change.stale:
            for tell in tuple(self._stale_listeners):
                tell(change.stale)
        for callback in tuple(self._listeners):
            callback()

    @property
    def _attachments(self) -> Attachments:
        with self._reading:
            if self._known is None:
                self._known = Attachments(self.history)
            return self._known


def _joined(listeners: list[Any], callback: Any) -> Callable[[], None]:
    listeners.append(callback)

    def unsubscribe() -> None:
        if callback in listeners:
            listeners.remove(callback)

    return unsubscribe
