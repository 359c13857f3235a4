"""A request that is about to go out, to what its cell shows of the question."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from agentcell.imaging.strip import strip
from agentcell.session import Request, Session
from agentcell_magics import cards
from agentcell_magics.background import background
from agentcell_magics.cells import asks_again, is_terminal
from agentcell_magics.live import show
from agentcell_magics.options import AgentOptions
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MOST_PICTURES = 12
"""As many previews a cell shows; the card below them names every attachment."""


class QuestionDisplay:
    """Shows questions, and remembers which attachments it showed large, and in which cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._shown_large: dict[str, str] = {}

    def show(self, request: Request, *, is_typed: bool) -> None:
        """Show a question's attachments, and its text where that is not what was typed.

        Parameters
        ----------
        is_typed
            Whether the person typed it, and did not name a file that says it.
        """
        question = request.question
        if not is_terminal(self._shell):
            self._show_pictures(request)
        if question.blocks or question.named or request.notes or not is_typed:
            asked = question.text if question.named or not is_typed else ""
            many = len(question.blocks) > MOST_PICTURES
            more = (say("The first {count} are shown.", count=MOST_PICTURES),) if many else ()
            show(cards.attachments(question.blocks, asked, (*request.notes, *more)))

    def _show_pictures(self, request: Request) -> None:
        """Show what is attached: several in a strip; one large where it is new, else small."""
        cell = request.turn.cell_id or request.id
        blocks = request.question.blocks[:MOST_PICTURES]
        first = [self._shown_large.setdefault(one.fingerprint, cell) == cell for one in blocks]
        if len(blocks) > 1:
            picture = strip(blocks)
        else:
            picture = cards.picture(blocks[0], small=not first[0]) if blocks else None
        if picture is not None:
            show(*picture)


def unseen(session: Session, request: Request) -> list[str]:
    """Return what to tell of earlier questions whose answers are still on their way."""
    name = request.conversation
    count = background(session).in_conversation(name)
    if not count:
        return []
    if count == 1:
        one = "This question does not see an answer that is still on the way in {name}."
        return [say(one, name=name)]
    many = "This question does not see {count} answers that are still on the way in {name}."
    return [say(many, count=count, name=name)]


def slips(options: AgentOptions, cell: str) -> list[str]:
    """Return what to tell of a cell that may not mean what it says."""
    hints = []
    if options.output and hasattr(builtins, options.output):
        name = options.output
        hints.append(
            say("-o {name} hides Python's own {name}; del {name} brings it back.", name=name)
        )
    if line := asks_again(cell):
        hints.append(
            say(
                "Line {line} begins with %%agent and goes out as text: a cell asks one question.",
                line=line,
            )
        )
    return hints
