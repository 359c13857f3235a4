"""`agentcell-scan`: paths on a command line, to a line for each finding and an exit code.

0: nothing found; 1: something found; 2: something could not be read, and nothing was found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from agentcell.errors import ScanError
from agentcell.scan.report import Report, keys_at_hand, search

CLEAN, FOUND, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Search and print; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        keys = keys_at_hand() | _from_variables(options.key_from)
    except ScanError as no_key:
        print(no_key, file=sys.stderr)  # noqa: T201
        return UNREADABLE
    report = search(options.path, keys)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    print(_as_json(report, keys) if options.json else _as_text(report, keys))  # noqa: T201
    for problem in report.problems:
        print(problem, file=sys.stderr)  # noqa: T201
    if report.findings:
        return FOUND
    return UNREADABLE if report.problems else CLEAN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentcell-scan",
        description="Search notebooks, with their history and recordings, for API keys: those of"
        " the environment, keyring and llm's keys file, any six characters of them, and whatever"
        " is shaped like a key.",
        epilog="Exit code: 0 nothing found, 1 something found, 2 something could not be read.",
    )
    parser.add_argument("path", nargs="+", help="a notebook, another file, or a folder")
    parser.add_argument(
        "--key-from",
        action="append",
        default=[],
        metavar="VARIABLE",
        help="search for the value of this environment variable too (may be given several times)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _from_variables(names: Sequence[str]) -> dict[str, str]:
    keys = {}
    for name in names:
        value = os.environ.get(name, "").strip()
        if not value:
            raise ScanError(
                f"--key-from {name[:80]}: no environment variable of that name holds anything.",
                fix="give the variable's name, not the key.",
            )
        keys[name] = value
    return keys


def _as_text(report: Report, keys: dict[str, str]) -> str:
    lines = [str(finding) for finding in report.findings]
    files = f"{report.files:,} file{'' if report.files == 1 else 's'}"
    count = len(report.findings)
    found = f"{count:,} finding{'' if count == 1 else 's'}" if count else "No key"
    names = ", ".join(sorted(keys)) or "no known key (none is set here)"
    return "\n".join([*lines, f"{found} in {files}. Looked for: {names}; and any key's shape."])


def _as_json(report: Report, keys: dict[str, str]) -> str:
    facts = {
        "findings": [asdict(finding) for finding in report.findings],
        "files": report.files,
        "keys": sorted(keys),
        "problems": [problem.problem for problem in report.problems],
    }
    return json.dumps(facts, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    sys.exit(main())
