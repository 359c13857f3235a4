"""What a person meets: short reprs, docstrings that say what is taken, types that come through."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_kit
import agentcell
import agentcell.assets
from agentcell import (
    Agent,
    FieldSpec,
    HistoryMemory,
    ImageAsset,
    MediaMessageBlock,
    PdfAsset,
    SingleAgent,
    TextMessageBlock,
    load_skill,
    tool,
)
from agentcell.adapters.events import (
    Citation,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    Waiting,
)
from agentcell.adapters.outgoing import Outgoing
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.assets.limits import LIMITS
from agentcell.assets.prepare import prepare
from agentcell.assets.preview import preview
from agentcell.errors import AgentcellError, AnswerError, FieldError
from agentcell.history.records import AssetFolder
from agentcell.messages import ToolCall
from agentcell.prompts.tags import TagRegistry
from agentcell.prompts.template import Slot
from agentcell.prompts.values import Tree

LONG = '長"\\' * 2_000
MOST = 300
"""Characters of a repr."""

RECEIPT = ImageAsset.from_bytes(agent_kit.png(1, 2, 3, noise=b"x" * 5_000), filename=LONG)
LONG_ADDRESS = f"https://a.example/{'p/' * 900}?signature={'k' * 900}"
CALL = ToolCall("c" * 5_000, LONG, {LONG: LONG})


@tool(description=LONG)
def look_up(word: str) -> str:
    """Say it again."""
    return word


def an_agent(kind: type[Agent] = Agent) -> Agent:
    return kind(
        "a" * 3_000,
        LONG,
        model=agent_kit.Replies(LONG),
        prompt_template=LONG + "{word}",
        attributes={LONG: LONG},
        tools=[look_up],
        memories=[HistoryMemory(context_label=LONG)],
        role_name=LONG,
    )


def a_skill(folder: Path) -> Any:
    (folder / "SKILL.md").write_text(f"---\nname: {'n' * 900}\n---\n{LONG}", encoding="utf-8")
    return load_skill(folder)


OBJECTS: dict[str, Callable[[], Any]] = {
    "field": lambda: FieldSpec(LONG, LONG, many=True, required=True),
    "image": lambda: RECEIPT,
    "image at an address": lambda: ImageAsset.from_url(
        f"https://a.example/{'p/' * 900}?s={'k' * 900}"
    ),
    "PDF": lambda: PdfAsset.from_bytes(agent_kit.pdf(), filename=LONG),
    "PDF by its id": lambda: PdfAsset.from_file_id("f" * 1_000),
    "content": lambda: RECEIPT.content,
    "text block": lambda: TextMessageBlock(LONG),
    "media block": lambda: MediaMessageBlock(RECEIPT, LONG, f"[x_1 {LONG}]", LONG),
    "tool call": lambda: CALL,
    "unread tool call": lambda: ToolCall("c", LONG, {}, LONG),
    "tool": lambda: look_up,
    "tool started": lambda: ToolStarted(CALL),
    "tool finished": lambda: ToolFinished(CALL, LONG),
    "agent": an_agent,
    "single agent": lambda: an_agent(SingleAgent),
    "end of a step": lambda: list(an_agent().stream({"word": LONG}))[-1],
    "memory": HistoryMemory,
    "asset folder": lambda: AssetFolder("f" * 5_000),
    "tags": lambda: TagRegistry([LONG]),
    "slot": lambda: Slot(0, 9, LONG),
    "tree": lambda: Tree([LONG, RECEIPT], "f"),
    "prepared": lambda: prepare([RECEIPT], LIMITS["anthropic"])[0],
    "limits": lambda: LIMITS["anthropic"],
    "preview": lambda: preview(RECEIPT),
    "error": lambda: FieldError(LONG, fix=LONG),
    "session": agentcell.Session,
    "capabilities": lambda: agentcell.ModelCapabilities(image_input=True, pdf_input=True),
    "text piece": lambda: TextDelta(LONG),
    "thinking": lambda: ThinkingDelta(LONG),
    "piece of a call": lambda: ToolCallDelta(0, LONG, LONG, LONG),
    "citation": lambda: Citation(LONG, LONG, LONG, LONG, 3),
    "retry": lambda: Retrying(2, 1.5, LONG),
    "waiting": lambda: Waiting(None, LONG),
    "usage": lambda: Usage(input_tokens=3),
    "end": lambda: Finished(reason="stop", model=LONG, raw={LONG: [LONG] * 9}),
    "local model": agentcell.LocalModel,
    "model of a long name": lambda: agentcell.LegacyOpenAIModel("m" * 5_000, "key"),
    "outgoing": lambda: Outgoing(messages=[{"role": "user", "content": LONG}], notes=(LONG,)),
    "answer": lambda: agentcell.Answer(LONG),
    "modality": lambda: agentcell.FieldModality.IMAGE,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_repr_is_short_and_on_one_line(name: str) -> None:
    shown = repr(OBJECTS[name]())

    assert len(shown) < MOST
    assert "\n" not in shown
    assert "0x" not in shown


def test_the_repr_of_a_skill_is_short(tmp_path: Path) -> None:
    assert len(repr(a_skill(tmp_path))) < MOST


@pytest.mark.parametrize("provider", ["OpenAIModel", "LegacyOpenAIModel", "AnthropicModel"])
def test_the_repr_of_a_model_holds_no_key(provider: str) -> None:
    model = getattr(agentcell, provider)("some-model", api_key="sk-" + "s" * 900)

    assert len(repr(model)) < MOST
    assert "sss" not in repr(model)


def test_the_repr_of_an_error_says_what_was_wrong() -> None:
    assert repr(AnswerError("It is empty.", fix="ask again.")) == "AnswerError('It is empty.')"


LIBRARY = (
    "adapters.model",
    "agents",
    "answer",
    "assets",
    "history",
    "messages",
    "modality",
    "prompts",
    "session",
)
BESIDES = {
    "agentcell.prompts.fields": (
        "parse_field_spec",
        "normalize_field_specs",
        "validate_field_value",
    ),
    "agentcell.assets.coerce": ("coerce",),
    "agentcell.assets.prepare": ("prepare", "at_detail"),
    "agentcell.assets.preview": ("preview",),
    "agentcell.agents.tools": ("Tool", "as_tool", "named_tools"),
    "agentcell.agents.calls": ("call", "acall"),
    "agentcell.agents.rounds": ("run_rounds",),
    "agentcell.history.memory": ("merge_media",),
    "agentcell.history.records": ("AssetFolder",),
    "agentcell.prompts.tags": ("TagRegistry", "announcement", "find_tags", "tag_prefix"),
    "agentcell.prompts.template": ("fill", "find_slots", "near_miss"),
    "agentcell.prompts.skill": ("render_skills",),
}


def public() -> Iterator[tuple[str, Any]]:
    """Yield every public function, class and method of the library's lower half."""
    places = [(module, name) for module in (agentcell, agentcell.assets) for name in module.__all__]
    places += [(importlib.import_module(m), name) for m, names in BESIDES.items() for name in names]
    for module, name in places:
        value = getattr(module, name)
        where = getattr(value, "__module__", "")
        if not where.startswith(tuple(f"agentcell.{part}" for part in LIBRARY)):
            continue
        yield name, value
        if inspect.isclass(value):
            for inner, member in inspect.getmembers(value):
                if not inner.startswith("_") and inspect.isroutine(member) and ours(member):
                    yield f"{name}.{inner}", member


def ours(member: Any) -> bool:
    return str(getattr(member, "__module__", "")).startswith("agentcell")


def parameters(value: Any) -> list[str]:
    names = inspect.signature(value).parameters
    return [name for name in names if name not in ("self", "cls")]


@pytest.mark.parametrize(("name", "value"), [pytest.param(n, v, id=n) for n, v in public()])
def test_a_public_name_says_what_it_is_and_takes(name: str, value: Any) -> None:
    text = inspect.getdoc(value) or ""
    is_enum = name.endswith("Modality")
    is_asset = name in (
        "ImageAsset",
        "PdfAsset",
        "MediaAsset",
    )  # made by their `from_` methods, which say it

    assert text
    if not (is_enum or is_asset):
        section = text.partition("Parameters\n----------\n")[2]
        heads = re.findall(r"^(\w[\w, ]*)$", section.split("\n\n")[0], re.MULTILINE)
        told = {one.strip() for head in heads for one in head.split(",")}
        assert [one for one in parameters(value) if one not in told] == []


USER = """
from pathlib import Path

from agentcell import Agent, HistoryMemory, ImageAsset, OpenAIModel, Session, load_skill, tool
from agentcell.prompts.fields import parse_field_spec

agent = Agent("a", model=OpenAIModel("m", api_key="k"), pull_keys={"x": "IMAGE:r"})
image = ImageAsset.from_path(Path("a.png"))


@tool
def add(left: int) -> int:
    return left


reveal_type(agent)
reveal_type(image)
reveal_type(image.width)
reveal_type(agent.step({"x": image}))
reveal_type(HistoryMemory.load("folder"))
reveal_type(load_skill("folder"))
reveal_type(parse_field_spec("x", "IMAGE:r"))
reveal_type(add)
reveal_type(Session())
"""


def test_types_come_through_to_a_users_script(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "c"), "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert re.findall('Revealed type is "(.*)"', done.stdout) == [
        "agentcell.agents.agent.Agent",
        "agentcell.assets.asset.ImageAsset",
        "int | None",
        "dict[str, Any]",
        "agentcell.history.memory.HistoryMemory",
        "agentcell.prompts.skill.Skill",
        "agentcell.prompts.fields.FieldSpec",
        "agentcell.agents.tools.Tool",
        "agentcell.session.session.Session",
    ]


def test_every_error_of_the_tree_pickles_and_keeps_its_text() -> None:
    import pickle

    kinds: list[type[AgentcellError]] = [AgentcellError, *AgentcellError.__subclasses__()]
    for kind in kinds:
        again = pickle.loads(pickle.dumps(kind("It failed.", fix="try again.")))  # noqa: S301 (our own)
        assert (type(again), str(again)) == (kind, "It failed.\nFix: try again.")
