"""Runs a notebook live, the first one if none is named, and prints what its reader wants to know.

What its recording holds is asked anew, unless ``AGENTCELL_MODE`` says otherwise. The executed
notebook and its HTML go to ``out/``; with ``--save`` the outputs also go into the notebook itself.
The exit code is 1 if a cell fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

HERE = Path(__file__).parent
OUT = HERE.parent / "out"

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def execute(notebook: Any, folder: Path, log_file: Path) -> None:
    """Run every cell in a kernel of this Python, started in `folder`.

    What the kernel's process writes outside of cells goes to `log_file`.

    Raises
    ------
    CellExecutionError
        If a cell fails. The outputs until then are in `notebook`.
    """
    with log_file.open("w", encoding="utf-8") as log:
        manager = AsyncKernelManager(kernel_name="python3")
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=300,
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(stderr=log)


def shown_answer(cell: Any) -> str:
    """Return the answer under a cell: its Markdown, which the turn's metadata marks."""
    for output in cell.get("outputs", []):
        if "agentcell" in output.get("metadata", {}):
            return str(output["data"].get("text/plain", ""))
    return ""


def conversation(notebook: Any) -> list[tuple[str, str]]:
    """Return the question and the answer of every `%%agent` cell."""
    return [
        (cell.source.partition("\n")[2].strip(), shown_answer(cell))
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.startswith("%%agent")
    ]


def wrapped(label: str, text: str) -> str:
    """Return `text` in lines that a terminal holds, under its label."""
    width = min(100, shutil.get_terminal_size().columns)
    margin = " " * len(label)
    lines = [
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, width - len(label), break_long_words=False) or [""]
    ]
    return "\n".join(line.rstrip() for line in (label + f"\n{margin}".join(lines)).splitlines())


def main() -> int:
    """Run it and tell; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", nargs="?", type=Path, default=HERE / "01_first_answer.ipynb")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder for what is made")
    parser.add_argument("--save", action="store_true", help="write the outputs back")
    options = parser.parse_args()
    source, out = options.notebook, options.out
    os.environ.setdefault("AGENTCELL_MODE", "off")
    notebook = nbformat.read(source, as_version=4)
    executed, page = out / source.name, out / f"{source.stem}.html"
    out.mkdir(parents=True, exist_ok=True)
    print(f"Running {relative(source)} ...", flush=True)
    began = time.monotonic()
    failure = ""
    try:
        execute(notebook, source.parent, out / "kernel.log")
    except CellExecutionError as error:
        failure = ANSI.sub("", str(error))
    seconds = time.monotonic() - began
    nbformat.write(notebook, executed)
    body, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
    page.write_text(body, encoding="utf-8")

    if failure:
        print(
            f"\n{failure}\n\nThe notebook as far as it came: {relative(executed)}", file=sys.stderr
        )
        return 1
    if options.save:
        nbformat.write(notebook, source)
    for question, answer in conversation(notebook):
        print(f"\n{wrapped('Question:  ', question)}\n{wrapped('Answer:    ', answer)}")
    print(f"\nIt took {seconds:.1f} s, the kernel's start included.")
    print(f"Executed notebook:  {relative(executed)}")
    print(f"As a web page:      {relative(page)}")
    print("In JupyterLab:      make lab")
    return 0


def relative(path: Path) -> Path:
    """Return `path` as it is typed here, where it lies below this folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    raise SystemExit(main())
