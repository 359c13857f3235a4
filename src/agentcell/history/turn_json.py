"""Turns ↔ JSON texts; the bytes of their attachments go to and come from an asset store."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast

from agentcell.adapters.events import Citation, Usage
from agentcell.assets.prepare import Form
from agentcell.errors import AgentcellError
from agentcell.history.records import AssetStore, Missing, from_record, to_record
from agentcell.history.turns import Turn

_T = TypeVar("_T")

_DEFAULTS = {
    "part": 1,
    "fresh": False,
    "system": None,
    "at": 0.0,
    "seconds": 0.0,
    "error": "",
    "finish_reason": "",
    "imported": False,
}
"""What a record need not say: half of the time that reading it takes goes by its length."""

_PLAIN = frozenset(("id", "cell_id", "status", "model", *_DEFAULTS))


def turn_to_json(turn: Turn, store: AssetStore) -> str:
    """Return a turn as one line of JSON, its attachments' contents in `store`.

    Parameters
    ----------
    turn
        Objects that are no JSON are kept as their texts, but what a model wants back unchanged
        is then left out.

    Raises
    ------
    HistoryError
        If `store` cannot keep an attachment.
    """
    record: dict[str, Any] = {
        name: getattr(turn, name) for name in ("id", "cell_id", "status", "model")
    }
    for name, usual in _DEFAULTS.items():
        if (value := getattr(turn, name)) != usual:
            record[name] = value
    record["messages"] = [to_record(message, store) for message in turn.messages]
    # What a provider wants back is JSON; a model of someone's own may give anything.
    for message in record["messages"]:
        if not _is_json(message.get("opaque")):
            del message["opaque"]
    if turn.skills is not None:
        skills = {"role": "system", "content": list(turn.skills)}
        record["skills"] = to_record(skills, store)["content"]
    if turn.forms:
        record["forms"] = {one: [form.detail, form.pdf_as] for one, form in turn.forms.items()}
    if turn.usage is not None:
        record["usage"] = usage_record(turn.usage)
    if turn.cost is not None:
        record["cost"] = str(turn.cost)
    if turn.citations:
        record["citations"] = [asdict(citation) for citation in turn.citations]
    return as_json(record)


def turn_from_json(text: str, store: AssetStore, missing: Missing | None = None) -> Turn:
    """Return the turn of which `turn_to_json` made a text.

    Parameters
    ----------
    missing
        Is told of each attachment whose content is gone; see `from_record`.

    Raises
    ------
    ValueError
        If the text is none.
    """
    try:
        return turn_from_record(json.loads(text), store, missing)
    except RecursionError as error:
        raise ValueError("This is no turn.") from error


def turn_from_record(record: Any, store: AssetStore, missing: Missing | None = None) -> Turn:
    """Return the turn of which the JSON is read already; else like `turn_from_json`."""
    try:
        more = {name: value for name, value in record.items() if name in _PLAIN}
        more["messages"] = tuple([from_record(one, store, missing) for one in record["messages"]])
        if len(more) < len(record):
            more |= _structured(record, store, missing)
        return Turn(**more)
    except (LookupError, TypeError, AttributeError, ArithmeticError, AgentcellError) as error:
        raise ValueError(f"This is no turn: {error}") from error


def _structured(record: Any, store: AssetStore, missing: Missing | None) -> dict[str, Any]:
    """Return what of a turn's record is no plain value, but for the messages."""
    more: dict[str, Any] = {}
    skills = record.get("skills")
    if skills is not None:
        kept = from_record({"role": "system", "content": skills}, store, missing)
        more["skills"] = tuple(kept["content"])
    if forms := record.get("forms"):
        more["forms"] = {one: Form(detail=f[0], pdf_as=f[1]) for one, f in forms.items()}
    if usage := record.get("usage"):
        more["usage"] = known(Usage, usage)
    if cost := record.get("cost"):
        more["cost"] = Decimal(cost)
    if citations := record.get("citations"):
        more["citations"] = tuple(known(Citation, one) for one in citations)
    return more


def usage_record(usage: Usage) -> dict[str, Any]:
    """Return what is known of a usage, as JSON values."""
    return {name: value for name, value in asdict(usage).items() if value is not None}


def as_json(record: Any) -> str:
    """Return one line of JSON that a database takes, whatever `record` holds."""
    text = json.dumps(record, ensure_ascii=False, default=str, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        text = json.dumps(record, default=str, separators=(",", ":"))
    return text


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def known(kind: type[_T], record: dict[str, Any]) -> _T:
    """Return a value of `kind`, without what a newer version may have added to its record."""
    names = _names(cast("Any", kind))
    return kind(**{name: value for name, value in record.items() if name in names})


@cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))
