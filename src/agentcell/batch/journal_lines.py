"""What a row cost, and what a job is ↔ the words of a journal's line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from agentcell.adapters.events import Usage
from agentcell.batch.work import Call

_COUNTS = [one.name for one in fields(Usage)]


def written_call(call: Call) -> dict[str, Any]:
    """Return what a line says of a call."""
    said: dict[str, Any] = {}
    if call.usage is not None:
        counts = {name: getattr(call.usage, name) for name in _COUNTS}
        known = {name: value for name, value in counts.items() if value is not None}
        if not known["estimated"]:
            del known["estimated"]
        said["usage"] = known
    if call.recorded is not None:
        said["cost"] = call.recorded
    if call.processing is not None:
        said["by"] = call.processing
    if call.is_replayed:
        said["replayed"] = True
    return said


def check_row(entry: Mapping[str, Any]) -> None:
    """Raise what is wrong with a line of a finished row."""
    entry["value"]
    for said in entry.get("calls", ()):
        call_of(said)


def checked_job(said: Any) -> dict[str, Any]:
    """Return the facts of a job that a line tells; raise what is wrong with them."""
    job = dict(said)
    job["token"]
    if "ids" in job:
        list(job["ids"])
        float(job["begun"])
    return job


def call_of(said: Any) -> Call:
    """Return a call that a line tells of.

    Raises
    ------
    TypeError, ArithmeticError
        If it tells of none: somebody wrote into the file.
    """
    if not isinstance(said, dict):
        raise TypeError(f"a call is {type(said).__name__}")
    usage = said.get("usage")
    known = {name: value for name, value in (dict(usage or {})).items() if name in _COUNTS}
    if not all(value is None or isinstance(value, int) for value in known.values()):
        raise TypeError("a count is no whole number")
    if cost := said.get("cost"):
        Decimal(cost)
    return Call(
        None if usage is None else Usage(**known),
        said.get("cost"),
        said.get("by"),
        "replayed" in said,
    )
