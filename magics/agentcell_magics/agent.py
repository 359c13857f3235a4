"""`%%agent` and `%agent`: read the line, ask the session, show what came."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from agentcell.adapters.events import Gathering, Retrying, TextDelta
from agentcell.errors import AgentcellError, CellError, Stopped
from agentcell.messages import media_blocks
from agentcell.session import MAIN, Request, Session
from agentcell_magics import cards
from agentcell_magics.attach import attached
from agentcell_magics.cells import can_update, cell_id, is_terminal, variables
from agentcell_magics.help import AGENT_HELP
from agentcell_magics.live import LiveAnswer, show
from agentcell_magics.options import AgentOptions, agent_options
from agentcell_magics.status import run_command

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@magics_class
class AgentMagics(Magics):
    """Reads the cell, asks the session, shows the answer; decides nothing else."""

    shell: InteractiveShell  # never None here: it loads the class

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        super().__init__(shell)
        self.session = session

    @no_var_expand  # braces and dollars in a question are the person's own text
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> None:
        """Ask a model; what people read of it is `AGENT_HELP`."""
        if cell is None:
            run_command(self.session, line)
            return
        try:
            self._ask(line, cell)
        except KeyboardInterrupt:
            raise Stopped("as you asked; nothing was sent.") from None

    agent.__doc__ = AGENT_HELP

    def _ask(self, line: str, cell: str) -> None:
        options = agent_options(line)
        if not cell.strip():
            raise CellError("This %%agent cell is empty.", fix="write your question below %%agent.")
        request = self._prepare(options, cell.strip("\n").rstrip())
        if not options.quiet or options.dry_run:
            _show_question(request)
        for hint in request.question.hints:
            show(cards.line(hint))
        if options.dry_run:
            show(cards.rows("Dry run: nothing was sent", _dry_run(request)))
            return
        self._run(request, options)

    def _prepare(self, options: AgentOptions, text: str) -> Request:
        values = variables(self.shell)
        return self.session.prepare(
            text,
            values=values,
            attach=attached(options.attach, options.fields, values),
            fields=options.fields,
            model=options.model,
            system=options.system,
            settings=options.settings,
            conversation=options.conversation or MAIN,
            fresh=options.fresh,
            detail=options.detail,
            pdf_as=options.pdf_as,
            cell_id=cell_id(self.shell),
        )

    def _run(self, request: Request, options: AgentOptions) -> None:
        live = LiveAnswer(
            updates=can_update(self.shell),
            prints=is_terminal(self.shell),
            tags=(block.tag for block in media_blocks(request.messages)),
        )
        gathering = Gathering()
        began = time.monotonic()
        events = self.session.stream(request)
        try:
            live.status(f"Asking {request.model.name} …")
            for event in events:
                gathering.take(event)
                if isinstance(event, TextDelta):
                    live.add(event.text)
                elif isinstance(event, Retrying):
                    live.status(f"{event.reason}: asking again in {event.wait:.0f} s …")
        except KeyboardInterrupt:
            events.close()  # type: ignore[attr-defined]  # the turn is recorded before we go on
            self._finish(request, options, live, gathering, "Stopped before an answer began.")
            kept = " The partial answer is kept." if live.text else ""
            raise Stopped(f"after {time.monotonic() - began:.1f} s, as you asked.{kept}") from None
        except AgentcellError:
            self._finish(request, options, live, gathering, "No answer.")
            raise
        self._finish(request, options, live, gathering, "The model answered nothing.")

    def _finish(
        self,
        request: Request,
        options: AgentOptions,
        live: LiveAnswer,
        gathering: Gathering,
        note: str,
    ) -> None:
        answer = self.session.answer(request)
        live.finish(_metadata(request, answer) if answer else None, note)
        if answer is None or answer.status == "failed":
            return
        if not options.quiet:
            show(cards.footer(answer, "".join(gathering.thinking)))
        if options.output:
            self.shell.push({options.output: answer})


def _show_question(request: Request) -> None:
    question = request.question
    for block in question.blocks:
        if (shown := cards.picture(block)) is not None:
            show(*shown)
    if question.blocks or question.named or request.notes:
        asked = question.text if question.named else ""
        show(cards.attachments(question.blocks, asked, request.notes))


def _metadata(request: Request, answer: Any) -> dict[str, Any]:
    usage = answer.usage
    return {
        "turn": request.id,
        "model": request.model.name,
        "status": answer.status,
        "finish_reason": answer.finish_reason,
        "seconds": round(answer.seconds, 3),
        "usage": None
        if usage is None
        else {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "attachments": [
            {
                "tag": block.tag,
                "digest": block.fingerprint,
                "type": block.asset.mime_type,
                "size_bytes": block.asset.size_bytes,
            }
            for block in request.question.blocks
        ],
    }


def _dry_run(request: Request) -> list[tuple[str, str]]:
    facts = [("model", request.model.name)]
    facts += [(name, str(value)) for name, value in request.settings.items()]
    for number, message in enumerate(request.outgoing, start=1):
        facts.append((f"message {number}", f"{message['role']}: {_outline(message['content'])}"))
    return facts


def _outline(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        f"{block.tag} ({block.asset.describe()})" if block.type == "media" else block.text
        for block in content
    )
