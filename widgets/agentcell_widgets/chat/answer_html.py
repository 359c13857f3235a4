"""A model's Markdown → HTML that runs and loads nothing, with its formulas marked for the host.

The host's own typesetter draws what stands in the marked elements, and nothing else: two prices in
dollars stay prices. Where there is none, a formula reads as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentcell.history.export_html import as_page
from agentcell.markdown_code import pieces
from agentcell.markdown_maths import runs
from agentcell.safe_text import as_html, plain, safe_maths

_OPEN, _CLOSE = "\ue000", "\ue001"
"""What stands for a formula while the rest is made HTML: letters of nobody's language."""

_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_OWN = str.maketrans("", "", _OPEN + _CLOSE)


LONGEST_FORMATTED = 200_000
"""Characters of an answer that are formatted; the rest stands below, as it was written."""


def answer_html(text: str) -> str:
    """Return the HTML; formulas are in elements of the class ``agentcell-maths``.

    Parameters
    ----------
    text
        Whatever a model said.
    """
    formulas: list[str] = []
    clean = plain(text).translate(_OWN)
    end = len(clean)
    if end > LONGEST_FORMATTED:  # to the end of a line, if there is one
        end = clean.rfind("\n", 0, LONGEST_FORMATTED) + 1 or LONGEST_FORMATTED
    marked = "".join(_marked(clean[:end], formulas))

    def formula(match: re.Match[str]) -> str:
        number = int(match[1])
        shown = as_html(safe_maths(formulas[number])) if number < len(formulas) else ""
        return f'<span class="agentcell-maths mathjax_process">{shown}</span>'

    rest = f"<pre>{as_html(clean[end:])}</pre>" if clean[end:].strip() else ""
    return f"{_MARK.sub(formula, as_page(marked))}{rest}"


def _marked(text: str, formulas: list[str]) -> Iterator[str]:
    """Yield the text with a mark for each formula, which `formulas` takes."""
    for piece in pieces(text):
        if piece.kind != "text":
            yield piece.text
            continue
        for run in runs(piece.text):
            if run.is_maths:
                yield f"{_OPEN}{len(formulas)}{_CLOSE}"
                formulas.append(run.text)
            else:
                yield run.text
