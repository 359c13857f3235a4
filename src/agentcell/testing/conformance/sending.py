"""What every adapter must refuse before any request, and what must reach the wire."""

from __future__ import annotations

import copy
import math
import pickle
import time
from typing import Any

from agentcell.errors import (
    BadRequest,
    Unsupported,
)
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.raising import raises
from agentcell.testing.conformance.subject import HI, TOOLS, Subject


@needs("server", "options", "streaming")
def making_a_model_does_nothing(subject: Subject) -> None:
    began = time.process_time()
    model = subject.model("http://127.0.0.1:9/v1")

    assert time.process_time() - began < 0.05
    assert subject.key not in repr(model)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301 (made here)
        assert other.name == model.name


@needs("server", "options", "streaming", "tools")
def settings_are_checked_before_any_request(subject: Subject) -> None:
    wrong: list[dict[str, Any]] = [
        {"temperatur": 1},
        {"temperature": True},
        {"temperature": "0.5"},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": 2.1},
        {"top_p": -0.1},
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"max_tokens": False},
        {"stop": 5},
        {"tool_choice": "no_such_tool"},
        {"tool_choice": 3},
        {"reasoning": "very much"},
        {"schema": {"type": "array"}},
        {"schema": "Answer"},
        {"detail": "huge"},
        {"seed": 1.5},
    ]
    with subject.talking() as (model, server):
        for settings in wrong:
            name = next(iter(settings))
            with raises(Unsupported, match=name) as caught:
                model.invoke(HI, TOOLS, settings)
            assert isinstance(caught.value, ValueError)
            assert caught.value.fix, settings
        with raises(Unsupported, match="nonsense"):
            model.invoke(HI, nonsense=1)
        assert server.requests == []


@needs("server", "options", "streaming")
def settings_of_none_are_not_set(subject: Subject) -> None:
    with subject.talking(invoke_settings={"max_tokens": 9}) as (model, server):
        model.invoke(HI, None, {"temperature": None, "max_tokens": None})
        model.invoke(HI, None, {"max_tokens": 7})
        model.invoke(HI)

    assert [b for b in map(str, server.bodies) if "'temperature'" in b] == []
    found = [[n for n in (7, 9) if f": {n}" in str(body)] for body in server.bodies]
    assert found == [[], [7], [9]]


@needs("server", "options", "streaming")
def what_is_no_message_is_refused_before_any_request(subject: Subject) -> None:
    strange: list[Any] = [
        [],
        ["text"],
        [{"role": "robot", "content": "x"}],
        [{"content": "x"}],
        [{"role": "user", "content": 5}],
        [{"role": "tool", "content": "x"}],
        [{"role": "assistant", "content": "", "tool_calls": [{"name": "x"}]}],
        [{"role": "user", "content": [{"type": "hologram", "data": "x"}]}],
        [{"role": "user", "content": [{"type": "text"}]}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "c:/x.png"}}]}],
        [{"role": "user", "content": [b"bytes"]}],
        [{"role": "user", "content": [None]}],
    ]
    with subject.talking() as (model, server):
        for messages in strange:
            with raises(BadRequest, Unsupported):
                model.invoke(messages)
        assert server.requests == []


@needs("server", "options", "streaming")
def extras_reach_the_wire(subject: Subject) -> None:
    assert subject.server is not None
    always, once = subject.server.extras
    options: dict[str, Any] = {"extra_headers": {"X-Team": "blue"}, "extra_body": always}
    with subject.talking(**options) as (model, server):
        model.invoke(HI, extra_headers={"X-Run": "7"}, extra_body=once)

    request = server.requests[0]
    assert (request.headers["x-team"], request.headers["x-run"]) == ("blue", "7")
    assert request.body == {**request.body, **always, **once}
    assert any(subject.key in value for value in request.headers.values())


CHECKS: list[Check] = [
    making_a_model_does_nothing,
    settings_are_checked_before_any_request,
    settings_of_none_are_not_set,
    what_is_no_message_is_refused_before_any_request,
    extras_reach_the_wire,
]
