"""What an answer costs: known prices, given prices, and None wherever nobody knows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell import AnthropicModel, GeminiModel, LegacyOpenAIModel, LocalModel, Model, OpenAIModel
from agentcell.adapters.events import Usage
from agentcell.adapters.local_servers import OllamaModel, VLLMModel
from agentcell.adapters.price_table import Price, shown
from agentcell.adapters.pricing import Cost, call_cost, cost, forget_price, price_of, set_price
from agentcell.errors import PriceError
from agentcell.testing import AnthropicServer, ChatServer, GeminiServer, Reply, ResponsesServer

THEN = datetime(2026, 11, 1, tzinfo=UTC)
MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
SMALL = Usage(input_tokens=10_000, output_tokens=1_000)


class OfSomebody(Model):
    def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}


@pytest.fixture(autouse=True)
def no_prices_left() -> Iterator[None]:
    yield
    for name in ("openai/gpt-4.1", "openai/my-model", "my-model", "gpt-4.1", "custom/m"):
        forget_price(name)


def prices_file(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    path.write_text(text, "utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(path))
    return path


def test_a_known_model_costs_what_its_provider_asks() -> None:
    assert cost(OpenAIModel("gpt-4.1", "k"), MILLION) == Cost(input=Decimal(2), output=Decimal(8))
    assert cost("openai/gpt-4.1", MILLION) == cost("gpt-4.1", MILLION)
    assert cost("anthropic/claude-haiku-4-5", MILLION) == Cost(input=Decimal(1), output=Decimal(5))
    assert cost(GeminiModel("models/gemini-2.5-flash", "k"), MILLION) == Cost(
        input=Decimal("0.3"), output=Decimal("2.5")
    )


def test_what_came_from_the_cache_is_counted_once_at_its_own_price() -> None:
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=0)

    assert cost("openai/gpt-4.1", usage) == Cost(input=Decimal("1.2"), cached=Decimal("0.2"))


def test_reasoning_is_a_part_of_the_answer_and_not_added_to_it() -> None:
    thought = Usage(input_tokens=0, output_tokens=1_000_000, reasoning_tokens=900_000)

    assert cost("openai/gpt-4.1", thought) == Cost(output=Decimal(8))


def test_what_goes_into_the_cache_costs_more_and_for_an_hour_yet_more() -> None:
    written = Usage(input_tokens=1_000_000, cache_write_tokens=1_000_000, output_tokens=0)
    hour = Usage(
        input_tokens=1_000_000,
        cache_write_tokens=1_000_000,
        hour_cache_write_tokens=500_000,
        output_tokens=0,
    )

    assert cost("anthropic/claude-haiku-4-5", written) == Cost(input=Decimal("1.25"))
    assert cost("anthropic/claude-haiku-4-5", hour) == Cost(input=Decimal("1.625"))
    assert cost("openai/gpt-4.1", written) == Cost(input=Decimal(2))


def test_a_long_request_costs_the_price_of_long_ones_in_all_its_parts() -> None:
    usage = Usage(input_tokens=300_000, cached_tokens=100_000, output_tokens=1_000_000)

    found = cost("openai/gpt-6-luna", usage)

    assert found == Cost(input=Decimal("0.04"), cached=Decimal("0.002"), output=Decimal("0.75"))


def test_images_that_a_model_makes_have_their_own_price() -> None:
    text = Usage(input_tokens=0, output_tokens=1_000_000)
    image = Usage(input_tokens=0, output_tokens=1_000_000, image_output_tokens=1_000_000)

    assert cost("gemini/gemini-nano-banana-2.1", text) == Cost(output=Decimal("7.5"))
    assert cost("gemini/gemini-nano-banana-2.1", image) == Cost(output=Decimal(30))


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-99",
        "openai/my-model",
        "openai/ft:gpt-4o-mini:org::id",
        "anthropic/claude-opus-4-6-of-somebody",
        "gemini/gemini-2.5-pro-of-somebody",
        "gemini/",
        "nobody/m",
        "",
        "   ",
    ],
)
def test_what_nobody_knows_is_none_and_never_zero(name: str) -> None:
    assert cost(name, SMALL) is None
    assert cost(name, None) is None


@pytest.mark.parametrize("name", ["gpt-4.1-2025-04-14", "gpt-6-luna-20260101"])
def test_a_dated_id_is_the_same_model(name: str) -> None:
    assert cost(OpenAIModel(name, "k"), SMALL) is not None


@pytest.mark.parametrize(
    "usage",
    [
        None,
        Usage(),
        Usage(input_tokens=1),
        Usage(output_tokens=1),
        Usage(input_tokens=1, output_tokens=1, cached_tokens=2),
        Usage(input_tokens=3, output_tokens=1, cached_tokens=2, cache_write_tokens=2),
        Usage(input_tokens=-1, output_tokens=1),
        Usage(input_tokens=1, output_tokens=1, image_output_tokens=2),
    ],
)
def test_counts_that_are_missing_or_contradict_each_other_give_no_cost(usage: Usage | None) -> None:
    set_price("openai/my-model", input=1, output=1)

    assert cost("openai/gpt-4.1", usage) is None
    assert cost("openai/my-model", usage) is None
    assert cost(LocalModel(), usage) == Cost()


def test_only_what_is_free_for_certain_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "http://127.0.0.1:9/v1"
    free = [
        LocalModel(),
        OllamaModel("llama3.2"),
        VLLMModel("Qwen/Qwen3-8B", None, "http://10.0.0.7:8000/v1"),
        LegacyOpenAIModel("qwen3", None, here),
        LegacyOpenAIModel("openai/gpt-oss-20b", None, "http://localhost:9/v1"),
    ]
    unknown = [
        OllamaModel("gpt-oss:120b-cloud"),
        VLLMModel("Qwen/Qwen3-8B", None, "https://rented.example/v1"),
        LegacyOpenAIModel("gpt-4.1", None, here),  # a way to OpenAI
        LegacyOpenAIModel("anthropic/claude-haiku-4-5", None, here),
        LegacyOpenAIModel("qwen3", "a-key-of-a-gateway", here),
        LegacyOpenAIModel("qwen3", None, "http://gateway.internal/v1"),
        LegacyOpenAIModel("gpt-4.1", "k", "https://gateway.example/v1"),
        OfSomebody("m"),
    ]

    assert [cost(model, SMALL) for model in free] == [Cost()] * len(free)
    assert [cost(model, SMALL) for model in unknown] == [None] * len(unknown)
    monkeypatch.setenv("OPENAI_BASE_URL", here)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-mine-1234567890")
    assert cost("openai-chat/qwen3", SMALL) is None


def test_other_services_are_known_by_their_address() -> None:
    model = LegacyOpenAIModel("deepseek-chat", "k", "https://api.deepseek.com/v1")

    found = cost(model, SMALL, when=THEN)

    assert found is not None
    assert found.total > 0
    assert found != cost(LegacyOpenAIModel("gpt-4.1", "k"), SMALL)


def test_a_tier_has_its_price_and_one_that_has_none_is_not_known() -> None:
    flex = OpenAIModel("gpt-6-luna", "k", extra_body={"service_tier": "flex"})
    usual = cost("openai/gpt-6-luna", SMALL)
    assert usual is not None

    assert cost(flex, SMALL) == cost("openai/gpt-6-luna", SMALL, service_tier="flex")
    assert cost(flex, SMALL) is not None
    assert cost(flex, SMALL).total < usual.total  # type: ignore[union-attr]
    assert cost("openai/gpt-6-luna", SMALL, service_tier="auto") == usual
    assert cost("anthropic/claude-haiku-4-5", SMALL, service_tier="priority") is None


def test_a_price_that_was_set_goes_before_all_others() -> None:
    set_price("openai/gpt-4.1", input="1.5", output=3, cached_input=0, cache_write=2.0)
    usage = Usage(
        input_tokens=4_000_000,
        cached_tokens=1_000_000,
        cache_write_tokens=1_000_000,
        output_tokens=1,
    )

    for model in ("gpt-4.1", "openai:gpt-4.1", "openai-chat/gpt-4.1", OpenAIModel("GPT-4.1", "k")):
        found = cost(model, usage)
        assert found == Cost(input=Decimal(5), cached=Decimal(0), output=Decimal("0.000003"))
    forget_price("gpt-4.1")
    assert cost("gpt-4.1", MILLION) == Cost(input=Decimal(2), output=Decimal(8))


def test_a_price_can_be_set_for_any_model_whoever_wrote_it() -> None:
    set_price("custom/m", input=1, output=0)
    set_price("my-model", input=0, output=0)

    assert cost(OfSomebody("m"), MILLION) == Cost(input=Decimal(1))
    assert cost(LegacyOpenAIModel("my-model", "k", "https://x.example/v1"), None) == Cost()
    assert price_of("openai/my-model") == Price(input=Decimal(0), output=Decimal(0))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"input": -1, "output": 1}, "input is -1"),
        ({"input": "cheap", "output": 1}, "input is 'cheap'"),
        ({"input": True, "output": 1}, "input is True"),
        ({"input": float("nan"), "output": 1}, "input is nan"),
        ({"input": 1, "output": float("inf")}, "output is inf"),
        ({"input": 1, "output": [2]}, r"output is \[2\]"),
        ({"input": 1, "output": "1e999"}, "output is '1e999'"),
        ({"input": "", "output": 1}, "input is ''"),
        ({"input": None, "output": 1}, "no price for its input"),
    ],
)
def test_a_price_that_is_none_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(PriceError, match=said):
        set_price("openai/my-model", **values)

    assert cost("openai/my-model", SMALL) is None


def test_a_file_of_prices_is_read_and_read_again_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(
        {"OpenAI/My-Model": {"input": 1, "output": "2.50"}, "other": {"input": 0.1, "output": 0}}
    )
    path = prices_file(tmp_path / "prices.json", text, monkeypatch)

    assert cost("openai/my-model", MILLION) == Cost(input=Decimal(1), output=Decimal("2.5"))
    assert cost(OfSomebody("other"), MILLION) == Cost(input=Decimal("0.1"))
    path.write_text("\ufeff" + text.replace("2.50", "12.5"), "utf-8")
    assert cost("openai/my-model", MILLION) == Cost(input=Decimal(1), output=Decimal("12.5"))
    set_price("openai/my-model", input=3, output=3)
    assert cost("openai/my-model", MILLION) == Cost(input=Decimal(3), output=Decimal(3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "an object was expected"),
        ('{"openai/m": 3}', "'openai/m': 3; an object with input and output"),
        ('{"openai/m": {"input": 1}}', "'openai/m' has no price for its output"),
        ('{"openai/m": {"input": 1, "output": NaN}}', "output is nan"),
        ('{"openai/m": {"input": 1, "outputs": 2}}', "holds 'outputs'"),
        ('{"": {"input": 1, "output": 2}}', "'' is no model's name"),
    ],
)
def test_a_file_that_is_none_of_prices_is_said_and_no_cost_is_guessed(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    prices_file(tmp_path / "prices.json", text, monkeypatch)

    with pytest.raises(PriceError, match=said) as caught:
        price_of("openai/gpt-4.1")

    assert caught.value.fix
    assert cost("openai/gpt-4.1", SMALL) is None  # the answer is there: it must not be lost
    assert cost("openai/gpt-4.1", SMALL) is None
    assert cost(LocalModel(), SMALL) == Cost()
    assert len(caplog.records) == 1


def test_a_file_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tmp_path / "gone.json", tmp_path):
        monkeypatch.setenv("AGENTCELL_PRICES", str(place))
        with pytest.raises(PriceError, match="cannot be read"):
            price_of("gpt-4.1")


def test_a_provider_of_a_like_name_has_no_price_of_another() -> None:
    class Proxy(OfSomebody):
        provider = "my-openai-proxy"

    class Known(OfSomebody):
        provider = "deepseek"

    assert cost(Proxy("gpt-4.1"), SMALL) is None
    assert cost(Known("deepseek-chat"), SMALL) is not None


def test_costs_add_up_and_read_as_dollars() -> None:
    total = Cost(input=Decimal("0.01")) + Cost(cached=Decimal("0.002"), output=Decimal("0.5"))

    assert total.total == Decimal("0.512")
    assert str(total) == "$0.5120"
    assert [shown(Decimal(x)) for x in ("0", "0.00001", "0.0123", "1", "1234.5")] == [
        "$0.00",
        "< $0.0001",
        "$0.0123",
        "$1.00",
        "$1,234.50",
    ]


def test_prices_cost_nothing_until_asked_for_and_never_the_network() -> None:
    code = (
        "import sys, agentcell.adapters.pricing as p\n"
        "print('genai_prices' in sys.modules, 'httpx2' in sys.modules)\n"
        "from agentcell.adapters.events import Usage\n"
        "opened = []\n"
        "sys.addaudithook(lambda e, a: opened.append(e) if e.startswith('socket.') else None)\n"
        "print(p.cost('openai/gpt-4.1', Usage(input_tokens=1, output_tokens=1)) is not None)\n"
        "print('genai_prices' in sys.modules, opened)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.split("\n")[:3] == ["False False", "True", "True []"]


@pytest.mark.parametrize(
    ("kind", "server"),
    [
        (OpenAIModel, ResponsesServer),
        (LegacyOpenAIModel, ChatServer),
        (AnthropicModel, AnthropicServer),
        (GeminiModel, GeminiServer),
    ],
)
def test_each_provider_counts_in_its_own_way_and_the_cost_is_the_same(
    kind: type[Any], server: type[Any]
) -> None:
    set_price("my-model", input=1, output=10, cached_input="0.1")
    with server(Reply("Hi", usage=(1_000, 50, 200, 30))) as service:
        model = kind("my-model", "k", service.url)
        usage = model.invoke([{"role": "user", "content": "Hi"}])["usage"]

    assert cost(model, usage) == Cost(
        input=Decimal("0.0008"), cached=Decimal("0.00002"), output=Decimal("0.0005")
    )


def test_a_call_costs_what_was_recorded_else_what_it_costs_today() -> None:
    model = OpenAIModel("gpt-4.1", api_key="k")
    today = cost(model, MILLION)
    assert today is not None

    assert call_cost(model, MILLION, None) == today.total
    assert call_cost(model, MILLION, "0.25") == Decimal("0.25")
    assert call_cost(model, MILLION, "") is None  # nobody knew it then
    assert call_cost(model, None, None) is None
    assert call_cost(object(), MILLION, None) is None
