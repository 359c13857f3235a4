"""A question and its attachments → the events of the answer: quotes first, then a sentence.

The sentence is shown only if everything in it stands in the line that answers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from agentcell.adapters.events import Citation, Event, TextDelta, Usage
from agentcell.adapters.local import reply
from agentcell.adapters.local.asked import Asked, Attachment
from agentcell.adapters.local.document import Document, read_document
from agentcell.adapters.local.evidence import Evidence
from agentcell.adapters.local.finding import Named, asking_part, find
from agentcell.adapters.local.guard import is_supported
from agentcell.adapters.local.mention import mentioned
from agentcell.adapters.local.phrasing import is_sound
from agentcell.adapters.local.structured import Field, fill
from agentcell.adapters.local.voice import Voice
from agentcell.errors import AgentcellError, ModelError
from agentcell.modality import FieldModality

_SAID_ABOVE = 0.78
"""A line that answers less surely is quoted and not put in a sentence: that would sound sure."""

NOTHING_SPOKEN = Usage(input_tokens=0, output_tokens=0)
"""What an answer takes that no model had a part in."""

_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|thanks?|thank you|bye|goodbye|ok(?:ay)?|great"
    r"|good (?:morning|evening|afternoon)|你好|您好|谢谢|多谢|再见|好的)[\s,.!?！。～~]*"
    r"(?:there|you|all|very much|a lot|啦|了|你|您)?[\s,.!?！。～~]*",
    re.IGNORECASE,
)


async def answer_from_attachments(
    asked: Asked,
    *,
    voice: Voice | ModelError | None,
    sampling: dict[str, Any],
) -> AsyncGenerator[Event]:
    """Yield the answer to `asked`, up to its usage.

    Parameters
    ----------
    voice
        What words the sentence; an error says why nothing can, and is told. None if it is not
        wanted.
    sampling
        Settings for the sentence, as the server names them.

    Raises
    ------
    AgentcellError
        If an attachment that came with the question cannot be read.
    """
    language = asked.language
    is_old = not any(each.is_new for each in asked.attachments)
    if is_old and _SMALL_TALK.fullmatch(asked.plain):
        yield TextDelta(reply.greeting([each.tag for each in asked.attachments], language))
        yield NOTHING_SPOKEN
        return
    speaks = isinstance(voice, Voice) and language == "en"
    # The child loads its model while the pictures are read.
    warming = asyncio.ensure_future(voice.warm()) if speaks and isinstance(voice, Voice) else None
    try:
        documents, notes = await _documents(asked)
        readable, silent = _readable(asked, documents)
        lines: Sequence[Evidence] = ()
        if readable:
            found = await asyncio.to_thread(find, asked.question, readable, asked.meant)
            lines = found.lines
        for event in _quoted(lines, language):
            yield event
        if not readable:
            yield TextDelta(reply.no_text(silent, language))
        elif not lines:
            yield TextDelta(reply.nothing_found(readable, found.near, language))
        sentence, usage = await _sentence(asked, lines, voice, sampling, warming)
        for piece in re.findall(r"\S+\s*|\n+", sentence):
            yield TextDelta(piece)
        if notes:
            yield TextDelta("\n\n" + "\n\n".join(notes))
        yield usage
    finally:
        if warming is not None:
            warming.cancel()


async def fill_from_attachments(asked: Asked, fields: Sequence[Field]) -> AsyncGenerator[Event]:
    """Yield a JSON object of `fields`, each value read from an attachment.

    Raises
    ------
    AnswerError
        If a number that must be there was not found.
    AgentcellError
        If an attachment that came with the question cannot be read.
    """
    documents, _ = await _documents(asked)
    readable, silent = _readable(asked, documents)
    nothing = (
        reply.no_line([tag for tag, _ in readable], asked.language)
        if readable
        else reply.no_text(silent, asked.language)
    )
    values, lines = await asyncio.to_thread(
        fill, fields, asked.question, readable, first=asked.meant, nothing=nothing
    )
    yield TextDelta(json.dumps(values, ensure_ascii=False))
    for line in lines:
        yield _citation(line)
    yield NOTHING_SPOKEN


async def _documents(asked: Asked) -> tuple[list[Named], list[str]]:
    """Read all attachments at once; return them, and what is to be said of the reading."""
    read = await asyncio.gather(
        *(asyncio.to_thread(read_document, each.asset) for each in asked.attachments),
        return_exceptions=True,
    )
    documents: list[Named] = []
    notes: list[str] = []
    failed: list[tuple[Attachment, BaseException]] = []
    for each, got in zip(asked.attachments, read, strict=True):
        if isinstance(got, Document):
            documents.append((each.tag, got))
            if got.is_cut:
                notes.append(reply.cut_note(each.tag, got, asked.language))
        else:
            failed.append((each, got))
    for each, error in failed:
        if each.is_new or not documents or not isinstance(error, AgentcellError):
            raise error
        notes.append(reply.unread_note(each.tag, error, asked.language))
    return documents, notes


def _readable(asked: Asked, documents: Sequence[Named]) -> tuple[list[Named], list[FieldModality]]:
    """Return the documents to look in; or none, and the kinds of those that hold no text.

    A question that comes with pictures of no text is about them, not about what came before.
    """
    readable = [(tag, document) for tag, document in documents if document.rows]
    new = [each for each in asked.attachments if each.is_new]
    held = {tag for tag, _ in readable}
    if new and not any(each.tag in held for each in new):
        named, _ = mentioned(asked.question, [each.tag for each in asked.attachments])
        if all(asked.attachments[at].is_new for at in named):
            return [], [each.asset.modality for each in new]
    return readable, [each.asset.modality for each in asked.attachments]


def _quoted(lines: Sequence[Evidence], language: str) -> list[Event]:
    events: list[Event] = []
    for number, line in enumerate(lines):
        between = "\n>\n" if number else ""
        events += [TextDelta(between + reply.quote(line, language)), _citation(line)]
    if lines and (framed := reply.frame(lines[0], language)):
        events.append(TextDelta(f"\n\n{framed}"))
    return events


async def _sentence(
    asked: Asked,
    lines: Sequence[Evidence],
    voice: Voice | ModelError | None,
    sampling: dict[str, Any],
    warming: asyncio.Future[None] | None,
) -> tuple[str, Usage]:
    """Return what follows the quotes: a sentence that can be trusted, or why there is none."""
    if voice is None or not lines or asked.language != "en":
        return "", NOTHING_SPOKEN
    if isinstance(voice, ModelError):
        return f"\n\n{reply.speechless_note(voice)}", NOTHING_SPOKEN
    best = lines[0]
    if len(lines) > 1 or not best.value or best.score < _SAID_ABOVE:
        return "", NOTHING_SPOKEN
    question = asking_part(asked.plain)
    if warming is not None:
        await asyncio.wait({warming})  # what is kept of it shall hold no question
    try:
        sentence, usage = await voice.sentence(question, best.value, sampling)
    except ModelError as error:
        # The quote stands, and answers: what failed is only its wording.
        return f"\n\n{reply.speechless_note(error)}", NOTHING_SPOKEN
    usage = usage or Usage()
    if is_sound(sentence, best.value, question) and is_supported(sentence, [best], question):
        return f"\n\n{sentence}", usage
    return "", usage


def _citation(line: Evidence) -> Citation:
    return Citation(quote=line.quote, tag=line.tag, page=line.page)
