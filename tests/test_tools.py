"""Python functions as tools."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest

from agent_kit import png, red
from agentcell.agents.calls import acall, call
from agentcell.agents.tools import Hidden, Tool, as_tool, named_tools, tool
from agentcell.errors import Stopped, ToolError
from agentcell.messages import MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.prompts.tags import TagRegistry


class Unit(Enum):
    EURO = "EUR"
    DOLLAR = "USD"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Shop(pydantic.BaseModel):
    name: str
    points: list[Point] = []


def google(a: int, b: str = "x") -> str:
    """Join two things.

    More about it.

    Args:
        a (int): the first,
            on two lines
        b: the second

    Returns:
        Both.
    """
    return f"{a}{b}"


def numpy_style(a: int, b: str = "x") -> str:
    """Join two things.

    More about it.

    Parameters
    ----------
    a
        the first,
        on two lines
    b : str
        the second

    Returns
    -------
    str
        Both.
    """
    return f"{a}{b}"


def sphinx(a: int, b: str = "x") -> str:
    """Join two things.

    More about it.

    :param a: the first,
        on two lines
    :param str b: the second
    :returns: Both.
    """
    return f"{a}{b}"


@pytest.mark.parametrize("function", [google, numpy_style, sphinx])
def test_signature_and_docstring_make_the_schema(function: Any) -> None:
    made = as_tool(function)

    assert made.schema() == {
        "name": function.__name__,
        "description": "Join two things.\n\nMore about it.",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "the first, on two lines"},
                "b": {"type": "string", "description": "the second", "default": "x"},
            },
            "required": ["a"],
        },
    }


def run(function: Any, **arguments: Any) -> Any:
    return call(as_tool(function), ToolCall("1", "f", arguments))


def test_rich_types_are_told_checked_and_built() -> None:
    seen: dict[str, Any] = {}

    def order(
        unit: Unit,
        kind: Literal["a", "b"],
        at: Point,
        shop: Shop,
        tags: list[str] | None = None,
        count: Annotated[int, "how many"] = 1,
        size: Annotated[float, pydantic.Field(ge=0, description="in metres")] = 1.0,
        pair: tuple[int, str] = (1, "x"),
        **more: Any,
    ) -> str:
        seen.update(locals())
        return "ok"

    schema = as_tool(order).parameters
    properties = schema["properties"]
    answer = run(
        order, unit="EUR", kind="b", at={"x": "3"}, shop={"name": "s", "points": [{"x": 1}]}
    )

    assert answer == "ok"
    assert (seen["unit"], seen["at"], seen["shop"].points) == (Unit.EURO, Point(3), [Point(1)])
    assert seen["pair"] == (1, "x")
    assert properties["kind"]["enum"] == ["a", "b"]
    assert properties["count"]["description"] == "how many"
    assert properties["size"] == {
        "type": "number",
        "minimum": 0,
        "description": "in metres",
        "default": 1.0,
    }
    assert schema["$defs"]["Unit"]["enum"] == ["EUR", "USD"]
    assert schema["required"] == ["unit", "kind", "at", "shop"]
    assert "more" not in properties
    assert '"title"' not in json.dumps(schema)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, "a: Field required"),
        ({"a": "one"}, "a: Input should be a valid integer"),
        ({"a": 1, "c": 2}, "c: Extra inputs are not permitted"),
        ({"a": {"b": 1}}, "a: "),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(
    arguments: dict[str, Any], part: str
) -> None:
    answer = run(google, **arguments)

    assert answer.startswith("Error: The arguments of 'google' cannot be used")
    assert part in answer


def test_arguments_that_are_no_json_are_told_to_the_model() -> None:
    answer = call(as_tool(google), ToolCall("1", "google", {}, '{"a": 1'))

    assert isinstance(answer, str)
    assert "are no JSON object" in answer


def test_an_exception_is_told_to_the_model_without_a_stack() -> None:
    def broken() -> str:
        raise KeyError("x" * 10_000)

    answer = run(broken)

    assert answer.startswith("Error: KeyError: ")
    assert "Traceback" not in answer
    assert len(answer) <= 2_000


def test_an_interrupt_is_no_result() -> None:
    def stopped() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped)


def test_parameters_named_like_pydantics_own_work() -> None:
    def f(json: str, model_config: int, schema: str = "s", copy: bool = True) -> str:
        return f"{json} {model_config} {schema} {copy}"

    assert run(f, json="j", model_config=2, copy=False) == "j 2 s False"


class Connection:
    def ask(self) -> str:
        return "rows"


def test_hidden_parameters_are_not_told_and_are_given_by_the_caller() -> None:
    def look(table: str, db: Annotated[Connection, Hidden], _limit: int = 5) -> str:
        return f"{table} {db.ask()} {_limit}"

    made = tool(look).bind(db=Connection())

    assert list(made.parameters["properties"]) == ["table"]
    assert call(made, ToolCall("1", "look", {"table": "t"})) == "t rows 5"
    assert "not permitted" in str(call(made, ToolCall("1", "look", {"table": "t", "db": 1})))
    with pytest.raises(ToolError, match="needs a value for its hidden parameter 'db'"):
        as_tool(look)
    with pytest.raises(ToolError, match="no hidden parameter 'x'"):
        made.bind(x=1)


def test_hidden_parameters_can_be_named_when_the_tool_is_made() -> None:
    @tool(name="look_up", hidden={"db": Connection()})
    def look(table: str, db: Connection) -> str:
        """Look something up."""
        return table + db.ask()

    assert (look.name, look.description) == ("look_up", "Look something up.")
    assert call(look, ToolCall("1", "look_up", {"table": "t"})) == "trows"
    assert look(table="u") == "urows"
    with pytest.raises(ToolError, match="no parameter 'dbb' to hide"):
        tool(hidden=["dbb"])(google)


def test_a_parameter_that_cannot_be_told_is_an_error_when_the_tool_is_made() -> None:
    def look(db: Connection) -> str:
        return db.ask()

    with pytest.raises(ToolError, match="'look' cannot be told to a model"):
        tool(look)


@pytest.mark.parametrize("value", [5, "google", None])
def test_what_is_no_function_is_no_tool(value: Any) -> None:
    with pytest.raises(ToolError, match="a function was expected"):
        as_tool(value)


def test_a_tool_has_a_name_that_services_take() -> None:
    with pytest.raises(ToolError, match="1 to 64 of A-Z"):
        as_tool(lambda x: x)
    with pytest.raises(ToolError, match="Two tools are named 'google'"):
        named_tools([google, google])


class Shelf:
    def __init__(self) -> None:
        self.books = ["a"]

    def find(self, word: str) -> list[str]:
        """Find books."""
        return [book for book in self.books if word in book]

    def __call__(self, n: int) -> int:
        """Count up."""
        return n + 1


def test_methods_partials_and_callable_objects_are_tools() -> None:
    def power(base: int, exponent: int) -> int:
        return int(base**exponent)

    square = tool(name="square")(functools.partial(power, exponent=2))

    assert run(Shelf().find, word="a") == '[\n  "a"\n]'
    assert list(square.parameters["properties"]) == ["base"]
    assert call(square, ToolCall("1", "square", {"base": 3})) == "9"
    assert as_tool(Shelf()).schema()["description"] == "Count up."
    assert run(Shelf(), n=1) == "2"


def test_positional_only_parameters_are_filled_by_place() -> None:
    def f(a: int, b: int = 3, /, c: int = 4) -> int:
        return a * 100 + b * 10 + c

    assert run(f, a=1, c=2) == "132"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("s", "s"),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        ({"b": 1, "a": "é"}, '{\n  "a": "é",\n  "b": 1\n}'),
    ],
)
def test_results_become_text(result: Any, text: str) -> None:
    def f() -> Any:
        return result

    assert run(f) == text


def test_a_result_may_be_an_attachment() -> None:
    def picture() -> Any:
        return red()

    content = run(picture)

    assert [type(block) for block in content] == [
        TextMessageBlock,
        MediaMessageBlock,
        TextMessageBlock,
    ]
    assert content[1].asset == red()
    assert content[2].text == content[1].tag == "[picture_1 image.png]"
    tags = TagRegistry()
    tags.adopt("[x_1 d]", red())
    assert call(as_tool(picture), ToolCall("1", "picture", {}), tags) == "[x_1 d]"


def test_a_result_of_bytes_is_an_attachment_or_an_error() -> None:
    def picture() -> bytes:
        return png(1, 2, 3)

    def noise() -> bytes:
        return b"\x00\x01\x02"

    assert run(picture)[1].asset.mime_type == "image/png"
    assert "no image or PDF" in run(noise)


def test_a_result_without_text_is_told_and_not_printed() -> None:
    def f() -> object:
        return Connection()

    answer = run(f)

    assert answer.startswith("Error: ")
    assert "0x" not in answer


def test_async_tools_run_from_both_worlds() -> None:
    async def slow(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    def plain(n: int) -> int:
        return n + 2

    assert run(slow, n=1) == "2"
    assert asyncio.run(acall(as_tool(slow), ToolCall("1", "slow", {"n": 1}))) == "2"
    assert asyncio.run(acall(as_tool(plain), ToolCall("1", "plain", {"n": 1}))) == "3"


def test_a_tool_of_ones_own_schema_takes_what_the_model_sends() -> None:
    made = Tool("f", "d", {"type": "object", "properties": {}}, lambda **given: sorted(given))

    assert call(made, ToolCall("1", "f", {"b": 1, "a": 2})) == '[\n  "a",\n  "b"\n]'
    assert len(repr(made)) < 300


def test_defaults_of_pydantics_own_are_used_as_such() -> None:
    def f(
        n: int = pydantic.Field(3, ge=1, description="how many"),
        words: list[str] = pydantic.Field(default_factory=lambda: ["a"]),  # noqa: B008
    ) -> str:
        return f"{n} {words}"

    made = as_tool(f)

    assert run(f) == "3 ['a']"
    assert run(f, n=5) == "5 ['a']"
    assert "greater than or equal to 1" in run(f, n=0)
    assert made.parameters["properties"]["n"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
        "default": 3,
    }
    assert "required" not in made.parameters


def test_only_the_parameters_types_need_be_known() -> None:
    def f(n: int) -> Unknown:  # type: ignore[name-defined]  # noqa: F821
        return n

    def g(n: Unknown) -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(n)

    assert run(f, n=1) == "1"
    with pytest.raises(ToolError, match="not known here: name 'Unknown'"):
        as_tool(g)


def test_a_decorated_function_keeps_its_signature() -> None:
    def loud(inner: Any) -> Any:
        @functools.wraps(inner)
        def outer(*args: Any, **kwargs: Any) -> Any:
            return inner(*args, **kwargs).upper()

        return outer

    assert run(loud(google), a=1) == "1X"
    assert list(as_tool(loud(google)).parameters["properties"]) == ["a", "b"]


class Till:
    """A shop's till, with a method that is a tool."""

    def __init__(self, total: int) -> None:
        self.total = total

    @tool(hidden={"db": Connection()}, needs_approval=True)
    def pay(self, sum_: int, db: Connection) -> str:
        """Pay at this till."""
        return f"{self.total + sum_} {db.ask()}"

    google = tool(google)


def test_a_decorated_method_is_the_tool_of_its_object() -> None:
    till = Till(40)

    made = as_tool(till.pay)

    assert list(made.parameters["properties"]) == ["sum_"]
    assert (made.name, made.description, made.needs_approval) == ("pay", "Pay at this till.", True)
    assert call(made, ToolCall("1", "pay", {"sum_": 2})) == "42 rows"
    assert till.pay(2) == "42 rows"
    assert call(till.google, ToolCall("1", "google", {"a": 1})) == "1x"


def test_one_function_is_enough_for_a_list_of_tools() -> None:
    assert list(named_tools(google)) == ["google"]
    assert list(named_tools(as_tool(google))) == ["google"]


@pytest.mark.parametrize("kind", [int, dict])
def test_what_does_not_say_its_parameters_is_no_tool(kind: type) -> None:
    with pytest.raises(ToolError, match="does not say which parameters"):
        as_tool(kind)


class Counter:
    step = 10

    @tool
    @classmethod
    def up(cls, by: int) -> int:
        return cls.step + by


class Faster(Counter):
    step = 100


def test_a_decorated_class_method_is_the_tool_of_its_class() -> None:
    for owner, total in ((Counter, 11), (Counter(), 11), (Faster, 101)):
        bound = owner.up

        assert list(bound.parameters["properties"]) == ["by"]
        assert call(bound, ToolCall("1", "up", {"by": 1})) == str(total)


def test_a_result_may_be_a_picture_a_figure_or_a_table_of_another_library() -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (3, 2))
    frame = pytest.importorskip("pandas").DataFrame({"total": [42]})
    figure = pytest.importorskip("matplotlib.figure").Figure()
    numpy = pytest.importorskip("numpy")

    def shown(result: Any) -> Any:
        def f() -> Any:
            return result

        return run(f)

    for picture in (image, figure, {"chart": figure}, numpy.zeros((4, 5, 3), "uint8")):
        assert isinstance(shown(picture)[1], MediaMessageBlock)
    assert shown(frame) == "| total |\n| ---: |\n| 42 |"
    assert json.loads(shown(numpy.arange(3))) == [0, 1, 2]
    assert json.loads(shown({"a": numpy.float64(1.5)})) == {"a": 1.5}
    assert "10,001 numbers" in shown(numpy.zeros(10_001))


def test_a_path_that_a_tool_returns_is_its_name_and_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(1, 2, 3))

    def f() -> Path:
        return tmp_path / "a.png"

    assert run(f) == str(tmp_path / "a.png")


class Steps:
    def __call__(self) -> Any:
        yield 1


async def _later() -> Any:
    yield 1


@pytest.mark.parametrize(
    "function", [Steps(), _later, functools.partial(_later), functools.partial(Steps())]
)
def test_what_yields_is_no_tool(function: Any) -> None:
    with pytest.raises(ToolError, match="yields what it has; a tool returns it"):
        named_tools([function])


def test_a_method_without_its_object_is_no_tool() -> None:
    class Till:
        def total(self, tax: float) -> float:
            return 1 + tax

        @staticmethod
        def limit(euros: int) -> int:
            return euros

    assert set(named_tools([Till().total, Till.limit])) == {"total", "limit"}
    with pytest.raises(ToolError, match="'total' is a method, and no object was given"):
        named_tools([Till.total])


@pytest.mark.parametrize(
    ("hint", "shown"),
    [(3, "3"), ([1], "[1]"), (TagRegistry, "TagRegistry"), (list[TagRegistry], "TagRegistry")],
)
def test_a_parameter_of_a_strange_type_is_named_with_its_type(hint: Any, shown: str) -> None:
    def strange(fine: int, odd: Any) -> None: ...

    strange.__annotations__ = {"fine": int, "odd": hint}
    with pytest.raises(ToolError, match="Parameter 'odd' of tool 'strange'") as caught:
        tool(strange)
    assert shown in caught.value.problem
    assert "\n" not in caught.value.problem


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Odd(BaseException): ...


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (Wordless(), "Error: Wordless"),
        (Odd("why"), "Error: Odd: why"),
        (GeneratorExit(), "Error: GeneratorExit"),
        (SystemExit(3), "Error: SystemExit: 3"),
        (StopIteration(1), "Error: StopIteration: 1"),
        (asyncio.CancelledError(), "Error: CancelledError"),
    ],
)
def test_whatever_a_tool_raises_is_told_to_the_model(raised: BaseException, told: str) -> None:
    @tool
    def fail() -> None:
        raise raised

    assert call(fail, ToolCall("1", "fail", {})) == told


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3)])
def test_an_async_tool_cannot_end_the_loop_that_all_share(raised: BaseException) -> None:
    @tool
    async def fail() -> None:
        raise raised

    @tool
    async def work() -> int:
        return 7

    said = call(fail, ToolCall("1", "fail", {}))
    assert f"The function ended with {type(raised).__name__}" in str(said)
    assert call(work, ToolCall("2", "work", {})) == "7"
    assert "ended with" in str(asyncio.run(acall(fail, ToolCall("3", "fail", {}))))


def test_a_question_that_was_stopped_inside_of_a_tool_stops_the_outer_one() -> None:
    @tool
    def ask_another() -> None:
        raise Stopped("after 0.1 s, as you asked.")

    with pytest.raises(KeyboardInterrupt):
        call(ask_another, ToolCall("1", "ask_another", {}))
