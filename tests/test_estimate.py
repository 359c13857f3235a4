"""Estimates of tokens and cost: against what was counted elsewhere, and with bounds that hold."""

from __future__ import annotations

import base64
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import media
from agentcell import AnthropicModel, GeminiModel, LegacyOpenAIModel, LocalModel, Model, OpenAIModel
from agentcell.adapters.estimate import Estimate, estimate_tokens
from agentcell.adapters.estimate_cost import estimate_cost
from agentcell.adapters.image_tokens import image_tokens
from agentcell.adapters.local_servers import OllamaModel
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.adapters.text_tokens import text_tokens
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import PriceError, Unsupported
from agentcell.messages import ToolCall
from promptly import cpu_seconds

COUNTED = json.loads((Path(__file__).parent / "data" / "token_counts.json").read_text("utf-8"))
"""Texts, and what OpenAI's o200k_base counts in them (gpt-tokenizer 3, 2026-11-30)."""

HI = [{"role": "user", "content": "Hi"}]


class OfSomebody(Model):
    def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}


def picture(width: int, height: int) -> ImageAsset:
    file = io.BytesIO()
    Image.new("1", (width, height)).save(file, "PNG")
    return ImageAsset.from_bytes(file.getvalue(), filename="a.png")


def pdf(pages: int) -> PdfAsset:
    file = io.BytesIO()
    first, *more = [Image.new("1", (60, 80), 1) for _ in range(pages)]
    first.save(file, "PDF", save_all=True, append_images=more)
    return PdfAsset.from_bytes(file.getvalue(), filename="a.pdf")


def asked(*content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(content)}]


@pytest.mark.parametrize("kind", COUNTED)
def test_the_bounds_hold_what_a_tokenizer_counts(kind: str) -> None:
    text, count = COUNTED[kind]["text"], COUNTED[kind]["tokens"]
    model = OpenAIModel("gpt-6-luna", "k")
    empty = estimate_tokens(asked(" "), model)

    found = estimate_tokens(asked(text), model)

    assert 0.65 <= text_tokens(text) / count <= 1.55
    assert found.low - empty.high <= count <= found.high


def test_chinese_is_counted_otherwise_than_latin() -> None:
    assert text_tokens("请检查票据并回答总金额是多少" * 10) > 2 * text_tokens("word " * 28)


def test_no_text_is_no_token_and_any_text_is_one() -> None:
    assert text_tokens("") == 0
    assert text_tokens(" ") == 1
    assert text_tokens("\ud800") >= 1  # half a character
    assert text_tokens("\x00" * 50) >= 1


# Sizes and counts as measured by others and as the providers' pages give them.
@pytest.mark.parametrize(
    ("provider", "model", "size", "detail", "tokens"),
    [
        ("openai", "gpt-6-luna", (256, 256), "", 77),
        ("openai", "gpt-6-luna", (512, 512), "auto", 308),
        ("openai", "gpt-6-sol", (1024, 1024), "", 1229),
        ("openai-chat", "gpt-6-luna", (1920, 1080), "", 2448),
        ("openai", "gpt-6.2-sol", (4032, 3024), "original", 14364),
        ("openai", "gpt-4o", (1024, 1024), "high", 765),
        ("openai", "gpt-4o", (2048, 4096), "", 1105),
        ("openai", "gpt-4o-2024-08-06", (4096, 8192), "low", 85),
        ("openai", "gpt-4.1", (1024, 1024), "", 765),
        ("openai", "gpt-4o-mini", (1024, 1024), "", 25501),
        ("openai", "gpt-5", (1024, 1024), "", 630),
        ("openai", "o3", (1024, 1024), "", 675),
        ("openai", "gpt-5.1-codex", (1024, 1024), "", 630),
        ("openai", "gpt-50", (1024, 1024), "", 1229),
        ("openai", "gpt-4.1-mini", (1024, 1024), "", 1659),
        ("gemini", "gemini-2.5-flash", (300, 384), "", 258),
        ("gemini", "models/gemini-2.5-pro", (768, 1536), "low", 64),
        ("gemini", "gemini-3.8-flash", (4000, 3000), "low", 280),
    ],
)
def test_images_are_counted_by_the_formula_of_the_models_family(
    provider: str, model: str, size: tuple[int, int], detail: str, tokens: int
) -> None:
    found = image_tokens(provider, model, size, detail)

    assert found.tokens == tokens
    assert found.low <= tokens <= found.high


@pytest.mark.parametrize(
    ("provider", "model", "size", "detail", "measured"),
    [
        ("openai", "gpt-5.5", (4032, 3024), "", 11868),
        ("openai", "gpt-5.5", (2560, 1440), "high", 2931),
        ("anthropic", "claude-opus-5-5", (1024, 1024), "", 1369),
        ("anthropic", "claude-opus-5-5", (1920, 1080), "", 2691),
        ("anthropic", "claude-opus-5-5", (2560, 1440), "", 2992),
        ("anthropic", "claude-sonnet-5-5", (4032, 3024), "", 3928),
        ("gemini", "gemini-3.8-flash", (200, 200), "", 1065),
        ("gemini", "gemini-4-argon", (4000, 3000), "high", 1101),
    ],
)
def test_the_bounds_hold_what_others_measured(
    provider: str, model: str, size: tuple[int, int], detail: str, measured: int
) -> None:
    found = image_tokens(provider, model, size, detail)

    assert found.low <= measured <= found.high
    assert found.high <= 2 * measured


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
@pytest.mark.parametrize("model", ["gpt-9", "gpt-5.2", "claude-3-haiku", "gemini-1.5-pro", "x"])
def test_bounds_are_bounds_for_every_model_and_size(provider: str, model: str) -> None:
    for size in [(1, 1), (1, 20_000), (20_000, 1), (33, 33), (1568, 1568), (9000, 9000), None]:
        for detail in ("", "auto", "low", "high", "original"):
            found = image_tokens(provider, model, size, detail)
            assert 0 < found.low <= found.tokens <= found.high < 200_000


@pytest.mark.parametrize(
    "model",
    [
        OpenAIModel("gpt-6-luna", "k"),
        LegacyOpenAIModel("gpt-4.1", "k"),
        AnthropicModel("claude-haiku-5-5", "k"),
        GeminiModel("gemini-3.8-flash", "k"),
        OllamaModel("llava"),
        LocalModel(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_each_attachment_is_a_part_of_its_own(model: Model) -> None:
    block = media.block(picture(640, 480))
    messages = asked(block, "What is the total?")

    found = estimate_tokens(model.ready(messages), model)

    assert found.model == model.name
    (image,) = found.attachments
    assert (image.kind, image.name) == ("image", "[receipt_1 receipt]")
    assert found.tokens == sum(part.tokens for part in found.parts)
    assert found.low <= found.tokens <= found.high


def test_a_picture_that_is_scaled_down_first_counts_less() -> None:
    model = AnthropicModel("claude-haiku-4-5", "k")
    messages = asked(media.block(picture(1200, 900)))

    whole = estimate_tokens(model.ready(messages), model).attachments[0]
    small = estimate_tokens(model.ready(messages, detail="auto"), model).attachments[0]

    assert small.tokens <= whole.tokens
    assert whole.tokens == pytest.approx(43 * 33, abs=5)


def test_a_pdf_counts_by_its_pages() -> None:
    one, three = (pdf(pages) for pages in (1, 3))
    for model in (
        OpenAIModel("gpt-6-luna", "k"),
        AnthropicModel("claude-haiku-5-5", "k"),
        GeminiModel("gemini-3.8-flash", "k"),
        GeminiModel("gemini-2.5-flash", "k"),
    ):
        first, *_ = estimate_tokens(asked(media.block(one)), model).attachments
        (more,) = estimate_tokens(asked(media.block(three)), model).attachments
        assert more.kind == "pdf"
        assert 2.5 * first.tokens <= more.tokens <= 3.5 * first.tokens
    gemini = GeminiModel("gemini-4-argon", "k")
    (page,) = estimate_tokens(asked(media.block(one)), gemini).attachments
    assert page.low <= 520 <= page.high  # as was counted of one page


def test_a_pdfs_text_is_looked_at_only_where_there_is_time() -> None:
    said = media.block(PdfAsset.from_bytes(media.pdf("Total 42.00")))
    model = OpenAIModel("gpt-6-luna", "k")

    (read,) = estimate_tokens(asked(said), model).attachments
    (unread,) = estimate_tokens(asked(said), model, read_pdfs=False).attachments
    (empty,) = estimate_tokens(asked(media.block(pdf(1))), model).attachments

    assert empty.tokens < read.tokens < empty.tokens + 50
    assert unread.tokens == empty.tokens + 500


def test_what_only_the_provider_sees_has_wide_bounds() -> None:
    address = media.block(ImageAsset.from_url("https://a.example/a.png"))
    document = media.block(PdfAsset.from_file_id("file-1"))

    for block in (address, document):
        (part,) = estimate_tokens(asked(block), OpenAIModel("gpt-6-luna", "k")).attachments
        assert part.high > 10 * part.low
    data = base64.b64encode(picture(256, 256).load_bytes()).decode()
    (seen,) = estimate_tokens(
        asked({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}),
        OpenAIModel("gpt-6-luna", "k"),
    ).attachments
    assert seen.tokens == 77


def test_tools_a_schema_and_a_tools_results_count() -> None:
    model = OpenAIModel("gpt-6-luna", "k")
    tool = {"name": "f", "description": "Looks it up. " * 20, "parameters": {"type": "object"}}
    schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    rounds: list[dict[str, Any]] = [
        *HI,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [ToolCall(id="1", name="f", arguments={"q": "word " * 100})],
        },
        {"role": "tool", "tool_call_id": "1", "content": "word " * 100},
    ]
    plain = estimate_tokens(HI, model)

    assert estimate_tokens(HI, model, tools=[tool]).tokens > plain.tokens + 60
    assert estimate_tokens(HI, model, settings={"schema": schema}).tokens > plain.tokens + 10
    assert estimate_tokens(rounds, model).tokens > plain.tokens + 180
    sealed: list[dict[str, Any]] = [
        *HI,
        {"role": "assistant", "content": "x", "opaque": ({"data": "A" * 900},)},
        *HI,
    ]
    assert any(part.kind == "thinking" for part in estimate_tokens(sealed, model).parts)


def test_messages_that_could_not_be_sent_are_refused_alike() -> None:
    document = media.block(pdf(1))

    with pytest.raises(Unsupported):
        estimate_tokens(asked({"type": "video"}), OpenAIModel("gpt-6-luna", "k"))
    with pytest.raises(Unsupported):
        LegacyOpenAIModel("gpt-4.1", "k").ready(asked(document))
    with pytest.raises(Unsupported):
        estimate_tokens(asked(document), LegacyOpenAIModel("gpt-4.1", "k"))


def test_an_estimate_reads_as_a_sentence() -> None:
    found = estimate_tokens(HI, "openai/gpt-6-luna")

    assert isinstance(found, Estimate)
    assert str(found).startswith("about ")
    assert "tokens (" in str(found)


def test_a_cost_has_bounds_and_the_answers_limit_counts() -> None:
    messages = asked("word " * 1_000)
    set_price("openai/my-model", input=1_000, output=10_000)
    try:
        bound = estimate_cost(messages, "openai/my-model", settings={"max_tokens": 100})
        open_end = estimate_cost(messages, "openai/my-model")
    finally:
        forget_price("openai/my-model")

    assert bound is not None
    assert open_end is not None
    assert bound.is_bounded
    assert not open_end.is_bounded
    assert bound.low.total < bound.expected.total < bound.high.total < open_end.high.total
    assert bound.high.output == Decimal(100 * 10_000) / 1_000_000
    assert bound.high.input == Decimal(bound.tokens.high * 1_000) / 1_000_000
    assert str(bound).startswith("about $")
    assert "for 16,384 tokens of answer" in str(open_end)


def test_a_cost_that_nobody_knows_is_none_and_a_free_one_is_free() -> None:
    assert estimate_cost(HI, "openai/gpt-99") is None
    assert estimate_cost(HI, OfSomebody("m")) is None
    free = estimate_cost(HI, LocalModel())
    assert free is not None
    assert str(free) == "free"


def test_a_broken_file_of_prices_is_said_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_PRICES", str(tmp_path / "gone.json"))

    with pytest.raises(PriceError, match=r"gone\.json"):
        estimate_cost(HI, "openai/gpt-6-luna")


def test_a_long_text_is_counted_in_proportion_to_its_length() -> None:
    def seconds(copies: int) -> float:
        text = "The quick brown fox, 12 语言. " * copies
        return cpu_seconds(lambda: text_tokens(text), tries=3)

    assert seconds(40_000) < 100 * seconds(1_000)  # the square would be 1,600 times
