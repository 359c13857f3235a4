"""The built-in reader: quotes from attachments, JSON from their lines, in a session."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import Agent, HistoryMemory, ImageAsset, LocalModel, PdfAsset, Session
from agentcell.adapters.events import (
    Citation,
    Finished,
    TextDelta,
    Usage,
)
from agentcell.adapters.local.asked import read_asked
from agentcell.adapters.local.reply import literal
from agentcell.adapters.request import read_request
from agentcell.errors import (
    AnswerError,
    Unsupported,
)
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from local_reading import BILL, MARKET, RECEIPTS, TAG, answer, asking, bill, events, real
from media import block, pdf, png


@pytest.fixture
def reader() -> LocalModel:
    """The reader without its model: it needs no weights."""
    return LocalModel(speak=False)


@pytest.fixture
def no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing was fetched."""
    monkeypatch.setenv("AGENTCELL_CACHE_DIR", str(tmp_path / "empty"))


# -- quotes -------------------------------------------------------------------------------------


def test_the_line_that_answers_is_quoted_with_its_tag(reader: LocalModel) -> None:
    said = events(reader, asking("What is the total?", bill()))

    assert said == [
        TextDelta(f"> `Total 42.00` — {TAG}"),
        Citation(quote="Total 42.00", tag=TAG),
        Usage(input_tokens=0, output_tokens=0),
        Finished(reason="stop", model="local/smollm2-135m"),
    ]


def test_a_follow_up_is_answered_from_the_same_attachment(reader: LocalModel) -> None:
    messages = [
        *asking("What is the total?", bill()),
        {"role": "assistant", "content": "> `Total 42.00`"},
        {"role": "user", "content": "And how much was the tea?"},
    ]

    assert answer(reader, messages) == f"> `Tea 2.50` — {TAG}"


def test_what_came_with_the_question_is_looked_at_first(reader: LocalModel) -> None:
    new = bill("Total 7.00", "[receipt_2 Receipt]")
    messages = [
        *asking("What is this?", bill()),
        {"role": "assistant", "content": "A bill."},
        *asking("What is the total?", new),
    ]

    assert answer(reader, messages) == "> `Total 7.00` — [receipt_2 Receipt]"


def test_an_attachment_that_is_named_is_the_one_that_is_asked(reader: LocalModel) -> None:
    messages = [
        *asking("What is this?", bill()),
        {"role": "assistant", "content": "A bill."},
        *asking(f"What is the total on {TAG}?", bill("Total 7.00", "[receipt_2 Receipt]")),
    ]

    assert answer(reader, messages) == f"> `Total 42.00` — {TAG}"


def test_two_attachments_that_both_answer_are_both_quoted(reader: LocalModel) -> None:
    other = bill("Total 7.00", "[receipt_2 Receipt]")

    said = answer(reader, asking("What is the total?", bill(), other))

    assert f"> `Total 42.00` — {TAG}" in said
    assert "> `Total 7.00` — [receipt_2 Receipt]" in said


def test_one_content_attached_twice_is_one_document(reader: LocalModel) -> None:
    again = bill(tag="[copy_1 Copy]")

    said = answer(reader, asking("What is the total?", bill(), again))

    assert said == f"> `Total 42.00` — {TAG}"


def test_a_guide_among_the_instructions_comes_after_what_the_person_attached(
    reader: LocalModel,
) -> None:
    guide = bill("Total 1.00", "[skill_media_1 guide.pdf]")
    rules: Message = {"role": "system", "content": [TextMessageBlock("Be careful."), guide]}

    about_bill = answer(reader, [rules, *asking("What is the total?", bill())])
    about_guide = answer(reader, [rules, {"role": "user", "content": "What is the total?"}])

    assert about_bill == f"> `Total 42.00` — {TAG}"
    assert about_guide == "> `Total 1.00` — [skill_media_1 guide.pdf]"


def test_a_chinese_question_gets_its_quote_in_a_chinese_frame() -> None:
    asset = ImageAsset.from_path(RECEIPTS / "r07_zh_market.png")
    model = LocalModel()
    receipt = MediaMessageBlock(asset, "receipt", "[receipt_1 小票]", "小票")

    said = answer(model, asking("合计是多少钱？", receipt))

    assert said == "> `合计  ¥83.00` — [receipt_1 小票]\n\n附件原文给出的答案是 `¥83.00`。"


def test_the_label_of_a_tag_does_not_change_the_language(reader: LocalModel) -> None:
    tag = "[receipt_1 票据图片]"

    said = answer(reader, asking(f"What is the total on {tag}?", bill(tag=tag)))

    assert said == f"> `Total 42.00` — {tag}"


def test_a_page_is_named_where_there_are_several(reader: LocalModel) -> None:
    asset = PdfAsset.from_path(RECEIPTS / "long.pdf")
    document = MediaMessageBlock(asset, "document", "[document_1 Long]", "Long")

    said = events(reader, asking("What is this document about?", document))

    citations = [event for event in said if isinstance(event, Citation)]
    assert citations
    assert all(each.page for each in citations)
    text = "".join(event.text for event in said if isinstance(event, TextDelta))
    assert re.search(r"\[document_1 Long\], page \d+", text)


def test_no_line_that_answers_is_said_honestly_with_what_stands_there(
    reader: LocalModel,
) -> None:
    said = answer(reader, asking("Which animal lives in Australia?", bill()))

    assert said.startswith(f"I found no line in {TAG} that answers this.")
    assert "no eyes for photos" in said
    assert "`Corner Cafe`" in said
    assert "-m openai" in said


def test_a_picture_without_text_is_not_guessed_at() -> None:
    photo = block(ImageAsset.from_bytes(png("green", (300, 200))))

    english = answer(LocalModel(), asking("What is in this picture?", photo))
    chinese = answer(LocalModel(), asking("图里有什么？", photo))

    assert english.startswith("I can only read text; this image has none.")
    assert chinese.startswith("我只能读文字，这张图片里没有文字。")


def test_a_question_that_comes_with_a_photo_is_not_answered_from_an_older_receipt(
    reader: LocalModel,
) -> None:
    photo = block(ImageAsset.from_bytes(png("green", (310, 200))), "photo")
    earlier = [*asking("What is the total?", bill()), {"role": "assistant", "content": "42.00"}]

    about_photo = answer(reader, [*earlier, *asking("What is in this picture?", photo)])
    about_bill = answer(reader, [*earlier, *asking(f"And the total on {TAG}?", photo)])

    assert about_photo.startswith("I can only read text; this image has none.")
    assert about_bill == f"> `Total 42.00` — {TAG}"


def test_thanks_are_not_answered_with_a_quote(reader: LocalModel) -> None:
    messages = [
        *asking("What is the total?", bill()),
        {"role": "assistant", "content": "42.00"},
        {"role": "user", "content": "Thank you!"},
    ]

    assert answer(reader, messages) == f"Ask me about {TAG}: I find the line that answers."


def test_an_attachment_alone_is_summed_up(reader: LocalModel) -> None:
    said = answer(reader, [{"role": "user", "content": [bill()]}])

    assert "`Total 42.00`" in said


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>  1.00",
        "[click](http://evil.example)  1.00",
        "![](http://evil.example/p.png)",
        "a `code` b ``c``",
        "`",
        "$x$ and $y$  *bold* _i_ # | > - 1.",
        "line one\n\n# line two",
        "\u202eevil\u202c \x1b[31mred\x1b[0m",
    ],
)
def test_what_a_document_says_is_shown_as_code_and_nothing_else(text: str) -> None:
    from markdown_it import MarkdownIt

    shown = f"> {literal(text)} — {TAG}"

    tokens = MarkdownIt("commonmark").parse(shown)
    inline = next(token for token in tokens if token.type == "inline")
    kinds = [token.type for token in inline.children or ()]
    assert kinds == ["code_inline", "text"]
    assert "\n" not in shown
    assert not re.search(r"[\u202a-\u202e\x00-\x1f]", shown)


def test_a_long_line_is_cut() -> None:
    assert len(literal("word " * 500)) < 300


# -- parts of other shapes ----------------------------------------------------------------------


def test_openai_parts_with_data_are_read_too(reader: LocalModel) -> None:
    data = base64.b64encode(pdf(BILL)).decode()
    file = {"filename": "bill.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    content = [{"type": "file", "file": file}, {"type": "text", "text": "What is the total?"}]

    said = answer(reader, [{"role": "user", "content": content}])

    assert said == "> `Total 42.00` — [document]"


def test_unnamed_parts_get_names_that_tell_them_apart(reader: LocalModel) -> None:
    def part(text: str) -> dict[str, Any]:
        data = base64.b64encode(pdf(text)).decode()
        return {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{data}"}}

    content = [part("Total 1.00"), part("Total 2.00"), {"type": "text", "text": "The total?"}]

    said = answer(reader, [{"role": "user", "content": content}])

    assert "`Total 1.00` — [document]" in said
    assert "`Total 2.00` — [document 2]" in said


@pytest.mark.parametrize(
    ("asset", "what"),
    [
        (ImageAsset.from_url("https://example.com/a.png"), "an address"),
        (PdfAsset.from_url("https://example.com/a.pdf"), "an address"),
        (ImageAsset.from_file_id("file-1"), "a provider's file id"),
    ],
)
def test_what_would_have_to_be_fetched_is_refused_before_anything(
    reader: LocalModel, asset: ImageAsset | PdfAsset, what: str
) -> None:
    messages = asking("What is it?", MediaMessageBlock(asset, "scan", "[scan_1 Scan]"))

    with pytest.raises(Unsupported, match=f"'scan' by {what}.*fetches nothing") as caught:
        reader.check_media(messages)
    with pytest.raises(Unsupported, match=what):
        reader.invoke(messages)

    assert caught.value.fix == "give the file itself: a path, or its bytes."


def test_the_announcement_of_an_attachment_is_no_part_of_the_question(
    reader: LocalModel,
) -> None:
    each = bill()
    foreign = TextMessageBlock(f"The following file is called {TAG}, remember it.")
    content = [foreign, each, TextMessageBlock(f"What is the total on {TAG}?")]

    asked = read_asked(
        read_request(reader, [{"role": "user", "content": content}], None, None).turns
    )

    assert asked.question == f"What is the total on {TAG}?"
    assert asked.plain == "What is the total on?"


# -- JSON ---------------------------------------------------------------------------------------


def test_an_agent_gets_its_outputs_from_the_lines(reader: LocalModel) -> None:
    agent = Agent(
        "receipt_agent",
        "Be careful.",
        model=reader,
        prompt_template="Look at {receipt} and answer: {question}",
        pull_keys={"question": "Question", "receipt": "PDF:Receipt"},
        push_keys={"answer": "The answer"},
        memories=[HistoryMemory()],
    )

    first = agent.step({"question": "What is the total?", "receipt": bill().asset})
    second = agent.step({"question": "How much was the tea?"})

    assert first == {"answer": "42.00"}
    assert second == {"answer": "2.50"}


def test_several_outputs_are_found_by_their_descriptions(reader: LocalModel) -> None:
    agent = Agent(
        "reader",
        model=reader,
        prompt_template="Read {receipt}.",
        pull_keys={"receipt": "PDF:Receipt"},
        push_keys={"total": "the total amount", "tea": "price of the tea", "colour": "the colour"},
    )

    got = agent.step({"receipt": bill().asset})

    assert got["total"] == "42.00"
    assert got["tea"] == "2.50"
    assert got["colour"].startswith("I found no line in [receipt_1 Receipt]")


def test_a_prompt_that_asks_for_named_keys_is_enough(reader: LocalModel) -> None:
    prompt = (
        "MESSAGE TO YOU:\nWhat is the total?\nRESPONSE FORMAT REQUIREMENTS:\nAnswer with JSON.\n"
        'REQUIRED OUTPUT FIELDS AND THEIR DESCRIPTIONS:\n{"answer": "答案"}'
    )

    said = answer(reader, asking(prompt, bill()))

    assert json.loads(said) == {"answer": "42.00"}


def test_a_schema_gets_numbers_lists_and_nulls(reader: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {
            "total": {"type": "number", "minimum": 0},
            "tea": {"type": "string", "description": "price of the tea"},
            "tip": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "discount": {"type": "number"},
        },
        "required": ["total", "tea", "tip"],
    }

    said = answer(reader, asking("Read this.", bill()), schema=schema)

    assert json.loads(said) == {"total": 42, "tea": "2.50", "tip": None}


def test_a_number_that_is_nowhere_is_an_error_and_no_invention(reader: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {"mileage": {"type": "integer"}},
        "required": ["mileage"],
    }

    with pytest.raises(AnswerError, match="'mileage'"):
        answer(reader, asking("Read this.", bill()), schema=schema)


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "object", "properties": {}},
        {"type": "boolean"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "format": "date"},
        {"type": "array", "items": {"type": "object"}},
        {"$ref": "#/$defs/x"},
        {"type": ["string", "number"]},
        {},
    ],
)
def test_a_schema_that_cannot_be_filled_by_copying_is_refused(
    reader: LocalModel, inner: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"x": inner}, "required": ["x"]}

    with pytest.raises(Unsupported, match="fills texts, numbers and lists of texts"):
        answer(reader, asking("Read this.", bill()), schema=schema)


@real
def test_without_attachments_the_small_model_follows_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }

    said = answer(LocalModel(), asking("Name a colour."), schema=schema)

    assert json.loads(said)["colour"] in {"red", "blue"}


@real
def test_an_agent_without_attachments_gets_an_object_too() -> None:
    agent = Agent(
        "analyst",
        "You analyse questions.",
        model=LocalModel(),
        prompt_template="{query}",
        push_keys={"analysis": "what is asked"},
    )

    english = agent.step({"query": "How do I learn Python?"})
    chinese = agent.step({"query": "我想学习 Python，怎么开始？"})

    assert isinstance(english["analysis"], str)
    assert "小阅读器" in chinese["analysis"]


# -- documents that cannot be read --------------------------------------------------------------


def test_an_earlier_attachment_that_cannot_be_read_does_not_fail_the_next_question() -> None:
    code = f"""
import sys
class NoRecogniser:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("faster_paddle", "rapidocr"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NoRecogniser())
sys.path.insert(0, {str(Path(__file__).parent)!r})
from local_reading import MARKET, answer, asking, bill
from agentcell import ImageAsset, LocalModel, MediaMessageBlock
from agentcell.errors import LocalModelMissing
model = LocalModel(speak=False)
picture = MediaMessageBlock(ImageAsset.from_path(MARKET), "photo", "[photo_1 Photo]", "Photo")
try:
    answer(model, asking("What is the total?", picture))
except LocalModelMissing as error:
    print(error)
earlier = [*asking("Hello", picture), {{"role": "assistant", "content": "No."}}]
print(answer(model, [*earlier, *asking("What is the total?", bill())]))
"""

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    refused, _, answered = done.stdout.partition("> ")
    assert 'pip install "agentcell[local]"' in refused
    assert answered.startswith(f"`Total 42.00` — {TAG}")
    assert "I could not read [photo_1 Photo]" in answered


# -- with a session -----------------------------------------------------------------------------


def test_a_session_without_a_key_answers_about_a_picture_and_remembers_it() -> None:
    session = Session(LocalModel(speak=False))

    first = session.ask(
        "What is the total on {receipt}?", values={"receipt": ImageAsset.from_path(MARKET)}
    )
    second = session.ask("How much did the coffee beans cost?")

    assert "27.95" in first
    assert "11.75" in second
    assert first.citations[0].tag in first
    assert session.turns[-1].finish_reason == "stop"


def test_async_callers_are_not_blocked(reader: LocalModel, tmp_path: Path) -> None:
    async def ask() -> tuple[str, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with Image.open(RECEIPTS / "r05_hardware_photo.png") as picture:
            picture.convert("RGB").save(tmp_path / "new.jpg", quality=97)  # not read before
        asset = ImageAsset.from_path(tmp_path / "new.jpg")
        photo = MediaMessageBlock(asset, "receipt", TAG, "Receipt")
        result = await reader.ainvoke(asking("What is the total?", photo))
        ticking.cancel()
        return result["content"], ticks

    said, ticks = asyncio.run(ask())

    assert "39.54" in said
    assert ticks > 3
