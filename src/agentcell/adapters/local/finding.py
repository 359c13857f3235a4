"""A question and documents → the lines that are shown as the answer, or as near it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentcell.adapters.local.document import Document
from agentcell.adapters.local.evidence import SHOWN_ABOVE, Evidence, find_evidence
from agentcell.adapters.local.question import Asked, parse_question

_MOST = 8
"""Lines that are shown of a list, a summary, or several documents."""

_NEAR_ABOVE = 0.3
_MOST_NEAR = 2
_AS_GOOD = 0.1
"""Another document's line is shown beside the best if it is worse by no more than this."""

Named = tuple[str, Document]
"""A document and its tag."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the documents say.

    Parameters
    ----------
    lines
        What answers, the best first; empty if nothing does.
    near
        What comes near, where nothing answers.
    """

    lines: tuple[Evidence, ...] = ()
    near: tuple[Evidence, ...] = ()

    @property
    def is_one(self) -> bool:
        """Whether one line answers, and one value in it."""
        return len(self.lines) == 1 and bool(self.lines[0].value)


def find(question: str, documents: Sequence[Named]) -> Found:
    """Return the lines of `documents` that answer `question`."""
    evidence = find_evidence(question, documents, limit=_MOST)
    lines = [each for each in evidence if each.score >= SHOWN_ABOVE]
    if not lines:
        near = [each for each in evidence if each.score >= _NEAR_ABOVE]
        return Found(near=tuple(near[:_MOST_NEAR]))
    return Found(lines=tuple(_shown(lines, parse_question(question))))


def _shown(lines: Sequence[Evidence], asked: Sequence[Asked]) -> list[Evidence]:
    """Return the lines worth showing: one for each thing asked, from each document that has it."""
    best = asked[0] if asked else None
    if best is None or best.whole.shape in ("overview", "list"):
        return list(lines)
    count = max(len(best.parts), 1)
    shown = list(lines[:count])
    if count > 1 or best.whole.shape == "extreme":
        return shown
    tags = {shown[0].tag}
    for line in lines[1:]:
        if line.tag not in tags and line.score >= shown[0].score - _AS_GOOD:
            tags.add(line.tag)
            shown.append(line)
    return shown


def find_for(
    name: str, description: str, question: str, documents: Sequence[Named], *, is_only: bool
) -> tuple[Evidence, ...]:
    """Return the lines for one named part of an answer.

    Parameters
    ----------
    name, description
        Of the part.
    question
        The whole question: it counts first where this is its only part.
    """
    own = [text for text in (description, name.replace("_", " ")) if _asks_something(text)]
    for text in [question, *own] if is_only else [*own, question]:
        is_question = text is question
        if is_question and is_only and own and not _asks_something(question):
            continue  # "Read this." with one output: what the output is called says more
        if found := find(text, documents).lines:
            return found
    return find(question, documents).lines


def _asks_something(text: str) -> bool:
    return any(each.whole.shape == "fact" for each in parse_question(text))


def quotes(lines: Iterable[Evidence]) -> list[str]:
    """Return what each line says: its value where it has one."""
    return [" ".join((each.value or each.quote).split()) for each in lines]
