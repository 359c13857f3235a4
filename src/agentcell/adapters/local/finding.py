"""A question and documents → the lines that are shown as the answer, or as near it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentcell.adapters.local.document import Document
from agentcell.adapters.local.evidence import SHOWN_ABOVE, Evidence, find_evidence
from agentcell.adapters.local.mention import mentioned
from agentcell.adapters.local.question import Asked, parse_question

_MOST = 8
"""Lines that are shown of a list, a summary, or several documents."""

_NEAR_ABOVE = 0.3
_MOST_NEAR = 2
_AS_GOOD = 0.1
"""Another document's line is shown beside the best if it is worse by no more than this."""

_LONGEST_ASKED = 300
"""Letters of a question that the small model is given."""

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


def find(question: str, documents: Sequence[Named], first: Sequence[str] = ()) -> Found:
    """Return the lines of `documents` that answer `question`.

    Parameters
    ----------
    first
        The tags of those that are probably meant; the others are looked at only if these do not
        answer, or if the question names one of them.
    """
    meant = [pair for pair in documents if pair[0] in first]
    if 0 < len(meant) < len(documents):
        named, _ = mentioned(question, [tag for tag, _ in documents])
        if all(documents[at][0] in first for at in named):
            found = find(question, meant)
            if found.lines:
                return found
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


def find_for(  # noqa: PLR0913 (each is something else that the part is known by)
    name: str,
    description: str,
    question: str,
    documents: Sequence[Named],
    first: Sequence[str] = (),
    *,
    is_only: bool,
    may_sum_up: bool,
) -> tuple[Evidence, ...]:
    """Return the lines for one named part of an answer.

    Parameters
    ----------
    name, description
        Of the part.
    question
        The whole question: it counts first where this is its only part, and it asks something.
    documents, first
        As in `find`.
    may_sum_up
        Whether the lines that sum the documents up will do where nothing is asked for.
    """
    own = [text for text in (description, name.replace("_", " ")) if _asks_something(text)]
    asks = _asks_something(question)
    for text in [question, *own] if asks and is_only else own or ([question] if asks else []):
        if found := find(text, documents, first).lines:
            return found
    return () if asks or own or not may_sum_up else find(question, documents, first).lines


def _asks_something(text: str) -> bool:
    return any(each.whole.shape == "fact" for each in parse_question(text))


def asking_part(text: str) -> str:
    """Return the sentence of `text` that asks, without what leads to it: "Read this: …"."""
    asked = parse_question(text)
    sentence = asked[0].whole.text if asked else text
    return re.split(r"[:：]\s+", sentence)[-1].strip()[-_LONGEST_ASKED:] or text[-_LONGEST_ASKED:]


def quotes(lines: Iterable[Evidence]) -> list[str]:
    """Return what each line says: its value where it has one."""
    return [" ".join((each.value or each.quote).split()) for each in lines]
