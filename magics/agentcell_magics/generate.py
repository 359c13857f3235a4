"""`%generate` and `%%generate`: read what is wished, let the session make it, show what came."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from agentcell.budget import Confirm
from agentcell.errors import CellError, Stopped
from agentcell.imaging.events import Generated, GenerationEvent
from agentcell.imaging.generation import Generation
from agentcell.imaging.plan import Plan
from agentcell.loop import LOOP
from agentcell.session import Session
from agentcell_magics import cards, generate_cards
from agentcell_magics.async_generation import AsyncGeneration
from agentcell_magics.background import background
from agentcell_magics.budget_command import CostApproval
from agentcell_magics.cells import (
    can_update,
    cell_id,
    is_shells_own,
    is_terminal,
    notebook_place,
    run_id,
    variables,
)
from agentcell_magics.generate_commands import became, left_over, run_generate_command
from agentcell_magics.generate_display import MakingDisplay
from agentcell_magics.generate_options import GenerateOptions, command_of, generate_options
from agentcell_magics.generate_prompt import Wished, wished
from agentcell_magics.live import show
from agentcell_magics.making import Asked, making
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell_magics.config import AgentMagics
    from agentcell_magics.typed import TypedCells

Begin: TypeAlias = "Callable[[Confirm | None], AsyncIterator[GenerationEvent]]"


@magics_class
class GenerateMagics(Magics):
    """Reads the line and the cell, asks the session, shows what was made; decides nothing else."""

    shell: InteractiveShell  # never None here: it loads the class

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        defaults: AgentMagics,
        typed: TypedCells,
        folder: Path | None,
    ) -> None:
        super().__init__(shell)
        self.session = session
        self.defaults = defaults
        self.typed = typed
        self._folder = folder
        self._shown: tuple[int, Any] = (0, None)
        self._has_told = False
        formatter = getattr(shell.display_formatter, "ipython_display_formatter", None)
        if formatter is not None:
            formatter.for_type(Generation, self._show_once)

    @no_var_expand  # braces and dollars in a prompt are the person's own text
    @line_cell_magic
    def generate(self, line: str, cell: str | None = None) -> Generation | AsyncGeneration | None:
        """Make pictures or a clip; what people read of it is `help.GENERATE_HELP`."""
        try:
            return self._generate(line, cell)
        except KeyboardInterrupt:  # what is on its way tells of itself
            raise Stopped("before anything was sent, as you asked.") from None

    def _generate(self, line: str, cell: str | None) -> Generation | AsyncGeneration | None:
        self.defaults.check()
        self.defaults.apply(self.session)
        command = command_of(line) if cell is None else None
        if command is not None and command[0] == "resume":
            return self._resume(*command[1])
        if command is not None:
            try:
                run_generate_command(self.session, *command)
            except KeyboardInterrupt:
                raise Stopped("as you asked.") from None
            return None
        prompt, options = generate_options(line, cell)
        self._check_name(options.variable)
        self.session.access.typed(self.typed.code)
        wanted = wished(self.session, prompt, options, variables(self.shell), self.typed.holds)
        plan = self.session.generator.plan(wanted.wish)
        self._show_wish(wanted, prompt)
        head = _head(wanted, plan)
        if options.dry_run:
            self._show_plan(wanted, plan)
            return None
        begin = self._begin(wanted, options)
        if options.in_background:
            return self._start(begin, head, options)
        return self._run(begin, head, options.variable)

    def _begin(self, wanted: Wished, options: GenerateOptions) -> Begin:
        generator, cell = self.session.generator, cell_id(self.shell) or ""

        def begin(confirm: Confirm | None) -> AsyncIterator[GenerationEvent]:
            return generator.stream(
                wanted.wish, confirm=confirm, output=options.place or None, cell=cell
            )

        return begin

    def _check_name(self, name: str | None) -> None:
        if name and is_shells_own(name):
            raise CellError(
                f"-o {name}: IPython itself keeps something under that name.",
                fix="choose another name, for example -o picture.",
            )

    def _resume(self, job_id: str, variable: str | None = None) -> Generation:
        self._check_name(variable)
        generator = self.session.generator
        head = [say("Fetching {job}", job=job_id[:40])]
        return self._run(lambda _: generator.resume(job_id), head, variable)

    def _start(
        self, begin: Begin, head: Iterable[str], options: GenerateOptions
    ) -> AsyncGeneration:
        display, cell, now = self._display(head), cell_id(self.shell), self._run_now()

        def make(name: str) -> AsyncGeneration:
            return AsyncGeneration(
                name,
                begin,
                display,
                cell=cell,
                became=self._became,
                is_shown=lambda: self._run_now() == now,
            )

        display.begin(both=True)
        handle = background(self.session).begin(
            make,
            options.variable,
            updates=can_update(self.shell),
        )
        if options.variable:
            self.shell.push({options.variable: handle})
        return handle

    def _run(self, begin: Begin, head: Iterable[str], variable: str | None) -> Generation:
        display = self._display(head)
        generation: Generation | None = None
        approval = CostApproval()
        display.begin()
        try:
            with closing(LOOP.iterate(making(begin, display.planned))) as events:  # type: ignore[type-var]
                for event in events:
                    if isinstance(event, Asked):
                        event.reply(approval(event.question))
                    elif isinstance(event, Generated):
                        generation = event.generation
                    else:
                        display.take(event)
        except KeyboardInterrupt:
            if generation is None:
                display.end("Stopped.")
                raise self._became(display) from None
        except BaseException as error:
            is_over = getattr(error, "is_over", True)
            display.end("Nothing was made." if is_over else "Nothing came yet.")
            raise
        assert generation is not None  # noqa: S101 (it comes last, or an error does)
        self._shown = id(generation), self._run_now()
        if self._keep(generation, variable, display):
            raise Stopped("after it was made: its files are saved.")
        return generation

    def _keep(self, generation: Generation, variable: str | None, display: MakingDisplay) -> bool:
        """Keep and show what was made, whatever interrupts it; say whether something did."""
        was_broken = False
        for _ in range(2):
            try:
                if variable:
                    self.shell.push({variable: generation})
                display.finish(generation)
                break
            except KeyboardInterrupt:
                was_broken = True
        return was_broken

    def stop(self) -> None:
        """Leave it to others to show a `Generation`: the magics are taken away."""
        formatter = getattr(self.shell.display_formatter, "ipython_display_formatter", None)
        if formatter is not None:
            formatter.pop(Generation, None)

    def _became(self, display: MakingDisplay) -> Stopped:
        return became(self.session, display.job_id, display.seconds)

    def _display(self, head: Iterable[str]) -> MakingDisplay:
        return MakingDisplay(
            head,
            self._home(),
            updates=can_update(self.shell),
            prints=is_terminal(self.shell),
        )

    def _home(self) -> Path:
        place, _ = notebook_place(self.shell, self._folder)
        return place or self.session.access.root

    def _show_wish(self, wanted: Wished, typed: str) -> None:
        """Show which pictures go out, and the prompt where it is not the one that was typed."""
        prompt = wanted.wish.prompt
        if wanted.blocks or prompt != typed:
            show(cards.attachments(wanted.blocks, prompt if prompt != typed else ""))
        told = "" if self._has_told else left_over(self.session)
        self._has_told = True
        for remark in filter(None, (*wanted.remarks, told)):
            show(cards.line(remark))

    def _show_plan(self, wanted: Wished, plan: Plan) -> None:
        price = generate_cards.priced(plan.price, is_free=plan.is_free) or say("free")
        facts = [("maker", plan.name), ("makes", generate_cards.counted(wanted.wish))]
        facts.append(("cost", say("nothing: it is replayed") if plan.is_replayed else price))
        show(cards.rows("Dry run: nothing was sent", facts))

    def _run_now(self) -> Any:
        """Return what names this one run of the cell, also where there is no kernel."""
        return run_id(self.shell) or self.shell.execution_count

    def _show_once(self, generation: Generation) -> None:
        """Show a generation that is a cell's value; the cell that made it showed it already."""
        if self._shown == (id(generation), self._run_now()):
            return
        if is_terminal(self.shell):
            print(generate_cards.result(generation, self._home())[0]["text/plain"])  # noqa: T201
            return
        if (picture := generate_cards.thumbnails(generation)) is not None:
            show(*picture)
        show(*generate_cards.result(generation, self._home()))


def _head(wanted: Wished, plan: Plan) -> list[str]:
    """Return who makes what, and for how much, as the line says it while it is made."""
    what = generate_cards.counted(wanted.wish)
    price = generate_cards.priced(plan.price, is_free=plan.is_free or plan.is_replayed)
    return [say("Making {what} with {maker}", what=what, maker=plan.name), price]
