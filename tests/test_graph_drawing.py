"""A graph and its runs as a reader sees them: Markdown with a diagram, or lines of text."""

from __future__ import annotations

import pytest
from IPython.core.formatters import DisplayFormatter

from agentcell import Agent, NodeTemplate, RootGraph
from agentcell.agents.graph.drawing import run_bundle
from agentcell.agents.graph.run import GraphRun
from agentcell.errors import ServiceError
from agentcell.testing.fake_model import FakeModel
from hostile import HOSTILE

EDGES = [
    ("entry", "find", {"photo": "IMAGE:Photo", "query": "The question"}),
    ("find", "end", {"facts": "What is known"}),
    ("end", "exit", {"answer": "The answer"}),
]


def graph_of(model: FakeModel) -> RootGraph:
    base = NodeTemplate(Agent, model=model)
    return RootGraph("g", nodes=[("find", base()), ("end", base())], edges=EDGES)


def test_a_graph_is_a_diagram_in_markdown_and_lines_in_text() -> None:
    bundle, _ = DisplayFormatter().format(graph_of(FakeModel()).build())

    assert bundle["text/markdown"].splitlines() == [
        "```mermaid",
        "flowchart LR",
        '  n0(["entry"])',
        '  n1["find<br/>fake/model"]',
        '  n2["end<br/>fake/model"]',
        '  n3(["exit"])',
        '  n0 -->|"photo #40;IMAGE#41;, query"| n1',
        '  n1 -->|"facts"| n2',
        '  n2 -->|"answer"| n3',
        "```",
    ]
    assert bundle["text/plain"].splitlines() == [
        "entry ──photo (IMAGE), query──▶ find",
        "find ──facts──▶ end",
        "end ──answer──▶ exit",
    ]
    assert "text/html" not in bundle


def test_a_graph_that_is_not_built_is_shown_as_such() -> None:
    bundle, _ = DisplayFormatter().format(graph_of(FakeModel()))

    assert bundle == {"text/plain": "RootGraph('g', 2 nodes, 3 edges, not built)"}


def test_a_run_colours_its_nodes_and_tells_their_tokens() -> None:
    from agent_kit import red

    model = FakeModel('{"facts": "a"}', '{"answer": "b"}')
    run = graph_of(model).build().invoke({"photo": red(), "query": "?"})
    bundle, _ = DisplayFormatter().format(run)

    assert "  class n1,n2 s0" in bundle["text/markdown"]
    assert "| find | ✓ done |" in bundle["text/markdown"]
    assert bundle["text/plain"].splitlines()[-1] == "answer: b"
    assert bundle["text/plain"].startswith("✓ find")


def test_a_run_shows_what_came_out_and_none_of_it_reaches_the_page() -> None:
    said = "It is **red**.\n\n<img src=x onerror=alert(1)>\n\n```\nprint('left open"
    output = {"answer": said, "next": "Yes.", "score": [1, "<b>"], "long": "x" * 100_000}
    markdown = run_bundle(GraphRun(output, {}))["text/markdown"]

    assert "**answer**\n\nIt is **red**." in markdown
    assert "<img" not in markdown
    assert "<b>" not in markdown
    assert "\n```\n\n**next**\n\nYes.\n" in markdown  # the fence that was left open is closed
    assert "**score**: " in markdown
    assert len(markdown) < 10_000


def test_a_run_that_failed_shows_where() -> None:
    from agent_kit import red

    model = FakeModel('{"facts": "a"}', ServiceError("It broke."))
    graph = graph_of(model).build()

    with pytest.raises(ServiceError) as caught:
        graph.invoke({"photo": red(), "query": "?"})
    markdown = caught.value.graph_run._repr_mimebundle_()["text/markdown"]  # type: ignore[attr-defined]

    assert "  class n1 s0" in markdown
    assert "  class n2 s1" in markdown
    assert "| end | ✗ failed |" in markdown


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_key_stays_a_label(text: str) -> None:
    key = text or "x"
    base = NodeTemplate(Agent, model=FakeModel())
    edges = [("entry", "a", {key: ""}), ("a", "exit", {"k": ""})]
    bundle = RootGraph("g", nodes=[("a", base())], edges=edges).build()._repr_mimebundle_()

    lines = bundle["text/markdown"].splitlines()
    assert len(lines) == 8
    label = lines[5].removeprefix("  n0 -->").removesuffix(" n1").removeprefix('|"')
    label = label.removesuffix('"|')
    assert not set('"<>`|[]{}()&\\') & set(label)
    assert "\x1b" not in bundle["text/plain"]
