"""Behaviour of a peer, observed: each case is matched, or bettered as its verdict asks.

`data/oracle/masfactory.jsonl` holds the cases. Every case must be named by a test here.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image

from agent_kit import Replies, blue, calls, media, page, pdf, png, red, shown
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.agents.agent import Agent
from agentcell.agents.graph import NodeTemplate, RootGraph
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.errors import (
    AgentError,
    AnswerError,
    AttachmentError,
    FieldError,
    ServiceError,
    Unsupported,
)
from agentcell.history.memory import HistoryMemory
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, media_blocks
from agentcell.prompts.fields import FieldSpec, FieldWarning, parse_field_spec, validate_field_value
from agentcell.prompts.skill import (
    InvalidSkillPackageError,
    SkillNotFoundError,
    SkillParseError,
    load_skill,
)
from agentcell.testing import Call, ChatServer, FakeModel, Reply, ResponsesServer, failure
from promptly import PROMPTLY

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


# Fields ------------------------------------------------------------------------------------


@each("parse_field_spec")
@pytest.mark.filterwarnings("ignore::agentcell.prompts.fields.FieldWarning")
def test_declarations_are_read_alike(case: dict[str, Any]) -> None:
    raw = ast.literal_eval(case["input"])
    if "error" in case["observed"]:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (its text is compared below)
            parse_field_spec("f", raw)
        assert case["observed"]["message"] in str(caught.value)
        return

    spec = parse_field_spec("f", raw)

    assert {name: getattr(spec, name) for name in case["observed"]} == case["observed"]


@covers("MF010", "MF005")
def test_declarations_are_read_better() -> None:
    spec = parse_field_spec("f", ast.literal_eval(CASES["MF010"]["input"]))

    assert (spec.modality, spec.description) == ("IMAGE", "line1\nline2")
    with pytest.warns(FieldWarning, match="VIDEO is no modality"):
        parse_field_spec("f", "VIDEO:x")


def field_case(case: dict[str, Any]) -> tuple[FieldSpec, Any]:
    modality, _, value = case["input"].partition(" <- ")
    names = {"img": red(), "img2": blue(), "pdf": page()}
    tree = ast.parse(value, mode="eval")

    def built(node: ast.expr) -> Any:
        match node:
            case ast.Name():
                return names[node.id]
            case ast.List():
                return [built(item) for item in node.elts]
            case ast.Dict():
                keys = [ast.literal_eval(key) for key in node.keys if key]
                return dict(zip(keys, map(built, node.values), strict=True))
            case _:
                return ast.literal_eval(node)

    return FieldSpec("f", modality=modality), built(tree.body)


@each("validate_field_value")
def test_values_are_taken_and_refused_alike(case: dict[str, Any]) -> None:
    spec, value = field_case(case)

    if case["observed"] == "ok":
        validate_field_value(spec, value)
        return
    with pytest.raises(ValueError, match="expects modality") as caught:
        validate_field_value(spec, value)
    assert str(caught.value).splitlines()[0] == case["observed"]["message"]


@covers("MF016", "MF017", "MF018", "MF019")
def test_optional_media_may_be_nothing_and_nested_media_are_seen() -> None:
    for name in ("MF016", "MF018", "MF019"):
        validate_field_value(*field_case(CASES[name]))
    for name in ("MF016", "MF019"):
        spec, value = field_case(CASES[name])
        with pytest.raises(FieldError, match="received nothing"):
            validate_field_value(FieldSpec("f", modality=spec.modality, required=True), value)
    with pytest.raises(FieldError, match=r"received 'IMAGE\|TEXT'"):
        validate_field_value(*field_case(CASES["MF017"]))


# Assets ------------------------------------------------------------------------------------


@covers("MF021", "MF022", "MF023")
def test_the_type_of_an_asset_is_that_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("hi")
    gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01"
    gif += b"\x00\x00\x02\x02D\x01\x00;"

    with pytest.raises(AttachmentError):
        ImageAsset.from_path(tmp_path / "t.txt")
    assert ImageAsset.from_bytes(gif).mime_type == "image/gif"
    # The address says JPEG; what it holds is a PNG.
    asset = ImageAsset.from_base64(CASES["MF023"]["observed"]["value"])
    assert asset.mime_type == "image/png"
    assert "image/jpeg" in asset.notes[0]


@covers("MF024", "MF025")
def test_the_same_content_is_the_same_asset_and_other_content_never(tmp_path: Path) -> None:
    data = png(255, 0, 0)
    text = base64.b64encode(data).decode()
    (tmp_path / "a.png").write_bytes(data)
    (tmp_path / "b.png").write_bytes(data)
    same = [
        ImageAsset.from_bytes(data),
        ImageAsset.from_bytes(data, filename="named.png"),
        ImageAsset.from_bytes(data, mime_type="image/jpeg"),
        ImageAsset.from_base64(text),
        ImageAsset.from_base64(f"data:image/png;base64,{text}"),
        ImageAsset.from_path(tmp_path / "a.png"),
        ImageAsset.from_path(tmp_path / "b.png"),
    ]
    other: list[MediaAsset] = [
        ImageAsset.from_url("https://example.org/a.png"),
        ImageAsset.from_url("https://example.org/b.png"),
        ImageAsset.from_file_id("https://example.org/a.png"),
        blue(),
        ImageAsset.from_bytes(png(255, 0, 0, noise=b"X")),
        page(),
    ]

    assert {asset.fingerprint() for asset in same} == {f"sha256:{hashlib.sha256(data).hexdigest()}"}
    assert len({asset.fingerprint() for asset in [same[0], *other]}) == 7


# Tags --------------------------------------------------------------------------------------


def tagged(given: dict[str, Any], **options: Any) -> tuple[list[str], str, Message]:
    """The tags of the new attachments, the rendered prompt, and the user's message."""
    agent = Agent("a", "S", model=Replies("x"), **options)
    _, prompt, messages = agent.observe(given)
    return [block.tag for block in media(messages[-1])], prompt, messages[-1]


TAG_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "MF027": ({"imgs": [red(), blue()]}, {"pull_keys": {"imgs": "IMAGE:图"}}),
    "MF029": (
        {"imgs": [red(), red()]},
        {"pull_keys": {"imgs": "IMAGE:图"}, "reuse_attachment_tags": False},
    ),
    "MF030": ({"票据": red()}, {"pull_keys": {"票据": "IMAGE:票据图片"}}),
    "MF031": ({"x": red()}, {"pull_keys": {"x": "IMAGE:a [b]\n c"}}),
    "MF032": (
        {"receipt_image": red()},
        {
            "pull_keys": {"receipt_image": "IMAGE:票据图片"},
            "prompt_template": "[receipt_image_1 票据图片] {receipt_image}",
        },
    ),
    "MF033": (
        {"receipt_image": red(), "q": "看 [receipt_image_41 x]"},
        {"pull_keys": {"receipt_image": "IMAGE:票据图片"}},
    ),
}


@covers(*TAG_CASES)
@pytest.mark.parametrize("name", TAG_CASES)
def test_tags_are_given_alike(name: str) -> None:
    given, options = TAG_CASES[name]
    observed = CASES[name]["observed"]

    tags, prompt, _ = tagged(given, **options)

    assert tags == observed["tags"]
    for text in observed["ctx"].values():
        assert text in prompt


@covers("MF036")
def test_a_mixed_list_never_prints_an_asset() -> None:
    tags, prompt, message = tagged({"x": [red(), "s"]}, prompt_template="{x}")

    assert tags == ["[x_1 x]"]
    assert prompt == 'MESSAGE TO YOU:\n[\n  [x_1 x],\n  "s"\n]'
    assert media(message)[0].asset == red()


@covers("MF037", "MF038")
def test_an_absent_field_never_prints_its_declaration() -> None:
    _, prompt, _ = tagged({}, pull_keys={"p": "IMAGE:票据图片"}, prompt_template="请看 {p}")
    required = {"p": {"description": "票据", "modality": "IMAGE", "required": True}}

    assert prompt == "MESSAGE TO YOU:\n请看 "
    with pytest.raises(FieldError, match=r"Field 'p' .* received nothing"):
        tagged({}, pull_keys=required, prompt_template="请看 {p}")


# History -----------------------------------------------------------------------------------


def filled(count: int, **options: Any) -> HistoryMemory:
    memory = HistoryMemory(**options)
    for at in range(count):
        memory.insert("user" if at % 2 == 0 else "assistant", f"m{at}")
    return memory


@covers("MF041", "MF042", "MF043", "MF044")
def test_a_memory_gives_and_removes_alike() -> None:
    three = filled(4).get_messages(top_k=3)
    small = filled(7, memory_size=4)
    shorter = filled(4)
    shorter.delete("user")

    assert [message["role"] for message in three] == CASES["MF041"]["observed"]
    assert [one["content"] for one in small.get_messages()] == CASES["MF042"]["observed"]
    assert [one["content"] for one in shorter.get_messages()] == CASES["MF043"]["observed"]
    assert len(filled(4, top_k=-1).get_messages()) == CASES["MF044"]["observed"]


def merging(*, merge: bool, top_k: int) -> list[Message]:
    def block(tag: str, asset: ImageAsset) -> MediaMessageBlock:
        return MediaMessageBlock(asset, tag[1:2], tag, "d")

    same = red()
    memory = HistoryMemory(top_k, merge_historical_media=merge)
    for intro, tag, number in (("intro", "[x_1 d]", 1), ("intro2", "[x_2 d]", 2)):
        texts = TextMessageBlock(intro), TextMessageBlock(f"q{number}")
        memory.insert("user", [texts[0], block(tag, same), texts[1]])
        memory.insert("assistant", f"a{number}")
    memory.insert(
        "user", [block("[y_1 d]", same), block("[y_2 d]", same), block("[y_3 d]", blue())]
    )
    return [shown(message) for message in memory.get_messages()]


@covers("MF045", "MF046", "MF047")
def test_repeated_media_are_merged_alike() -> None:
    assert merging(merge=True, top_k=0) == CASES["MF045"]["observed"]
    assert merging(merge=False, top_k=0) == CASES["MF046"]["observed"]
    assert merging(merge=True, top_k=3) == CASES["MF047"]["observed"]


CONVERSATIONS = {
    "MF050": ((red(), red(), red()), False, True),
    "MF051": ((red(), red(), red()), False, False),
    "MF052": ((red(), blue(), red()), True, True),
}


@covers(*CONVERSATIONS)
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("outputs", [{}, {"answer": "答案"}])
def test_three_turns_send_the_same_messages(name: str, outputs: dict[str, str]) -> None:
    pictures, reuse, merge = CONVERSATIONS[name]
    model = Replies(*[f'{{"answer": "r{at}"}}' for at in range(3)])
    agent = Agent(
        "a",
        "S",
        model=model,
        prompt_template="{q} {x}",
        pull_keys={"x": "IMAGE:d"},
        push_keys=outputs,
        memories=[HistoryMemory(merge_historical_media=merge)],
        reuse_attachment_tags=reuse,
    )
    for at, picture in enumerate(pictures):
        agent.step({"q": f"q{at}", "x": picture})

    got = [shown(message) for message in model.requests[-1]]

    for one, expected in zip(got, CASES[name]["observed"], strict=True):
        assert one["role"] == expected["role"]
        assert _texts(one) == [_plain(text) for text in _texts(expected)]


def _texts(message: Message) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [_clean(content)]
    return [_clean(block.get("text") or f"media {block['media_tag']}") for block in content]


def _clean(text: str) -> str:
    """Leave out what the data leaves out: the rules for the answer's form, our own sentences."""
    text = text.split("\nRESPONSE FORMAT REQUIREMENTS", maxsplit=1)[0]
    if text.startswith("Attached "):
        return "announced " + text[text.index("[") : text.index("]") + 1]
    return text


def _plain(text: str) -> str:
    if text.startswith("<ANNOUNCE"):
        return "announced " + text[text.index("[") : text.index("]") + 1]
    return text


@covers("MF054")
def test_equal_turns_are_all_sent() -> None:
    model = Replies('{"answer":"same"}')
    agent = Agent("a", "S", model=model, prompt_template="{q}", memories=[HistoryMemory()])
    for text in ("yes", "no", "yes", "next"):
        agent.step({"q": text})

    assert [message["role"] for message in model.requests[-1]] == [
        "system",
        *["user", "assistant"] * 3,
        "user",
    ]


@covers("MF055", "MF056")
def test_an_agent_takes_one_history_however_it_comes() -> None:
    with pytest.raises(ValueError, match="at most one HistoryProvider"):
        Agent("a", model=Replies("x"), memories=[HistoryMemory(), HistoryMemory()])
    agent = Agent("a", model=Replies("x"), memories=[HistoryMemory()])
    with pytest.raises(ValueError, match="at most one HistoryProvider"):
        agent.add_memory(HistoryMemory())
    late = HistoryMemory()
    model = Replies("r")
    used = Agent("a", model=model).add_memory(late)
    used.step({"q": "1"})
    used.step({"q": "2"})
    assert len(model.requests[1]) == 3


@covers("MF095", "MF096")
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("then", ["deleted", "overwritten"])
def test_a_path_in_the_history_stays_what_it_was(tmp_path: Path, merge: bool, then: str) -> None:
    file = tmp_path / "x.png"
    file.write_bytes(png(255, 0, 0))
    model = Replies("r")
    memory = HistoryMemory(merge_historical_media=merge)
    agent = Agent("a", "S", model=model, prompt_template="{q}", memories=[memory])
    agent.step({"q": "t1", "x": ImageAsset.from_path(file)})

    if then == "deleted":
        file.unlink()
    else:
        file.write_bytes(png(0, 0, 255))
    agent.step({"q": "t2"})
    agent.step({"q": "t3"})

    assert len(model.requests[2]) == 6
    assert media(model.requests[2][1])[0].asset.load_bytes() == png(255, 0, 0)


@covers("MF097")
def test_the_tag_in_the_prompt_is_the_one_announced_also_with_wide_letters_and_quotes() -> None:
    for description in ("票据", 'the "blue" one', "a\\b"):
        for value in (red(), [red()], {"deep": [red(), "票据"]}):
            tags, prompt, message = tagged(
                {"x": value}, pull_keys={"x": f"ANY:{description}"}, prompt_template="问 {x}"
            )
            assert tags[0] in prompt
            assert "\\u" not in prompt
            assert tags[0] in message["content"][0].text


# Steps -------------------------------------------------------------------------------------


@covers("MF057")
def test_a_wrong_kind_is_told_at_once() -> None:
    model = Replies("x")
    began = time.perf_counter()

    with pytest.raises(ValueError, match="Field 'q' expects modality 'IMAGE', but received 'TEXT'"):
        Agent("a", model=model, pull_keys={"q": "IMAGE:d"}).step({"q": "text"})

    assert time.perf_counter() - began < PROMPTLY
    assert model.requests == []


@covers("MF058")
def test_a_tool_runs_once_though_the_answer_takes_three_attempts() -> None:
    ran: list[int] = []

    def charge() -> str:
        ran.append(1)
        return "charged"

    model = Replies(calls(("charge", {})), "garbage", "garbage", '{"answer": "k"}')
    agent = Agent("a", model=model, tools=[charge], push_keys={"answer": ""})

    assert agent.step({"q": "x"}) == CASES["MF058"]["observed"]["result"]
    assert (len(ran), len(model.requests)) == (1, 4)


@covers("MF059")
def test_the_eleventh_round_of_tool_calls_is_an_error() -> None:
    ran: list[int] = []

    def look() -> str:
        ran.append(1)
        return "x"

    with pytest.raises(ValueError, match="exceeded 10 rounds"):
        Agent("a", model=Replies(calls(("look", {}))), tools=[look]).step({"q": "x"})
    assert len(ran) == 10


def add(a: int, b: int = 2) -> int:
    """Add numbers.

    Args:
        a: first
        b: second
    """
    return a + b


@covers("MF060", "MF061")
def test_tool_calls_are_sent_back_with_their_turn() -> None:
    model = Replies(calls(("add", {"a": 4}), ("add", {"a": 1, "b": 3})), '{"answer": "done"}')

    out = Agent("a", "S", model=model, tools=[add]).step(
        {"q": "t"}, settings={"tool_choice": "required"}
    )

    observed = CASES["MF061"]["observed"]
    assert out == observed["result"]
    assert model.settings == CASES["MF060"]["observed"]
    assert model.tools[0] is not None
    assert model.tools[0][0]["parameters"] == observed["tools_schema"][0]["parameters"]
    sent = model.requests[1]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [call.id for call in sent[2]["tool_calls"]] == ["c0", "c1"]
    assert sent[3:] == observed["second_call_messages"][2:]


@covers("MF062")
def test_a_picture_that_a_tool_returns_reaches_the_model() -> None:
    def img_tool() -> Any:
        """Show a picture."""
        return ImageAsset.from_bytes(png(255, 0, 0), filename="a.png")

    model = Replies(calls(("img_tool", {})), "x")
    Agent("a", model=model, tools=[img_tool]).step({"q": "x"})

    assert [block.tag for block in media(model.requests[1][-1])] == ["[img_tool_1 a.png]"]


@covers("MF063")
def test_an_output_that_is_an_empty_object_is_kept() -> None:
    agent = Agent("a", model=Replies('{"answer":{}}'), push_keys={"answer": ""})

    assert agent.step({"q": "x"}) == {"answer": {}}


# Services ----------------------------------------------------------------------------------


ADAPTERS: dict[str, Any] = {
    "openai": (ResponsesServer, OpenAIModel),
    "legacy": (ChatServer, LegacyOpenAIModel),
}
NORMAL = {
    "MF064": Reply("T"),
    "MF065": Reply(calls=[Call("f", '{"a": 1}', id="c1")]),
    "MF067": Reply(calls=[Call("f", "{}", id="c1"), Call("g", '{"b": [1]}', id="c2")]),
}


@covers(*NORMAL)
@pytest.mark.parametrize("name", NORMAL)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_answers_are_normalised_alike(name: str, adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    observed = CASES[name]["observed"][adapter]
    with server_kind(NORMAL[name]) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)
        result = model.invoke([{"role": "user", "content": "x"}], None)

        assert len(server.requests) == observed["posts"]
    assert result["type"].name == observed["type"]
    assert result["content"] == observed["content"]
    assert observed["keys"] == [key for key in observed["keys"] if key in result]
    if observed["assistant_message"]:
        message = result["assistant_message"]
        calls_sent = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message["tool_calls"]
        ]
        assert calls_sent == observed["assistant_message"]["tool_calls"]
        assert message["content"] == observed["assistant_message"]["content"]


@covers("MF068")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_empty_answer_is_an_answer_and_is_asked_for_once(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    with server_kind(Reply("")) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)

        assert Agent("a", model=model).step({"q": "x"}) == {"answer": ""}
        assert len(server.requests) == 1
        with pytest.raises(AnswerError, match="it is empty"):
            Agent("a", model=model, push_keys={"answer": ""}, max_retries=1).step({"q": "x"})


@covers("MF069")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_arguments_that_are_no_json_go_back_to_the_model(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    ran: list[Any] = []

    def f(**given: Any) -> str:
        ran.append(given)
        return "ran"

    with server_kind(Reply(calls=[Call("f", '{"a":', id="c1")]), Reply("T")) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)
        out = Agent("a", model=model, tools=[f]).step({"q": "x"})
        assert len(server.requests) == 2

    assert out == {"answer": "T"}
    assert ran == []
    assert "are no JSON object" in json.dumps(server.bodies[1])


@covers("MF070")
def test_400_threads_with_one_agent_mix_up_nothing() -> None:
    def reply(messages: list[Message]) -> str:
        [block] = media(messages[-1])
        name = messages[-1]["content"][-1].text.splitlines()[1].split()[0]
        return json.dumps({"answer": [name, hashlib.sha256(block.asset.load_bytes()).hexdigest()]})

    agent = Agent("a", model=Replies(reply), prompt_template="{q} {x}", push_keys={"answer": ""})

    def work(number: int) -> bool:
        data = png(number % 256, number // 256, 7)
        out = agent.step({"q": str(number), "x": ImageAsset.from_bytes(data)})
        return bool(out["answer"] == [str(number), hashlib.sha256(data).hexdigest()])

    with ThreadPoolExecutor(400) as pool:
        assert list(pool.map(work, range(400))) == [True] * 400


@covers("MF071", "MF073")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_failing_service_is_asked_by_one_owner_of_retries(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    with server_kind(failure(500, retry_after="0")) as server:
        agent = Agent("a", model=kind("m", api_key="sk-test", base_url=server.url))

        with pytest.raises(ServiceError):
            agent.step({"q": "x"})

        assert len(server.requests) <= 3


@covers("MF099")
def test_a_setting_that_is_not_taken_costs_no_time_and_no_request() -> None:
    with ResponsesServer(Reply("x")) as server:
        model = OpenAIModel("m", api_key="sk-test", base_url=server.url)
        model.invoke([{"role": "user", "content": "x"}])  # the SDK is imported
        began = time.perf_counter()

        with pytest.raises(Unsupported, match="stop"):
            Agent("a", model=model, model_settings={"stop": ["x"]}).step({"q": "x"})

        assert time.perf_counter() - began < PROMPTLY
        assert len(server.requests) == 1


# Skills ------------------------------------------------------------------------------------


def skill_folder(base: Path, text: str) -> Path:
    place = base / "bom"
    place.mkdir()
    (place / "SKILL.md").write_text(text, encoding="utf-8")
    (place / "guide.png").write_bytes(png(0, 255, 0))
    return place


@covers("MF074")
def test_the_seed_skill_is_read_alike(tmp_path: Path) -> None:
    text = (
        "---\nname: receipt-skill\nmedia:\n  - type: image\n    path: guide.png\n"
        "    mime_type: image/png\n---\n请始终把当前票据与参考图片进行比对。\n"
    )
    observed = CASES["MF074"]["observed"]

    skill = load_skill(skill_folder(tmp_path, text))

    for name in ("name", "description", "body"):
        assert getattr(skill, name) == observed[name]
    for name in ("examples", "templates", "references", "scripts"):
        assert [str(one) for one in getattr(skill, name)] == observed[name]
    assert list(skill.frontmatter) == observed["frontmatter_keys"]
    [medium] = skill.media
    assert (medium.modality, medium.source_kind, medium.mime_type) == ("IMAGE", "path", "image/png")


@covers("MF075", "MF076", "MF077", "MF078")
def test_what_is_no_skill_is_refused_alike(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "---\nname: x\n---\n\n")

    with pytest.raises(SkillParseError, match="must contain non-empty markdown instructions"):
        load_skill(place)
    with pytest.raises(SkillNotFoundError, match="does not exist"):
        load_skill(tmp_path / "nope")
    with pytest.raises(InvalidSkillPackageError, match="is not a directory"):
        load_skill(place / "SKILL.md")
    (place / "SKILL.md").write_text("---\n- a\n---\nbody")
    with pytest.raises(SkillParseError, match="expected a mapping"):
        load_skill(place)


@covers("MF079", "MF080")
def test_a_byte_order_mark_and_an_empty_front_matter_are_taken(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "\ufeff---\nname: x\n---\nbody")
    assert (load_skill(place).name, load_skill(place).body) == ("x", "body")

    (place / "SKILL.md").write_text("---\n---\nbody")
    assert (load_skill(place).name, load_skill(place).body) == ("bom", "body")


@covers("MF081", "MF082")
@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd"])
def test_a_skill_reads_nothing_outside_its_folder(tmp_path: Path, path: str) -> None:
    place = skill_folder(tmp_path, f"---\nmedia:\n- {{type: image, path: {path}}}\n---\nbody")

    with pytest.raises(SkillParseError, match="leads out of the skill's folder"):
        load_skill(place)


@covers("MF083")
def test_the_type_of_a_skills_picture_is_that_of_its_content(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "---\nmedia:\n- {type: image, path: g.jpg}\n---\nbody")
    Image.new("RGB", (2, 2), "red").save(place / "g.jpg")

    assert load_skill(place).media[0].mime_type == "image/jpeg"
    (place / "g.jpg").write_bytes(pdf())
    with pytest.raises(SkillParseError, match="PDF"):
        load_skill(place)


@covers("MF087")
def test_the_body_of_a_skill_is_no_template(tmp_path: Path) -> None:
    skill = load_skill(skill_folder(tmp_path, "Ask about {city} and {q}."))

    system, _, _ = Agent("a", "S", model=Replies("x"), skills=[skill]).observe({"q": "Rome"})

    assert system.endswith("Ask about {city} and {q}.")


# Graphs ------------------------------------------------------------------------------------


def graph_of(model: Any, *edges: Any, **options: Any) -> RootGraph:
    return RootGraph("g", nodes=[("a", NodeTemplate(Agent, model=model, **options))], edges=edges)


@covers("MF089")
def test_a_graph_must_be_built_before_it_runs() -> None:
    with pytest.raises(RuntimeError, match="not built"):
        graph_of(FakeModel(), ("entry", "a"), ("a", "exit")).invoke({"message": "x"})


@covers("MF091")
def test_an_edge_of_two_parts_carries_a_message() -> None:
    model = FakeModel('{"message": "yo"}')

    out, _ = graph_of(model, ("entry", "a"), ("a", "exit")).build().invoke({"message": "hi"})

    assert out == CASES["MF091"]["observed"][0]
    assert CASES["MF091"]["observed"][1] in model.requests[0].messages[-1]["content"]


@covers("MF094")
def test_a_graph_whose_exit_is_never_reached_is_refused() -> None:
    with pytest.raises(AgentError, match="exit is never reached"):
        graph_of(FakeModel(), ("entry", "a")).build()


@covers("MF098")
def test_the_attributes_of_one_run_are_not_those_of_the_next() -> None:
    graph = graph_of(FakeModel('{"message": "x"}'), ("entry", "a"), ("a", "exit")).build()

    first = graph.invoke({"message": "x"}, attributes={"img": "one"})
    second = graph.invoke({"message": "x"})

    assert (first.attributes, second.attributes) == ({"img": "one"}, {})


class Camera:
    """A node that answers with a picture of its own."""

    def __init__(self, name: str, picture: ImageAsset) -> None:
        self.name = name
        self.picture = picture

    def step(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"img": self.picture, "seen": sorted(given)}


@covers("MF100")
def test_two_senders_of_a_picture_under_one_key_give_two_tags() -> None:
    model = FakeModel('{"message": "two"}')
    cameras = {"left": red(), "right": blue()}
    graph = RootGraph(
        "g",
        nodes=[
            ("a", NodeTemplate(Agent, model=model)),
            *((name, NodeTemplate(Camera, picture=one)) for name, one in cameras.items()),
        ],
        edges=[
            *(("entry", name, {}) for name in cameras),
            *((name, "a", {"img": "IMAGE:图"}) for name in cameras),
            ("a", "exit"),
        ],
    ).build()

    graph.invoke({})

    tags = [block.tag for block in media_blocks(model.requests[0].messages)]
    assert tags == CASES["MF100"]["observed"]


def test_every_case_has_a_test() -> None:
    assert CASES.keys() == COVERED
