"""`%%agent` and `%agent`: read the line, ask the session, show what came."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from agentcell.adapters.recording import RecordingModel
from agentcell.answer import Answer
from agentcell.errors import CellError, Stopped
from agentcell.session import MAIN, Request, Session
from agentcell_magics import cards
from agentcell_magics.approval import MODES, Approval
from agentcell_magics.async_answer import AsyncAnswer
from agentcell_magics.attach import attached
from agentcell_magics.background import background
from agentcell_magics.budget_command import CostApproval, answer_cost
from agentcell_magics.cells import (
    can_update,
    cell_id,
    is_blank,
    is_shells_own,
    is_terminal,
    run_id,
    variables,
)
from agentcell_magics.dry_run import dry_run_card
from agentcell_magics.each import ask_each_row, check_each
from agentcell_magics.each_display import EachDisplay
from agentcell_magics.live import show
from agentcell_magics.mentioned import Mentioned, mentioned
from agentcell_magics.named import schema_named, skills_named, tools_named
from agentcell_magics.options import AgentOptions, agent_options
from agentcell_magics.prompt_option import Prompted, prompted, with_prompt
from agentcell_magics.question_display import QuestionDisplay, slips, unseen
from agentcell_magics.saved import recall
from agentcell_magics.sent_card import sent
from agentcell_magics.stale_marks import stale_marks
from agentcell_magics.status import run_command
from agentcell_magics.turn_display import TurnDisplay
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell_magics.config import AgentMagics
    from agentcell_magics.typed import TypedCells


@magics_class
class AskMagics(Magics):
    """Reads the cell, asks the session, shows the answer; decides nothing else."""

    shell: InteractiveShell  # never None here: it loads the class

    def __init__(
        self, shell: InteractiveShell, session: Session, defaults: AgentMagics, typed: TypedCells
    ) -> None:
        super().__init__(shell)
        self.session = session
        self.defaults = defaults
        self.typed = typed
        self._asked = ("", 0)
        self._questions = QuestionDisplay(shell)
        self._last: Request | None = None
        self._has_asked = False

    @no_var_expand  # braces and dollars in a question are the person's own text
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> AsyncAnswer | None:
        """Ask a model; what people read of it is `help.AGENT_HELP`."""
        if cell is None:
            if line.strip() in {"-v", "--verbose"}:
                self._show_last()
            else:
                run_command(self.session, line)
            return None
        try:
            return self._ask(line, cell)
        except KeyboardInterrupt:
            raise Stopped("before anything was sent, as you asked.") from None

    def _ask(self, line: str, cell: str) -> AsyncAnswer | None:
        options = _checked_options(line, cell)
        text = cell.strip("\n").rstrip()
        self.session.access.typed(self.typed.code)
        if options.each is not None:
            self._ask_each(options, text)
            return None
        if options.prompt is None:
            named = mentioned(text, self.typed.holds, self.session.access)
            request = self._prepare(options, text, named)
        else:
            file = self._prompted(options, text)
            named = Mentioned(files={}, hints=file.hints)
            request = self._prepare(with_prompt(options, file), file.text, named, file)
        if options.quiet is None:
            options = replace(options, quiet=self.defaults.in_force("quiet"))
        if not options.quiet or options.dry_run:
            self._questions.show(request, is_typed=options.prompt is None)
            hints = (*request.question.hints, *named.hints, *slips(options, cell))
            for hint in (*hints, *unseen(self.session, request)):
                show(cards.line(hint))
        if options.dry_run:
            self._show_dry_run(request, options)
            return None
        self._last = request
        if options.verbose:
            show(sent(self.session.as_sent(request)))
        if options.in_background:
            return self._begin(request, options)
        self._run(request, options)
        return None

    def _ask_each(self, options: AgentOptions, text: str) -> None:
        self._begin_cell()
        self.defaults.check()
        self.defaults.apply(self.session)
        quiet = self.defaults.in_force("quiet") if options.quiet is None else options.quiet
        updates = can_update(self.shell) and not is_terminal(self.shell)
        display = EachDisplay(updates=updates, quiet=bool(quiet))
        values = variables(self.shell)
        ask_each_row(self.shell, self.session, options, text, variables=values, display=display)

    def _show_dry_run(self, request: Request, options: AgentOptions) -> None:
        """Show what would go; then raise why it cannot, if so."""
        run = self.session.dry_run(request)
        if options.verbose and run.refusal is None:
            show(sent(self.session.as_sent(request)))
        mode = options.approve or self.defaults.in_force("approve")
        show(dry_run_card(run, MODES[mode] if mode else None))
        if run.refusal is not None:
            raise run.refusal

    def _show_last(self) -> None:
        if self._last is None:
            show(cards.line("Nothing was asked yet."))
        else:
            show(sent(self.session.as_sent(self._last), "The last request as sent"))

    def _prompted(self, options: AgentOptions, body: str) -> Prompted:
        """Return what a prompt file asks, with this cell's values."""
        taken = [name for name, _ in options.attach] + list(options.fields)
        body = "" if is_blank(body) else body
        return prompted(options.prompt or "", options.slots, body, variables(self.shell), taken)

    def _prepare(
        self,
        options: AgentOptions,
        text: str,
        named: Mentioned,
        file: Prompted | None = None,
    ) -> Request:
        self._begin_cell()
        self.defaults.check()
        self.defaults.apply(self.session)
        mode = options.approve or self.defaults.in_force("approve")
        values = variables(self.shell)
        return self.session.prepare(
            text,
            values={} if file else values,  # a prompt file's braces are its own text
            attach=attached(options.attach, options.fields, values, named.files.values())
            | dict(file.attach if file else {}),
            examples=file.examples if file else (),
            mentions=named.files,
            fields=options.fields,
            model=options.model,
            system=options.system,
            settings=options.settings,
            conversation=options.conversation or MAIN,
            fresh=options.fresh,
            detail=options.detail,
            pdf_as=options.pdf_as,
            cell_id=cell_id(self.shell),
            part=self._part(),
            tools=tools_named(
                options.tools, values, partial(self.session.own_tool, model=options.model)
            ),
            approve=Approval(mode, can_ask=not options.in_background),
            max_rounds=options.max_rounds,
            schema=None if options.schema is None else schema_named(options.schema, values),
            skills=skills_named(options.skills, values),
            confirm=CostApproval(can_ask=not options.in_background),
            look=options.dry_run,
        )

    def _begin_cell(self) -> None:
        """Before a session's first question, know what the notebook's file tells of it."""
        if not self._has_asked:
            self._has_asked = True
            recall(self.session, self.shell)
        if self._asked[0] != run_id(self.shell):
            stale_marks(self.session).runs_again(cell_id(self.shell))

    def _part(self) -> int:
        """Return which question of this run of the cell comes now: a loop may ask several."""
        run = run_id(self.shell)
        count = self._asked[1] + 1 if run and self._asked[0] == run else 1
        self._asked = (run, count)
        return count

    def _begin(self, request: Request, options: AgentOptions) -> AsyncAnswer:
        quiet = bool(options.quiet)
        handle = background(self.session).begin(
            lambda name: AsyncAnswer(self.session, request, name, quiet=quiet),
            options.output,
            updates=can_update(self.shell),
        )
        if options.output:
            self.shell.push({options.output: handle})
        return handle

    def _run(self, request: Request, options: AgentOptions) -> None:
        display = TurnDisplay(
            request,
            updates=can_update(self.shell),
            prints=is_terminal(self.shell),
            quiet=bool(options.quiet),
        )

        def end(note: str) -> bool:
            answer = self.session.answer(request)
            return _unbroken(
                lambda: display.finish(answer, note),
                lambda: self._keep(answer, request, options, "".join(display.thinking)),
            )

        began = time.monotonic()
        try:
            display.status(say("Asking {model} …", model=request.model.name))
            with closing(self.session.stream(request)) as events:  # type: ignore[type-var]
                for event in events:
                    display.take(event)
        except KeyboardInterrupt:
            kept = " The partial answer is kept." if display.has_text else ""
            end("Stopped before an answer began.")
            after = f"after {time.monotonic() - began:.1f} s, "
            if isinstance(request.model, RecordingModel):  # it would differ with each replay
                after = ""
            raise Stopped(f"{after}as you asked.{kept}") from None
        except BaseException:
            end("No answer.")
            raise
        if end("The model answered nothing."):
            raise Stopped("after the answer, which is complete.")

    def _keep(
        self, answer: Answer | None, request: Request, options: AgentOptions, thinking: str
    ) -> None:
        if answer is None or answer.status == "failed":
            return
        if options.output:
            is_value = request.schema is not None and answer.status == "complete"
            self.shell.push({options.output: answer.value if is_value else answer})
        if not options.quiet:
            bundle = cards.footer(answer, thinking, cost=answer_cost(answer, self.session))
            updates = can_update(self.shell) and not is_terminal(self.shell)
            stale_marks(self.session).show(
                request.turn, request.conversation, bundle, updates=updates
            )


def _checked_options(line: str, cell: str) -> AgentOptions:
    """Return what the line says, where that and the cell make a question.

    Raises
    ------
    CellError
        If they do not.
    """
    options = agent_options(line)
    if is_blank(cell) and options.prompt is None:
        raise CellError("This %%agent cell is empty.", fix="write your question below %%agent.")
    if options.output and is_shells_own(options.output):
        raise CellError(
            f"-o {options.output}: IPython itself keeps something under that name.",
            fix="choose another name, for example -o answer.",
        )
    check_each(options)
    return options


def _unbroken(*steps: Callable[[], None]) -> bool:
    """Do each step, once more where an interrupt breaks into it; say whether one did."""
    broken = False
    for step in steps:
        try:
            step()
        except KeyboardInterrupt:
            broken = True
            step()
    return broken
