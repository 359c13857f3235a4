"""What the page and a reader without a kernel see of results and of jobs that are not finished."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentcell.adapters.price_table import shown as dollars
from agentcell.assets.asset import ImageAsset
from agentcell.assets.preview import Preview, preview
from agentcell.errors import AgentcellError
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.job import Job
from agentcell.safe_text import as_html, as_literal, on_one_line, plain
from agentcell.wording import say, word
from agentcell_widgets.generation.runs import Run
from agentcell_widgets.panel import Static, that_fit

LONGEST = 200
"""Characters of a prompt that are shown."""

MOST_SHOWN = 60
"""Results in the page, and jobs: the newest."""

_MOST_STATIC = 24
_STATIC_WIDTH = 200


def short(prompt: str) -> str:
    """Return a prompt's beginning in one line, safe to show."""
    return on_one_line(prompt, LONGEST)


def run_card(run: Run) -> dict[str, Any]:
    """Return what the page shows of a wish that is on its way, or came to nothing."""
    return {
        "id": run.id,
        "prompt": short(run.prompt),
        "state": word(plain(run.state)[:60]),
        "isOver": run.is_over,
        "part": run.part,
        "seconds": run.seconds,
        "previews": run.previews,
        "problem": plain(run.problem),
        "fix": plain(run.fix),
    }


def job_cards(jobs: Iterable[Job], followed: Container[str]) -> list[dict[str, Any]]:
    """Return what the page shows of jobs that may be paid for and are not on disk.

    Parameters
    ----------
    jobs
        Of the ledger.
    followed
        Those that somebody waits for now, in this panel or elsewhere; they are left out.
    """
    left = [job for job in jobs if job.is_unfinished and job.id not in followed]
    return [
        {
            "id": job.id,
            "prompt": short(job.prompt),
            "state": word(job.state),
            "when": time.strftime("%Y-%m-%d %H:%M", job.created.astimezone().timetuple()),
            "maker": plain(job.backend),
        }
        for job in left[-MOST_SHOWN:]
    ]


def result_cards(generations: Sequence[Generation], root: Path) -> list[dict[str, Any]]:
    """Return what the page shows of each file, the newest first.

    Parameters
    ----------
    generations
        In order.
    root
        The notebook's folder: a clip in it can be played.
    """
    cards = []
    for number, generation in reversed(list(enumerate(generations))[-MOST_SHOWN:]):
        for index, made in enumerate(generation.artifacts):
            cards.append(
                {
                    "id": f"{number}/{index}",
                    "kind": made.kind,
                    "name": plain(made.path.name),
                    "alt": plain(made.alt) or short(generation.prompt),
                    "prompt": short(generation.prompt),
                    "facts": facts(generation, made),
                    "place": _address(made, root) if made.kind == "video" else "",
                }
            )
    return cards


def facts(generation: Generation, made: Artifact) -> str:
    """Return in one line how a file came to be."""
    parts = [plain(generation.model or generation.backend)]
    if made.width and made.height:
        parts.append(f"{made.width} × {made.height}")
    if generation.seed is not None:
        parts.append(say("seed {seed}", seed=generation.seed))
    if generation.cost is None:
        parts.append(word("cost not known"))
    else:
        parts.append(dollars(generation.cost) if generation.cost else word("free"))
    return " · ".join(parts)


def picture_of(made: Artifact, side: int) -> Preview | None:
    """Return a file as a small picture: of a clip its poster; None where there is none."""
    place = made.poster if made.kind == "video" else made.path
    if place is None:
        return None
    try:
        return preview(ImageAsset.from_path(place), max_side=side)
    except AgentcellError:  # it was moved or deleted meanwhile
        return None


def static(title: str, generations: Sequence[Generation], root: Path) -> Static:
    """Return the results as they read anywhere; pictures stand there by their path.

    Parameters
    ----------
    title
        The panel's.
    generations
        In order.
    root
        The notebook's folder: files in it are shown, others named.
    """
    made = [(one, file) for one in generations for file in one.artifacts][-_MOST_STATIC:]
    if not made:
        said = f"{title}: {word('No results yet.')}"
        return Static(html=f"<p>{as_html(said)}</p>", markdown=as_literal(said), text=plain(said))
    rows = []
    for generation, file in reversed(made):
        place, line = _address(file, root), facts(generation, file)
        prompt = short(generation.prompt)
        seen = f"{prompt} ({line})"
        name = plain(file.path.name)
        if place and file.kind == "image":
            width = min(_STATIC_WIDTH, file.width or _STATIC_WIDTH)
            picture = (
                f'<img src="{as_html(place)}" alt="{as_html(file.alt or prompt)}" width="{width}">'
            )
            html = f"<li>{picture}<br>{as_html(seen)}</li>"
            markdown = f"- ![{as_literal(file.alt or prompt)}]({place}) {as_literal(seen)}"
        else:
            html = f"<li><code>{as_html(name)}</code> {as_html(seen)}</li>"
            markdown = f"- {as_literal(f'{name}: {seen}')}"
        rows.append((html, markdown, f"{name}: {seen}"))
    kept = rows[: that_fit(rows)][::-1]  # the last ones, in order
    items = "".join(one for one, _, _ in kept)
    return Static(
        html=f"<p><strong>{as_html(title)}</strong></p><ul>{items}</ul>",
        markdown="\n".join([f"**{as_literal(title)}**", "", *(one for _, one, _ in kept)]),
        text="\n".join(one for _, _, one in kept),
    )


def _address(file: Artifact, root: Path) -> str:
    """Return a file's place beside the notebook; empty if it lies elsewhere."""
    try:
        return quote(file.path.absolute().relative_to(root.absolute()).as_posix())
    except ValueError:
        return ""
