"""A turn as the session keeps it → what the panel shows of it: plain data, and HTML made safe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agentcell.adapters.price_table import shown as dollars
from agentcell.adapters.redaction import known_keys, redacted
from agentcell.agents.exchange import ToolFinished
from agentcell.history.chapters import sources
from agentcell.history.panel_cells import is_panel_cell
from agentcell.history.reader_words import call_text, cut, tokens
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, Message, ToolCall, content_text, media_blocks
from agentcell.safe_text import plain
from agentcell.wording import say
from agentcell_widgets.chat.answer_html import answer_html
from agentcell_widgets.panel.media_words import alternative, described

View: TypeAlias = dict[str, Any]
"""What goes to the browser as JSON. Only a key that ends in ``html`` is HTML, and it is safe."""

LONGEST_LINE = 120
"""Characters of a call, and of why it failed, on one line."""

LONGEST_BODY = 4_000
"""Characters of a tool's arguments and result that are folded away below its line."""

_LONGEST_ERROR = 2_000

LONGEST_THINKING = 20_000
"""Characters of a model's thinking that are shown: the last ones."""

_ENDS = {
    "length": "The answer was cut at the model's limit.",
    "content_filter": "The provider's filter cut the answer.",
    "refusal": "The model declined to answer.",
}


@dataclass(slots=True)
class Seen:
    """What only whoever watched an answer knows: no turn keeps it.

    Parameters
    ----------
    thinking
        What the model thought aloud.
    finished
        What came of each call, by its id.
    fix
        What to do about its error.
    notes
        What was done to its attachments, and what looked like a slip.
    """

    thinking: str = ""
    finished: dict[str, ToolFinished] = field(default_factory=dict)
    fix: str = ""
    notes: tuple[str, ...] = ()


def turn_view(
    turn: Turn, seen: Seen | None = None, *, forgotten: frozenset[str] = frozenset()
) -> View:
    """Return what the panel shows of a turn.

    Parameters
    ----------
    turn
        As it is kept.
    seen
        What was seen of it while it came; None: it was asked elsewhere, or long ago.
    forgotten
        Fingerprints of attachments that nothing shows any more.
    """
    seen = seen or Seen()
    shown = [block for block in turn.attachments if block.fingerprint not in forgotten]
    view: View = {
        "id": turn.id,
        "question": plain(turn.question.strip("\n")),
        "attachments": [attachment_view(block) for block in shown],
        "notes": list(seen.notes),
        "parts": list(_parts(turn.messages[1:], seen, forgotten)),
        "thinking": shortened(seen.thinking),
        "sources": [plain(one) for one in sources(turn)],
        "facts": facts(turn),
        "notice": how_it_ended(turn),
        "stale": turn.stale,
        "from_cell": turn.cell_id is not None and not is_panel_cell(turn.cell_id),
        "status": turn.status,
    }
    if turn.status == "failed":
        view["error"] = {"problem": why_failed(turn), "fix": plain(seen.fix)}
    return view


def how_it_ended(turn: Turn) -> str:
    """Return in words that an answer is cut, declined or empty; else "".

    Parameters
    ----------
    turn
        As it ended.
    """
    if turn.finish_reason in _ENDS:
        return say(_ENDS[turn.finish_reason])
    if turn.status == "complete" and not turn.answer.strip():
        return say("The answer is empty.")
    return ""


def why_failed(turn: Turn) -> str:
    """Return why a turn failed; what an error of anybody's says may hold a key.

    Parameters
    ----------
    turn
        One that failed.
    """
    return cut(redacted(plain(turn.error), *known_keys()), _LONGEST_ERROR)


def question_view(text: str, blocks: Iterable[MediaMessageBlock]) -> View:
    """Return what the panel shows of a question that has no answer yet.

    Parameters
    ----------
    text
        With tags in it.
    blocks
        What goes with it.
    """
    return {
        "question": plain(text.strip("\n")),
        "attachments": [attachment_view(block) for block in blocks],
    }


def attachment_view(block: MediaMessageBlock) -> View:
    """Return an attachment's name and facts; its picture is fetched by its ``key``.

    Parameters
    ----------
    block
        One attachment.
    """
    return {
        "key": block.fingerprint,
        "tag": plain(block.tag),
        "detail": described(block.asset),
        "alt": alternative(block.asset, 1),
    }


def call_view(call: ToolCall, finished: ToolFinished | None, *, state: str = "running") -> View:
    """Return a call of a tool: a line, what is folded away below it, and how it went.

    Parameters
    ----------
    call
        What the model called.
    finished
        What came of it; None while it runs, or where nobody saw it.
    state
        How it goes, where `finished` is None.
    """
    view: View = {
        "id": call.id,
        "line": call_text(call, LONGEST_LINE),
        "body": call_text(call, LONGEST_BODY),
        "state": state,
        "told": _STATES[state]() if state in _STATES else "",
        "result": "",
        "attachments": [],
    }
    if finished is not None:
        view |= _outcome(finished)
    return view


def facts(turn: Turn) -> str:
    """Return the line under an answer: model, tokens, cost, seconds, and how it ended.

    Parameters
    ----------
    turn
        As it ended.
    """
    said = [plain(turn.model), tokens(turn.usage), dollars(turn.cost) if turn.cost else ""]
    if turn.seconds:
        said.append(say("{seconds} s", seconds=f"{turn.seconds:.1f}"))
    if turn.status == "interrupted":
        said.append(say("stopped"))
    return " · ".join(one for one in said if one)


def shortened(thinking: str) -> str:
    """Return the end of what a model thought aloud: what it came to stands there.

    Parameters
    ----------
    thinking
        Any text.
    """
    text = plain(thinking).strip()
    return text if len(text) <= LONGEST_THINKING else f"…{text[-LONGEST_THINKING:]}"


def _parts(messages: Iterable[Message], seen: Seen, forgotten: frozenset[str]) -> Iterable[View]:
    """Yield what was said and what was called, in order."""
    messages = list(messages)
    results = {one.get("tool_call_id"): one for one in messages if one.get("role") == "tool"}
    for message in messages:
        if message.get("role") != "assistant":
            continue
        text = content_text(message.get("content"))
        if text.strip():
            yield {"kind": "text", "html": answer_html(text), "source": plain(text)}
        for call in message.get("tool_calls") or ():
            view = _kept_call(call, results, seen)
            shown = [one for one in view["attachments"] if one["key"] not in forgotten]
            yield {"kind": "call", **view, "attachments": shown}


def _kept_call(call: ToolCall, results: Mapping[Any, Message], seen: Seen) -> View:
    if (finished := seen.finished.get(call.id)) is not None:
        return call_view(call, finished)
    result = results.get(call.id)
    if result is None:
        return call_view(call, None, state="stopped")
    view = call_view(call, None, state="")
    return view | _content(result.get("content"))


def _outcome(finished: ToolFinished) -> View:
    view = _content(finished.content)
    took = f"{finished.seconds:.1f}"  # of a recorded turn nothing: it would differ with each run
    seconds = "" if took == "0.0" else f"{say('{seconds} s', seconds=took)} · "
    if not finished.is_error:
        return {**view, "state": "ok", "told": f"{seconds}{say('ok')}"}
    said = view["result"].removeprefix("Error: ").strip()
    reason = cut(said.splitlines()[0] if said else "", LONGEST_LINE)
    if finished.was_refused:
        told = say("refused: {reason}", reason=reason)
        return {**view, "state": "refused", "told": f"{seconds}{told}"}
    told = say("failed: {reason}", reason=reason)
    return {**view, "state": "failed", "told": f"{seconds}{told}"}


def _content(content: Any) -> View:
    return {
        "result": cut(plain(content_text(content)).strip(), LONGEST_BODY),
        "attachments": [attachment_view(one) for one in media_blocks([{"content": content}])],
    }


_STATES = {
    "running": lambda: say("running"),
    "asked": lambda: say("waits for you"),
    "stopped": lambda: say("stopped"),
}
