"""The built-in reader: of forty questions about ten receipts, how many its first line answers.

Run it: ``python benchmarks/reader_accuracy.py [FOLDER]``. The folder holds pictures and a
``truth.json``: a list of ``{"name", "qa": {key: [question, [accepted, …]]}}``; the receipts of the
tests by default. A question is answered if the first quote holds an accepted answer. The exit
code is 1 if fewer than nine in ten are.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import unicodedata
from pathlib import Path

from agentcell.adapters.local.document import Document, read_document
from agentcell.adapters.local.evidence import find_evidence
from agentcell.assets.asset import ImageAsset

RECEIPTS = Path(__file__).parent.parent / "tests" / "data" / "receipts"
LIMIT = 0.9


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def width(text: str) -> int:
    """Return the columns that `text` takes: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def column(text: str, columns: int) -> str:
    while width(text) > columns:
        text = text[:-2] + "…"
    return text + " " * (columns - width(text))


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECEIPTS
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    answered: dict[str, list[bool]] = {}
    seconds: list[float] = []
    milliseconds: list[float] = []
    print(column("document", 20), column("question", 44), "   ", "first quote")
    for entry in truth:
        document: Document = read_document(ImageAsset.from_path(folder / f"{entry['name']}.png"))
        seconds.append(document.seconds)
        for key, (question, accepted) in entry["qa"].items():
            started = time.perf_counter()
            found = find_evidence(question, [("[receipt]", document)])
            milliseconds.append((time.perf_counter() - started) * 1000)
            quote = found[0].quote if found else ""
            is_right = any(folded(answer) in folded(quote) for answer in accepted)
            answered.setdefault(key, []).append(is_right)
            mark = "yes" if is_right else "NO "
            print(column(entry["name"], 20), column(question, 44), mark, column(quote, 60))
    print()
    for key, results in answered.items():
        print(f"{key:12} {sum(results):3} of {len(results)}")
    right = sum(map(sum, answered.values()))
    total = sum(map(len, answered.values()))
    print(f"{'all':12} {right:3} of {total}, at least {LIMIT:.0%} wanted")
    print(
        f"read in {statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s (slowest);"
        f" a question took {statistics.median(milliseconds):.1f} ms (median)"
    )
    return int(right < LIMIT * total)


if __name__ == "__main__":
    raise SystemExit(main())
