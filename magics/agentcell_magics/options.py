"""What the magics' lines may say. One table makes the parser, the help and the completions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentcell.errors import CellError
from agentcell_magics.line import Option, parse, shown

MAX_ROUNDS = 10
"""Rounds of tool calls that one answer may take, where the line says nothing."""

AGENT_OPTIONS = (
    Option(
        flags=("-m", "--model"),
        key="model",
        kind="text",
        value="MODEL",
        help="ask this model, for this cell only",
    ),
    Option(
        flags=("-a", "--attach"),
        key="attach",
        kind="pair",
        value="NAME=PATH_OR_URL",
        many=True,
        help="attach a file; without NAME= the file's own name is used",
    ),
    Option(
        flags=("-i", "--input"),
        key="fields",
        kind="pair",
        value='NAME="IMAGE:Receipt"',
        many=True,
        help="declare a field: its kind (TEXT, IMAGE, PDF, ANY) and its label",
    ),
    Option(
        flags=("-o", "--out", "--output"),
        key="output",
        kind="name",
        value="VAR",
        help="keep the answer in this variable",
    ),
    Option(
        flags=("-s", "--system"),
        key="system",
        kind="text",
        value="TEXT",
        help='instructions, from this cell on; -s "" ends them',
    ),
    Option(
        flags=("--skill",),
        key="skills",
        kind="text",
        value="DIR",
        many=True,
        help='the skill in this folder, from this cell on; --skill "" ends them',
    ),
    Option(
        flags=("--prompt",),
        key="prompt",
        kind="text",
        value="FILE",
        help="ask with this prompt file; NAME=VALUE fills its slots, images=PHOTO its images",
    ),
    Option(
        flags=("-T", "--tool"),
        key="tools",
        kind="text",
        value="NAME",
        many=True,
        help="a function, method or McpServer that the model may call",
    ),
    Option(
        flags=("--approve",),
        key="approve",
        kind="choice",
        value="ask|run|refuse",
        choices=("ask", "run", "refuse", "always", "never"),
        help="ask you before each call, run all unasked, or run none; see below",
    ),
    Option(
        flags=("--max-rounds",),
        key="max_rounds",
        kind="count",
        value="N",
        help=f"how many rounds of tool calls there may be ({MAX_ROUNDS}, if not given)",
    ),
    Option(
        flags=("--schema",),
        key="schema",
        kind="text",
        value="VAR",
        help="answer by this class or JSON schema; the object goes into -o VAR",
    ),
    Option(
        flags=("--each",),
        key="each",
        kind="text",
        value="DF",
        help="ask about each row: {column} is the row's value; the DataFrame goes into --out VAR",
    ),
    Option(
        flags=("--workers",),
        key="workers",
        kind="count",
        value="N",
        help="with --each: how many rows are asked about at once (8, if not given)",
    ),
    Option(
        flags=("--journal",),
        key="journal",
        kind="text",
        value="FILE",
        help="with --each: a file of finished rows, which are never asked about again",
    ),
    Option(
        flags=("--provider-batch",),
        key="at_provider",
        kind="flag",
        help="with --each: by the provider's batch service, which may take a day and cost half",
    ),
    Option(
        flags=("--async",),
        key="in_background",
        kind="flag",
        help="answer in the background; the cell's result is a handle to wait for, or cancel",
    ),
    Option(
        flags=("-t", "--temperature"),
        key="temperature",
        kind="number",
        value="0.2",
        help="how freely the model may choose its words",
    ),
    Option(
        flags=("--max-tokens",),
        key="max_tokens",
        kind="count",
        value="N",
        help="the longest answer, in tokens",
    ),
    Option(
        flags=("--detail",),
        key="detail",
        kind="choice",
        value="LEVEL",
        choices=("auto", "high", "original"),
        help="how closely this cell's images are looked at: large ones scaled down (auto, high), or"
        " not (original)",
    ),
    Option(
        flags=("--pdf-as",),
        key="pdf_as",
        kind="choice",
        value="FORM",
        choices=("pdf", "images", "text"),
        help="send this cell's PDFs as they are, as images of their pages, or as their text",
    ),
    Option(
        flags=("-c", "--conversation"),
        key="conversation",
        kind="text",
        value="NAME",
        help="the conversation that this cell belongs to (main, if not given)",
    ),
    Option(
        flags=("--fresh",),
        key="fresh",
        kind="flag",
        help="start the conversation over with this cell",
    ),
    Option(
        flags=("-n", "--dry-run"),
        key="dry_run",
        kind="flag",
        help="show what would be sent, and send nothing",
    ),
    Option(
        flags=("-q", "--quiet"),
        key="quiet",
        kind="flag",
        help="show the answer alone: no attachments, no footer",
    ),
    Option(
        flags=("--no-quiet",),
        key="no_quiet",
        kind="flag",
        help="show all of it, where %config AgentMagics.quiet says otherwise",
    ),
    Option(
        flags=("-v", "--verbose"),
        key="verbose",
        kind="flag",
        help="show the request as it is sent, with files as digests; %agent -v: the last one",
    ),
)

VIEW_OPTIONS = (
    Option(
        flags=("--detail",),
        key="detail",
        kind="choice",
        value="LEVEL",
        choices=("auto", "high", "original"),
        help="how closely the model looks: up to 1568 pixels (auto), up to 2048 (high), or all",
    ),
    Option(
        flags=("--as",),
        key="name",
        kind="name",
        value="NAME",
        help="the field's name, which begins the tag",
    ),
    Option(
        flags=("--label",),
        key="label",
        kind="text",
        value="TEXT",
        help="what the tag says about it",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What the first line of a `%%agent` cell says.

    Parameters
    ----------
    attach
        Names and paths or addresses, in the order given; a name may be empty.
    fields
        Declarations by name, as typed.
    settings
        ``temperature`` and ``max_tokens``, where given.
    slots
        Names and values for a prompt file, as typed, in the order given.
    """

    model: str | None = None
    attach: tuple[tuple[str, str], ...] = ()
    fields: dict[str, str]
    output: str | None = None
    system: str | None = None
    settings: dict[str, Any]
    detail: str | None = None
    pdf_as: str | None = None
    conversation: str | None = None
    fresh: bool = False
    dry_run: bool = False
    quiet: bool | None = None
    verbose: bool = False
    tools: tuple[str, ...] = ()
    approve: str | None = None
    max_rounds: int = MAX_ROUNDS
    schema: str | None = None
    skills: tuple[str, ...] = ()
    in_background: bool = False
    each: str | None = None
    workers: int | None = None
    journal: str | None = None
    at_provider: bool = False
    prompt: str | None = None
    slots: tuple[tuple[str, str], ...] = ()


def agent_options(line: str) -> AgentOptions:
    """Return what `line` says.

    Raises
    ------
    CellError
        If it cannot be read; see `parse`.
    """
    from agentcell.prompts.fields import looks_like_modality

    plain, found = parse(line, AGENT_OPTIONS, "%%agent")
    plain = _without_slots(plain, found)
    if plain and "model" in found:
        raise CellError(
            f"The model is given twice: {shown(plain[0])} and {shown(found['model'])}.",
            fix="keep one.",
        )
    if len(plain) > 1:
        raise CellError(
            f"%%agent takes one model before its options, but {len(plain)} words were given:"
            f" {shown(' '.join(plain))}",
            fix="write the question below the line; put quotes round a value with blanks.",
        )
    fields = found.pop("fields", [])
    names = [name for name, _ in fields]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise CellError(f"-i declares {shown(doubled[0])} twice.", fix="keep one of them.")
    for name, raw in fields:
        if hint := looks_like_modality(raw):
            raise CellError(
                f'-i {shown(name)}="{shown(raw)}": {hint}.',
                fix=f'write for example -i {shown(name)}="IMAGE:…".',
            )
    settings: dict[str, Any] = {
        key: found.pop(key) for key in ("temperature", "max_tokens") if key in found
    }
    if plain:
        found["model"] = plain[0]
    _take_no_quiet(found)
    if "conversation" in found:
        found["conversation"] = " ".join(found["conversation"].split())
        if not found["conversation"]:
            raise CellError("-c needs a name that is not blank.", fix="write for example -c taxes.")
    for key in ("tools", "skills"):
        found[key] = tuple(found.pop(key, ()))
    return AgentOptions(
        fields=dict(fields), settings=settings, attach=tuple(found.pop("attach", ())), **found
    )


def _without_slots(plain: list[str], found: dict[str, Any]) -> list[str]:
    """Return the plain words but for those that fill a prompt file's slots; keep these."""
    if "prompt" not in found:
        if word := next((one for one in plain if _slot(one) is not None), None):
            raise CellError(
                f"{shown(word)} fills a slot of a prompt file, but no --prompt names one.",
                fix="write --prompt FILE, or put -a before it to attach a file.",
            )
        return plain
    found["slots"] = tuple(slot for word in plain if (slot := _slot(word)) is not None)
    return [word for word in plain if _slot(word) is None]


def _slot(word: str) -> tuple[str, str] | None:
    """Return the name and the value of ``NAME=VALUE``; None for any other word."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name.isidentifier() else None


def _take_no_quiet(found: dict[str, Any]) -> None:
    if found.pop("no_quiet", False):
        if "quiet" in found:
            raise CellError("-q and --no-quiet are both given.", fix="keep one of them.")
        found["quiet"] = False
