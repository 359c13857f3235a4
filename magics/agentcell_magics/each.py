"""`%%agent --each`: a cell's question about each row of a table → a DataFrame with the answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcell.adapters.recording import RecordingModel
from agentcell.agents.batch_work import PromptWork, check_braces
from agentcell.assets.wording import a_type
from agentcell.batch import BatchResult
from agentcell.batch.rows import columns_of
from agentcell.errors import BatchStopped, CellError, Stopped
from agentcell.prompts.template import find_slots, near_miss
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.attach import attached
from agentcell_magics.each_display import EachDisplay, dry_run
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.named import rows_named, schema_named
from agentcell_magics.options import MAX_ROUNDS, AgentOptions
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_NOT_WITH_EACH: Mapping[str, tuple[str, Callable[[AgentOptions], bool]]] = {
    "-T": ("tools", lambda options: bool(options.tools)),
    "--approve": ("calls of tools", lambda options: options.approve is not None),
    "--max-rounds": ("rounds of tools", lambda options: options.max_rounds != MAX_ROUNDS),
    "--skill": ("skills", lambda options: bool(options.skills)),
    "--async": ("the background", lambda options: options.in_background),
    "--prompt": ("a prompt file", lambda options: options.prompt is not None),
    "-c": ("a conversation", lambda options: options.conversation is not None),
    "-v": ("the request", lambda options: options.verbose),
}
"""Options that mean nothing where each row is asked about by itself."""

_MOST_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the rows are, and what the text may name.

    Parameters
    ----------
    rows
        A DataFrame, or a list of mappings.
    columns
        The names of its columns.
    """

    rows: Any
    columns: tuple[str, ...]


def check_each(options: AgentOptions) -> None:
    """Refuse options that do not go with `--each`, or are for it alone.

    Raises
    ------
    CellError
        Naming the first.
    """
    if options.each is None:
        alone = {
            "--journal": options.journal,
            "--workers": options.workers,
            "--provider-batch": options.at_provider,
        }
        if given := next((flag for flag, value in alone.items() if value), None):
            raise CellError(
                f"{given} is for many rows, but no --each names them.",
                fix=f"write for example --each df --out answers {given} …, or take it out.",
            )
        return
    for flag, (what, is_given) in _NOT_WITH_EACH.items():
        if is_given(options):
            raise CellError(
                f"--each asks about every row by itself; {flag} ({what}) does not go with it.",
                fix=f"take {flag} out, or use Agent.map in Python.",
            )
    if not options.output:
        raise CellError(
            "--each makes a DataFrame, and no variable is named for it.",
            fix=f"write for example --each {shown(options.each)} --out answers.",
        )
    if options.fresh and options.journal:
        raise CellError(
            "--fresh asks about all rows anew, and --journal keeps answers so that none is.",
            fix="keep one of them, or name another file.",
        )
    if options.at_provider and options.workers:
        raise CellError(
            "--workers is for asking from here; with --provider-batch the service decides.",
            fix="keep one of them.",
        )


def table_named(name: str, variables: Mapping[str, Any]) -> Table:
    """Return what `--each` names.

    Raises
    ------
    CellError
        If there is no such variable, or it is no table.
    """
    rows = rows_named(name, variables)
    is_frame = hasattr(rows, "columns") and hasattr(rows, "__len__")
    is_list = isinstance(rows, (list, tuple)) and all(isinstance(row, Mapping) for row in rows)
    if is_frame or is_list:
        names = columns_of(rows) or ()
        return Table(rows=list(rows) if is_list else rows, columns=tuple(names))
    raise CellError(
        f"--each {shown(name)}: {shown(name)} is {a_type(rows)}; a DataFrame or a list of"
        " dicts was expected.",
        fix=f"make one, for example pd.DataFrame({{'text': {shown(name)}}}).",
    )


def ask_each_row(  # noqa: PLR0913 (each is a part of the cell)
    shell: InteractiveShell,
    session: Session,
    options: AgentOptions,
    text: str,
    *,
    variables: Mapping[str, Any],
    display: EachDisplay,
) -> None:
    """Ask about each row, and keep the answers in the variable that is named.

    Raises
    ------
    CellError
        If the rows or the text cannot be used; nothing is sent then.
    Stopped
        If the person interrupts; what came until then is in the variable.
    """
    table = table_named(options.each or "", variables)
    check_braces(text, table.columns)
    attach = _constants(text, table, options, variables)
    work = session.each(
        text,
        table.rows,
        model=options.model,
        system=options.system,
        settings=options.settings,
        schema=None if options.schema is None else schema_named(options.schema, variables),
        fields=options.fields,
        attach=attach,
        detail=options.detail,
        pdf_as=options.pdf_as,
    )
    for hint in _hints(text, table, variables):
        show(cards.line(hint))
    if options.dry_run:
        show(dry_run(work, table.rows, session))
        return
    journal, is_ours = _journal(session, work, text, table, options)
    if journal is not None and is_ours and options.fresh:
        journal.unlink(missing_ok=True)
    try:
        result = session.map(
            work,
            table.rows,
            "provider" if options.at_provider else None,
            workers=options.workers,
            journal=journal,
            progress=display,
        )
    except BatchStopped as stopped:
        _keep(shell, options, stopped.result)
        display.finish(stopped.result, options.output or "", work.model)
        kept = " Run the cell again to go on." if journal is not None else ""
        raise Stopped(
            f"after {_answered(stopped.result):,} of {len(stopped.result):,} rows, as you asked;"
            f" their answers are in {options.output}.{kept}"
        ) from None
    _keep(shell, options, result)
    display.finish(result, options.output or "", work.model)
    if journal is not None and is_ours and not result.failed:
        journal.unlink(missing_ok=True)  # all is there: run again, it asks again


def _constants(
    text: str, table: Table, options: AgentOptions, variables: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is the same for each row: attachments, and variables that the text names."""
    named = {slot.name for slot in find_slots(text)}
    if not named & set(table.columns):
        braced = [f"{{{name}}}" for name in table.columns]
        columns = ", ".join([one for one in braced if find_slots(one)][:_MOST_NAMES])
        raise CellError(
            "The question names no column, so every row would ask the same.",
            fix=f"write {columns or 'the name of a column in braces'} where the row's value goes.",
        )
    declared = {name: raw for name, raw in options.fields.items() if name not in table.columns}
    found = attached(options.attach, declared, variables, ())
    for name in named - set(table.columns) - found.keys():
        value = variables.get(name)
        if value is not None and not callable(value) and type(value).__name__ != "module":
            found[name] = value
    return found


def _hints(text: str, table: Table, variables: Mapping[str, Any]) -> Iterator[str]:
    known = {*table.columns, *variables}
    for name in sorted({slot.name for slot in find_slots(text)} - known):
        if meant := near_miss(name, list(table.columns)):
            yield say("{name} stays as typed: did you mean {meant}?", name=name, meant=meant)


def _journal(
    session: Session, work: PromptWork, text: str, table: Table, options: AgentOptions
) -> tuple[Path | None, bool]:
    """Return the batch's journal, and whether it is ours to take away.

    Where none is named, one lies beside the notebook until every row has its answer: a cell that
    was interrupted, or whose kernel died, goes on from there when it is run again.
    """
    if options.journal is not None:
        return Path(options.journal).expanduser(), False
    folder = session.history.folder
    if folder is None or isinstance(work.model, RecordingModel):
        return None, False
    asked = [
        text,
        work.model.name,
        options.system,
        options.settings,
        options.schema,
        options.fields,
        table.columns,
    ]
    name = hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()[:16]
    place = folder / "batches"
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        (place / ".gitignore").write_text("*\n", encoding="utf-8")
    return place / f"{name}.jsonl", True


def _keep(shell: InteractiveShell, options: AgentOptions, result: BatchResult) -> None:
    shell.push({options.output: result.frame()})


def _answered(result: BatchResult) -> int:
    return len(result) - len(result.failed)
