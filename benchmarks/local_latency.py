"""The built-in reader: seconds from a new process to its answer, and how often it is right.

Run it: ``python benchmarks/local_latency.py [PROCESSES]``. Each process is new: it imports
agentcell, reads one receipt, starts the small model and streams the answer. The medians are
compared with the limits. Then one process answers every question of the test receipts. The exit
code is 1 if a limit is passed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

LIMIT_EVIDENCE_SECONDS = 2.0
LIMIT_FINISHED_SECONDS = 5.0
LIMIT_EVIDENCE_SHARE = 36 / 40
LIMIT_SENTENCE_SHARE = 0.95

RECEIPTS = Path(__file__).parent.parent / "tests" / "data" / "receipts"

FRESH = """
import sys, time
from agentcell import ImageAsset, LocalModel, MediaMessageBlock, TextMessageBlock
from agentcell.adapters.events import TextDelta
block = MediaMessageBlock(ImageAsset.from_path(sys.argv[1]), "receipt", "[receipt_1 Receipt]")
question = TextMessageBlock("What is the total?")
seen = None
said = ""
for event in LocalModel().stream([{"role": "user", "content": [block, question]}]):
    if isinstance(event, TextDelta):
        seen = seen or time.time()
        said += event.text
print(seen, time.time(), "\\n\\n" in said)
"""


def fresh(receipt: Path) -> tuple[float, float, bool]:
    """Return seconds to the first evidence and to the end, and whether a sentence was shown."""
    started = time.time()
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(receipt)], capture_output=True, text=True, check=True
    )
    seen, ended, spoke = done.stdout.split()
    return float(seen) - started, float(ended) - started, spoke == "True"


def judge() -> tuple[int, int, int, int]:
    """Return how many questions there are, how many first quotes hold an accepted answer, how
    many sentences were shown, and how many of these are right."""
    from agentcell import ImageAsset, LocalModel, MediaMessageBlock, TextMessageBlock

    model = LocalModel()
    asked = quoted = shown = right = 0
    for document in json.loads((RECEIPTS / "truth.json").read_text(encoding="utf-8")):
        asset = ImageAsset.from_path(RECEIPTS / f"{document['name']}.png")
        block = MediaMessageBlock(asset, "receipt", "[receipt_1 Receipt]")
        for question, accepted in document["qa"].values():
            content = [block, TextMessageBlock(question)]
            answer = model.invoke([{"role": "user", "content": content}])["content"]
            quote, _, rest = answer.partition("\n\n")
            asked += 1
            quoted += holds(quote, accepted)
            if rest and question.isascii():
                shown += 1
                right += holds(rest, accepted)
                if not holds(rest, accepted):
                    print(f"  wrong: {question} {rest}")
    return asked, quoted, shown, right


def holds(text: str, accepted: Iterable[str]) -> bool:
    """Whether `text` holds one of the `accepted` answers."""
    return any(answer.lower() in text.lower() for answer in accepted)


def load() -> str:
    """Return how busy the machine is."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    receipt = RECEIPTS / "r01_market.png"
    fresh(receipt)  # compiles what is new, and fills the disk cache
    print(f"new process to its answer about a receipt, {count} times; load before: {load()}")
    runs = [fresh(receipt) for _ in range(count)]
    evidence = statistics.median(seconds for seconds, _, _ in runs)
    finished = statistics.median(seconds for _, seconds, _ in runs)
    for seen, ended, spoke in runs:
        print(f"  evidence {seen:.2f} s, end {ended:.2f} s{'' if spoke else ', no sentence'}")
    print(f"  median evidence {evidence:.2f} s  limit {LIMIT_EVIDENCE_SECONDS:.0f}")
    print(f"  median end      {finished:.2f} s  limit {LIMIT_FINISHED_SECONDS:.0f}")
    print(f"  load after: {load()}")

    asked, quoted, shown, right = judge()
    print(f"questions about ten receipts: {asked}")
    print(f"  the first quote holds the answer: {quoted}")
    print(f"  sentences shown: {shown}, right: {right}")
    return int(
        evidence > LIMIT_EVIDENCE_SECONDS
        or finished > LIMIT_FINISHED_SECONDS
        or quoted < LIMIT_EVIDENCE_SHARE * asked
        or right < LIMIT_SENTENCE_SHARE * shown
    )


if __name__ == "__main__":
    raise SystemExit(main())
