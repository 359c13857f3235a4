"""A graph, or a run of it → a Mermaid diagram in Markdown, and lines of text elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentcell.adapters.price_table import shown
from agentcell.agents.graph.edges import ENTRY, EXIT, Edge
from agentcell.agents.graph.run import GraphRun, NodeRun
from agentcell.markdown_code import open_fence
from agentcell.modality import FieldModality
from agentcell.safe_text import as_literal, plain, safe_markdown, shortened

_LONGEST = 60
"""Characters of a label that are drawn."""

_LONGEST_ANSWER = 8_000
"""Characters of a value that came out; a saved notebook stays small, the run holds all."""

_CLASSES = {
    "done": "fill:#e6f4ea,stroke:#137333,color:#202124",
    "failed": "fill:#fce8e6,stroke:#c5221f,color:#202124",
    "stopped": "fill:#fef7e0,stroke:#b06000,color:#202124",
    "not run": "fill:#f1f3f4,stroke:#80868b,color:#5f6368,stroke-dasharray:4",
}
"""How a node is drawn after a run: dark letters on pale grounds, for light and dark pages."""

_MARKS = {"done": "✓", "failed": "✗", "stopped": "■", "not run": "–"}

_ENTITIES = {ord(sign): f"#{ord(sign)};" for sign in '"#&<>`|[]{}()\\'}
"""Mermaid writes a character so, by its number; then it is no part of the diagram's language."""


def graph_bundle(edges: Sequence[Edge], notes: Mapping[str, str]) -> dict[str, str]:
    """Return a graph as Markdown and as text.

    Parameters
    ----------
    edges
        All its edges.
    notes
        What stands below a node's name, for example its model.
    """
    diagram = _diagram(edges, notes, {})
    return {"text/markdown": diagram, "text/plain": "\n".join(map(_line, edges))}


def run_bundle(run: GraphRun) -> dict[str, str]:
    """Return a run as Markdown and as text.

    The Markdown is the coloured diagram, a table of tokens and dollars, and what came out.

    Parameters
    ----------
    run
        What came of the graph.
    """
    status = {node.name: node.status for node in run.nodes}
    rows = [_row(node) for node in run.nodes]
    head = "| node | | tokens in | tokens out | cost |\n|---|---|---|---|---|"
    table = "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])
    text = [f"{_MARKS[node.status]} {' · '.join(_facts(node))}" for node in run.nodes]
    answers = [f"{plain(key)}: {plain(str(value))}" for key, value in run.output.items()]
    shown_answers = [_answer(key, value) for key, value in run.output.items()]
    return {
        "text/markdown": "\n\n".join([_diagram(run.edges, {}, status), table, *shown_answers]),
        "text/plain": "\n".join([*text, *answers]),
    }


def _answer(key: str, value: object) -> str:
    """Return one value that came out; a text may be a model's, which writes Markdown."""
    text = shortened(str(value), _LONGEST_ANSWER)
    if not isinstance(value, str):
        return f"**{as_literal(key)}**: {as_literal(text)}"
    if fence := open_fence(text):
        text = f"{text}\n{fence}"
    return f"**{as_literal(key)}**\n\n{safe_markdown(text)}"


def _diagram(edges: Sequence[Edge], notes: Mapping[str, str], status: Mapping[str, str]) -> str:
    names = list(dict.fromkeys(end for edge in edges for end in (edge.sender, edge.receiver)))
    ids = {name: f"n{number}" for number, name in enumerate(names)}
    lines = ["```mermaid", "flowchart LR"]
    for name in names:
        if name in (ENTRY, EXIT):
            lines.append(f'  {ids[name]}(["{name}"])')
        else:
            note = f"<br/>{_label(notes[name])}" if notes.get(name) else ""
            lines.append(f'  {ids[name]}["{_label(name)}{note}"]')
    for edge in edges:
        keys = _label(_keys(edge))
        arrow = f'-->|"{keys}"|' if keys else "-->"
        lines.append(f"  {ids[edge.sender]} {arrow} {ids[edge.receiver]}")
    for number, (kind, style) in enumerate(_CLASSES.items()):
        drawn = [ids[name] for name in names if status.get(name) == kind]
        if drawn:
            lines += [f"  classDef s{number} {style}", f"  class {','.join(drawn)} s{number}"]
    return "\n".join([*lines, "```"])


def _label(text: str) -> str:
    flat = " ".join(plain(text).split())
    flat = flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
    return flat.translate(_ENTITIES)


def _keys(edge: Edge) -> str:
    def one(key: str) -> str:
        kind = edge.keys[key].modality
        return key if kind in (FieldModality.ANY, FieldModality.TEXT) else f"{key} ({kind})"

    return ", ".join(one(key) for key in edge.keys)


def _line(edge: Edge) -> str:
    keys = plain(_keys(edge))
    return f"{edge.sender} ──{keys}──▶ {edge.receiver}" if keys else f"{edge}"


def _row(node: NodeRun) -> list[str]:
    usage = node.usage
    counts = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    tokens = ["" if count is None else f"{count:,}" for count in counts]
    price = "" if node.cost is None else shown(node.cost).replace("$", "\\$")
    return [node.name, f"{_MARKS[node.status]} {node.status}", *tokens, price]


def _facts(node: NodeRun) -> list[str]:
    facts = [node.name]
    if node.usage is not None:
        into, out = node.usage.input_tokens or 0, node.usage.output_tokens or 0
        facts.append(f"{into:,} tokens in, {out:,} out")
    if node.cost is not None:
        facts.append(shown(node.cost))
    return facts
