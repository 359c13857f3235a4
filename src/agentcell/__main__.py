"""``agentcell check`` and ``agentcell scan``: what people and CI run on saved notebooks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agentcell.checking import command as check


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit code.

    Parameters
    ----------
    arguments
        Without the program's name; None: those of the process.
    """
    parser = argparse.ArgumentParser(prog="agentcell", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checks = commands.add_parser(
        "check",
        help="run notebooks from their recordings and compare; scan for keys; tell what is heavy",
    )
    check.add_arguments(checks)
    checks.set_defaults(run=check.run)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
