"""Behaviour of a peer, observed: each case is matched, or bettered as its verdict asks.

`data/oracle/masfactory.jsonl` holds the cases. Every case must be named by a test of
`test_oracle_*.py`; `test_oracle.py` looks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent_kit import Replies, media
from agentcell.agents.agent import Agent
from agentcell.messages import Message

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for line in (Path(__file__).parent / "data/oracle/masfactory.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
    for case in [json.loads(line)]
}

COVERED: set[str] = set()

Test = TypeVar("Test", bound=Callable[..., Any])


def covers(*ids: str) -> Callable[[Test], Test]:
    """Mark which cases a test is about."""
    assert set(ids) <= CASES.keys()
    COVERED.update(ids)
    return lambda test: test


def each(*groups: str, verdict: str = "match") -> Any:
    """Run a test for each case of some groups."""
    found = [
        case for case in CASES.values() if case["group"] in groups and case["verdict"] == verdict
    ]
    COVERED.update(case["id"] for case in found)
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


def tagged(given: dict[str, Any], **options: Any) -> tuple[list[str], str, Message]:
    """The tags of the new attachments, the rendered prompt, and the user's message."""
    agent = Agent("a", "S", model=Replies("x"), **options)
    _, prompt, messages = agent.observe(given)
    return [block.tag for block in media(messages[-1])], prompt, messages[-1]
