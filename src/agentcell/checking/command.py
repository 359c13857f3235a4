"""``agentcell check``: a line for each notebook, what is wrong below it, and an exit code."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator

from agentcell.checking.recording import record
from agentcell.checking.report import Report, check
from agentcell.errors import AgentcellError, CellError

FINE, FAULTY, UNUSABLE, STOPPED = 0, 1, 2, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell `parser` what can be said."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="notebooks, or folders of them")
    parser.add_argument(
        "--no-run", action="store_true", help="look at what is saved only; run nothing"
    )
    parser.add_argument(
        "--strict", action="store_true", help="remarks, such as missing alt texts, fail too"
    )
    parser.add_argument(
        "--record",
        choices=("new", "all"),
        help="ask the models, keep their answers in the recordings, and save the outputs",
    )
    parser.add_argument(
        "--timeout", type=int, default=120, metavar="SECONDS", help="for one cell (120)"
    )


def run(options: argparse.Namespace) -> int:
    """Check, print, and return the exit code."""
    # A name of a file may hold what a terminal cannot show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    count = faulty = 0
    try:
        if options.record and options.no_run:
            raise CellError("--record runs notebooks, --no-run does not.", fix="leave one out.")
        for report in _reports(options):
            count += 1
            faulty += not report.is_fine or (options.strict and bool(report.remarks))
            _show(report)
    except KeyboardInterrupt:
        print("agentcell check: stopped, as you asked", file=sys.stderr)  # noqa: T201 (a command's answer)
        return STOPPED
    except AgentcellError as error:
        print(f"agentcell check: {error}", file=sys.stderr)  # noqa: T201 (a command's answer)
        return UNUSABLE
    if not count:
        print("agentcell check: no notebooks there", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    return FAULTY if faulty else FINE


def _reports(options: argparse.Namespace) -> Iterator[Report]:
    if options.record:
        return record(options.paths, again=options.record == "all", timeout=options.timeout)
    return check(options.paths, execute=not options.no_run, timeout=options.timeout)


def _show(report: Report) -> None:
    said = [report.summary(), *(f"  {text}" for text in report.faults)]
    said += [f"  (remark) {text}" for text in report.remarks]
    print("\n".join(said), flush=True)  # noqa: T201 (a command's answer)
