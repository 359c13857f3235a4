"""``agentcell check``: a line for each notebook, what is wrong below it, and an exit code."""

from __future__ import annotations

import argparse
import sys

from agentcell.checking.report import Report, check
from agentcell.errors import AgentcellError

FINE, FAULTY, UNUSABLE = 0, 1, 2


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
    mode = {"new": "record", "all": "rerecord", None: "replay"}[options.record]
    count = faulty = 0
    try:
        for report in check(
            options.paths, execute=not options.no_run, mode=mode, timeout=options.timeout
        ):
            count += 1
            faulty += not report.is_fine or (options.strict and bool(report.remarks))
            _show(report)
            if options.record and report.is_fine:
                _save(report)
    except AgentcellError as error:
        print(f"agentcell check: {error}", file=sys.stderr)  # noqa: T201 (a command's answer)
        return UNUSABLE
    if not count:
        print("agentcell check: no notebooks there", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    return FAULTY if faulty else FINE


def _show(report: Report) -> None:
    said = [report.summary(), *(f"  {text}" for text in report.faults)]
    said += [f"  (remark) {text}" for text in report.remarks]
    print("\n".join(said), flush=True)  # noqa: T201 (a command's answer)


def _save(report: Report) -> None:
    import nbformat

    nbformat.write(report.executed, report.path)
