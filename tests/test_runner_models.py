"""Runners with the models of each provider, by their names and settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import media
from agentcell import (
    AgentRunner,
    SimplePrompt,
    create_anthropic_llm_call,
    create_gemini_llm_call,
    create_local_llm_call,
    create_openai_llm_call,
)
from agentcell.errors import AgentError, UnknownModel
from agentcell.testing import (
    AnthropicServer,
    Call,
    ChatServer,
    FakeModel,
    GeminiServer,
    Reply,
    ResponsesServer,
)
from runner_kit import HI, KEY, look_up, run

SERVERS: list[tuple[Any, Any, str]] = [
    (GeminiServer, create_gemini_llm_call, "gemini-2.5-flash"),
    (AnthropicServer, create_anthropic_llm_call, "claude-haiku-4-5"),
    (ResponsesServer, create_openai_llm_call, "gpt-4.1"),
    (ChatServer, lambda **given: create_openai_llm_call(api="chat", **given), "gpt-4.1"),
]


@pytest.mark.parametrize(("server_of", "create", "model"), SERVERS)
def test_every_provider_runs_tools_and_streams(server_of: Any, create: Any, model: str) -> None:
    replies = (
        Reply("Let me ", "see.", calls=[Call("look_up", '{"x": 7}', "c1")], usage=(10, 5)),
        Reply("It is ", "7.", usage=(20, 6)),
    )
    with server_of(*replies) as server:
        runner = AgentRunner(llm_call=create(api_key=KEY, base_url=server.url), tools=[look_up])
        events: list[Any] = []

        async def collect() -> None:
            events.extend([event async for event in runner.run(HI, model=model)])

        run(collect())

    result = events[-1].result
    assert (result["content"], result["stop_reason"]) == ("It is 7.", "completed")
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (30, 11)
    assert "".join(e.text for e in events if e.type == "text") == "Let me see.It is 7."
    types = [event.type for event in events if event.type != "text"]
    assert types == ["model_start", "tool_start", "tool_end", "model_start", "final"]
    assert "found 7" in json.dumps(server.bodies[1])
    assert result["messages"][1]["tool_calls"][0]["function"]["name"] == "look_up"
    json.dumps(result["messages"])


def test_the_seeds_example_runs_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "task.prompt").write_text(
        "---\nmodel: gemini-2.5-flash\ntemperature: 0.3\n---\n\n$system$\nS\n\n$user$\nU: %text%\n",
        encoding="utf-8",
    )
    (tmp_path / "img.png").write_bytes(media.png())
    monkeypatch.chdir(tmp_path)
    code = """
from agentcell import SimplePrompt, AgentRunner, create_gemini_llm_call
prompt = SimplePrompt("task.prompt")
messages = prompt.build_messages(text="...", images="img.png")
async def main():
    runner = AgentRunner(llm_call=create_gemini_llm_call())
    return await runner.call(messages=messages, model="gemini-2.5-flash")
"""
    with GeminiServer("A receipt.") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 (as a cell runs it)
        result = run(names["main"]())
        # Without a model in the call, the file's own is asked.
        messages = names["messages"]
        run(AgentRunner(llm_call=create_gemini_llm_call("gemini-3.8-flash")).call(messages))
        plain = AgentRunner(llm_call=create_gemini_llm_call("gemini-3.8-flash"))
        run(plain.call(list(messages)))
        run(plain.call(messages, model="gemini/gemini-2.5-pro", settings={"temperature": 1}))

    assert (result["content"], result["stop_reason"]) == ("A receipt.", "completed")
    models = [one.path.split("/models/")[1].split(":")[0] for one in server.requests]
    assert models == [
        *("gemini-2.5-flash", "gemini-2.5-flash", "gemini-3.8-flash", "gemini-2.5-pro"),
    ]
    temperatures = [one.get("generationConfig", {}).get("temperature") for one in server.bodies]
    assert temperatures == [0.3, 0.3, None, 1]


def test_settings_of_the_call_go_before_the_file_the_runner_and_the_factory() -> None:
    front = "---\ntemperature: 0.3\ntop_p: 0.5\n---\n$user$\nHi"
    messages = SimplePrompt.from_text(front).build_messages()
    with GeminiServer("x") as server:
        llm_call = create_gemini_llm_call(
            "gemini-2.5-flash",
            api_key=KEY,
            base_url=server.url,
            settings={"max_tokens": 10, "seed": 1, "temperature": 2},
        )
        runner = AgentRunner(llm_call=llm_call, settings={"seed": 2, "top_p": 0.1})
        run(runner.call(messages, settings={"temperature": 1}))

    config = server.bodies[0]["generationConfig"]
    assert config == {"temperature": 1, "topP": 0.5, "seed": 2, "maxOutputTokens": 10}


MISMATCHED = [
    (create_gemini_llm_call, "gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_gemini_llm_call, "openai/gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_gemini_llm_call, "claude-haiku-5-5", "anthropic", "create_anthropic_llm_call()"),
    (create_openai_llm_call, "gemini-2.5-flash", "gemini", "create_gemini_llm_call()"),
    (create_anthropic_llm_call, "gemini:gemini-2.5-flash", "gemini", "create_gemini_llm_call()"),
    (create_local_llm_call, "gpt-4.1", "openai", "create_openai_llm_call()"),
    (create_openai_llm_call, "local", "local", "create_local_llm_call()"),
]


@pytest.mark.parametrize(("create", "model", "whose", "fix"), MISMATCHED)
def test_a_model_of_another_provider_is_an_error_with_the_way_out(
    create: Any, model: str, whose: str, fix: str
) -> None:
    with pytest.raises(UnknownModel, match=f"is a model of {whose}, but this llm_call") as caught:
        run(AgentRunner(llm_call=create()).call(HI, model=model))
    assert fix in caught.value.fix
    with pytest.raises(UnknownModel):
        create(model)


def test_names_are_sent_as_they_are_where_nobody_here_knows_better() -> None:
    chosen = [
        (create_gemini_llm_call(), "gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        (create_gemini_llm_call(), "tuned-by-me", "gemini/tuned-by-me"),
        (create_gemini_llm_call(), None, "gemini/gemini-3.8-flash"),
        (create_openai_llm_call(api="chat"), "gpt-4.1", "openai-chat/gpt-4.1"),
        (create_openai_llm_call(), "openai-chat/gpt-4.1", "openai-chat/gpt-4.1"),
        (
            create_openai_llm_call(base_url="https://gateway.example/v1", api_key=KEY),
            "anthropic/claude-haiku-5-5",
            "openai/anthropic/claude-haiku-5-5",
        ),
        (create_local_llm_call(), None, "local/smollm2-135m"),
        (create_local_llm_call("ollama/llama3.2"), None, "ollama/llama3.2"),
    ]

    assert [call.model(name).name for call, name, _ in chosen] == [full for *_, full in chosen]
    with pytest.raises(ValueError, match="'responses' or 'chat'"):
        create_openai_llm_call(api="assistants")  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="The runner asks fake/model, but 'gpt' was named"):
        run(AgentRunner(llm_call=FakeModel()).call(HI, model="gpt"))


def test_an_llm_call_may_be_asked_by_itself_and_shows_no_key() -> None:
    with GeminiServer("Hello.") as server:
        llm_call = create_gemini_llm_call("m", api_key=KEY, base_url=server.url)
        answer = run(llm_call(messages=HI, temperature=0.1))

    assert answer["content"] == "Hello."
    assert server.bodies[0]["generationConfig"] == {"temperature": 0.1}
    assert KEY not in repr(llm_call) + repr(AgentRunner(llm_call=llm_call))
