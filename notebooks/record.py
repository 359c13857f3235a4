"""Records the notebooks' answers anew and saves what the notebooks then show.

``python notebooks/record.py [NOTEBOOK ...]``. The answers of ``04_…`` and ``07_…`` are scripted
below and given by real servers on loopback; all others come from the embedded reader or from the
notebook itself.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agentcell.adapters.recording import Recording
from agentcell.checking import record
from agentcell.imaging.drawing import Plan, drawn, signed
from agentcell.testing import Call, ChatServer, MediaServer, Reply, Request, ResponsesServer

HERE = Path(__file__).parent

LEFT_OUT = {"06_reproducible_notebooks": "What is the tax on"}
"""Questions whose answers are taken out again: that notebook shows what a miss looks like."""


def main(paths: list[Path]) -> int:
    """Record, then replay and save; return the exit code."""
    for path in paths:
        if path.stem in SERVICES:  # an earlier recording's pictures: they would take the names
            for folder in ("generated-media", f"recordings/{path.stem}.files"):
                shutil.rmtree(path.parent / folder, ignore_errors=True)
        with scripted(path):
            (report,) = record([path], again=True, before_replay=leave_out)
        print("\n  ".join([report.summary(), *report.faults]))
        if not report.is_fine:
            return 1
    return 0


def leave_out(path: Path) -> None:
    """Take an answer out of a notebook's recording, if one is to be missing."""
    if path.stem not in LEFT_OUT:
        return
    recording = Recording(path.parent / "recordings" / f"{path.stem}.jsonl")
    for entry in list(recording.entries()):
        if LEFT_OUT[path.stem] not in str(entry.asked):
            recording.get(entry.key)
    recording.prune()


@contextmanager
def scripted(path: Path) -> Iterator[None]:
    """Let the addresses of services be those of servers that give the notebook's answers."""
    with ExitStack() as stack:
        begin = SERVICES.get(path.stem)
        environment = {} if begin is None else begin(stack)
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def tools_and_structured_output(stack: ExitStack) -> Mapping[str, str]:
    """Start the model of ``04_…``; return what leads to it."""
    server = stack.enter_context(ChatServer())
    server.reply(
        calls=[
            Call("price", '{"item": "coffee"}', id="call_1"),
            Call("price", '{"item": "cake"}', id="call_2"),
        ]
    )
    server.reply("Two coffees and a cake ", "cost **$10.50**.")
    server.reply_tool_call("price", '{"item": "juice"}', call_id="call_3")
    server.reply("There is no juice on today's list; ", "there are coffee, tea and cake.")
    server.reply('{"shop": "Green Valley Market", "date": "2026-03-14", "total": 27.95}')
    return {"OPENAI_BASE_URL": server.url}


def pictures(stack: ExitStack) -> Mapping[str, str]:
    """Start the model and the media service of ``07_…``; return what leads to them."""
    model = stack.enter_context(ResponsesServer())
    model.reply(calls=[Call("view_image", '{"path": "receipt.png"}', id="call_1")])
    model.reply("**27.95** was paid, ", "at Green Valley Market.")
    model.reply("Chinese: ", "it is a till receipt.")
    model.reply("The lower half: the sea and the shore. ", "Above it, the sky is another one.")
    token = "5d1f9c27e84b"  # noqa: S105 (it opens nothing)
    media = stack.enter_context(MediaServer(token=token))
    foxes = [media.file(f"fox-{n}.png", _drawing("two foxes", 21 + n)) for n in range(2)]
    media.job("queued", "success", request_id="req-1", files=foxes, cost=0.078)
    media.job(
        *("queued", "running", "success"),
        request_id="req-2",
        files=[media.file("waves.webm", (HERE.parent / "tests/data/tiny.webm").read_bytes())],
        thumbnails=[media.file("waves.png", _drawing("waves", 5))],
        model="seedance-1-0-pro-fast-251015",
        cost=0.13,
    )
    return {
        "OPENAI_BASE_URL": model.url,
        "AGENTCELL_MEDIA_URL": media.url,
        "AGENTCELL_MEDIA_TOKEN": token,
    }


def prompts_graphs_batches(stack: ExitStack) -> Mapping[str, str]:
    """Start the model of ``09_…``; return what leads to it."""
    bookings = {
        "Taxi": '{"account": "travel", "amount": 18.2}',
        "Lunch": '{"account": "meals", "amount": 64.0}',
        "train": '{"account": "travel", "amount": 89.9}',
        "paper": '{"account": "office", "amount": 12.5}',
    }

    def booked(request: Request) -> Reply:  # rows are asked about in any order
        asked = json.dumps(request.body)
        return Reply(next(said for word, said in bookings.items() if word in asked))

    server = ResponsesServer(
        Reply("**27.95** was paid ", "at Green Valley Market."),
        Reply(calls=[Call("booked", '{"shop": "Green Valley Market"}', id="call_1")]),
        Reply("Yes: 27.95 is booked ", "for Green Valley Market."),
        Reply('{"shop": "Green Valley Market", "total": "27.95 USD"}'),
        Reply('{"verdict": "Yes: 27.95 USD is within the 30 dollars for a meal."}'),
        booked,
    )
    return {"OPENAI_BASE_URL": stack.enter_context(server).url}


def _drawing(prompt: str, seed: int) -> bytes:
    """Return a picture, drawn by rule, that says so."""
    sink = io.BytesIO()
    signed(drawn(Plan(prompt, seed, (480, 300))), f"a test server's - seed {seed}").save(
        sink, "PNG"
    )
    return sink.getvalue()


SERVICES = {
    "04_tools_and_structured_output": tools_and_structured_output,
    "07_pictures": pictures,
    "09_prompts_graphs_batches": prompts_graphs_batches,
}


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    raise SystemExit(main(given or sorted(HERE.glob("*.ipynb"))))
