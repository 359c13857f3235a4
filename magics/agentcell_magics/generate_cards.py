"""What was made, to bundles that read well on every host: thumbnails, links, how it came to be."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentcell.adapters.price_table import shown as dollars
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.assets.preview import preview
from agentcell.card import NO_MATHS, QUIET, STYLE
from agentcell.errors import AttachmentError
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.strip import SHOWN_WIDTH, strip
from agentcell.imaging.wish import GenerationWish
from agentcell.messages import MediaMessageBlock
from agentcell.safe_text import as_html, as_literal, on_one_line, plain, shortened
from agentcell_magics.cards import SHOWN_HEIGHT, SMALL_SIDE, Bundle
from agentcell_magics.wording import say, word

_LARGE_SIDE = 448
"""Pixels of a thumbnail's longer side: eight of noise stay under 400 kB in the notebook."""

_LONGEST_STATE = 40
"""Characters of a service's own word for how a job stands."""

_LONGEST_REVISED = 2_000

_TYPES = {
    "image/png": "PNG image",
    "image/jpeg": "JPEG image",
    "image/webp": "WebP image",
    "image/gif": "GIF image",
    "image/avif": "AVIF image",
    "video/mp4": "MP4 video",
    "video/webm": "WebM video",
    "video/quicktime": "QuickTime video",
}


def counted(wish: GenerationWish) -> str:
    """Return how much is to be made: ``2 pictures``, ``a clip``."""
    if wish.kind == "video":
        return say("a clip")
    if wish.count == 1:
        return say("a picture")
    return say("{count} pictures", count=wish.count)


def priced(price: Decimal | None, *, is_free: bool) -> str:
    """Return what is said of a price before it is paid; nothing of what is free."""
    if is_free:
        return ""
    if price is None:
        return say("cost unknown")
    return say("about {counted}", counted=dollars(price))


def progress(head: Iterable[str], state: str, part: float | None, seconds: float) -> Bundle:
    """Return the line that tells how far a job is, with a bar where its service tells a part.

    Parameters
    ----------
    head
        Who makes what, and for how much.
    state
        The service's word for how it stands.
    part
        From 0 to 1; None: not known.
    seconds
        Since it began.
    """
    short = on_one_line(state, _LONGEST_STATE)
    percent = "" if part is None else f"{100 * min(1.0, max(0.0, part)):.0f} %"
    time = say("{seconds} s", seconds=f"{seconds:.0f}") if seconds >= 1 else ""
    said = " · ".join(filter(None, [*head, short, percent, time]))
    bar = ""
    if part is not None:
        value = f"{min(1.0, max(0.0, part)):.2f}"
        bar = (
            f'<progress value="{value}" max="1" style="width:100%;max-width:{SHOWN_WIDTH}px">'
            f"{percent}</progress>"
        )
    return {
        "text/html": f'<div {NO_MATHS} dir="auto" style="{QUIET}">{as_html(said)}'
        + (f"<div>{bar}</div></div>" if bar else "</div>"),
        "text/markdown": f"*{as_literal(said)}*",
        "text/plain": plain(said),
    }


def partial(data: bytes) -> tuple[Bundle, Bundle] | None:
    """Return a small picture of one that is not finished; None where it is none."""
    try:
        asset = ImageAsset.from_bytes(data)
    except AttachmentError:
        return None
    return _picture(asset, say("not finished"), side=SMALL_SIDE)


def thumbnails(generation: Generation) -> tuple[Bundle, Bundle] | None:
    """Return one bounded picture of all that was made; None where nothing can be shown."""
    found = [
        (asset, one)
        for one in generation.artifacts
        if (asset := _still(one)) is not None and preview(asset, max_side=_LARGE_SIDE) is not None
    ]
    if not found:
        return None
    alt = plain(found[0][1].alt or generation.prompt)
    if len(found) == 1:
        has_player = found[0][1].kind == "video"  # which shows the clip large below it
        return _picture(found[0][0], alt, side=SMALL_SIDE if has_player else _LARGE_SIDE)
    shown = strip(MediaMessageBlock(asset, "image", f"{n}.") for n, (asset, _) in enumerate(found))
    if shown is None:
        return None
    said = say("{count} pictures: {alt}", count=len(found), alt=alt)
    data, metadata = shown
    return {**data, "text/plain": said}, {
        kind: {**facts, "alt": said} for kind, facts in metadata.items()
    }


def _still(artifact: Artifact) -> MediaAsset | None:
    """Return a picture of it: itself, or a clip's poster."""
    place = artifact.path if artifact.kind == "image" else artifact.poster
    if place is None:
        return None
    try:
        return ImageAsset.from_path(place)
    except AttachmentError:
        return None


def _picture(asset: MediaAsset, alt: str, *, side: int) -> tuple[Bundle, Bundle] | None:
    shown = preview(asset, max_side=side)
    if shown is None:
        return None
    scale = min(1, SHOWN_HEIGHT / shown.height, SHOWN_WIDTH / shown.width)
    size = {"width": round(shown.width * scale), "height": round(shown.height * scale)}
    data = {shown.mime_type: base64.b64encode(shown.data).decode("ascii"), "text/plain": alt}
    return data, {shown.mime_type: {"alt": alt, **size}}


def result(generation: Generation, home: Path) -> tuple[Bundle, Bundle]:
    """Return the card below the thumbnails, and the facts that stand in its metadata.

    Parameters
    ----------
    home
        The notebook's folder, which links begin at.
    """
    html, markdown, text = [], [], []
    for one in generation.artifacts:
        name, link = _place(one.path, home)
        what = _described(one)
        label = f"<strong>{as_html(name)}</strong>"
        html.append(
            f'<div dir="auto">{f"<a href={_quoted(link)}>{label}</a>" if link else label}'
            f" {as_html(what)}</div>"
        )
        if one.kind == "video" and link:
            html.append(
                f'<video controls preload="metadata" src={_quoted(link)} style="width:'
                f'{SHOWN_WIDTH}px;max-width:100%;max-height:{SHOWN_HEIGHT}px"></video>'
            )
        shown = f"[{as_literal(name)}]({link})" if link else as_literal(name)
        markdown.append(f"- **{shown}** {as_literal(what)}")
        text.append(f"{plain(name)} {plain(what)}")
    missing = [say("Note: {note}", note=word(one)) for one in generation.missing]
    if generation.can_be_completed and generation.job_id:
        again = "%generate resume {job} asks for what is missing; nothing is paid for anew."
        missing.append(say(again, job=generation.job_id))
    for said in missing:
        html.append(f'<div dir="auto"><em>{as_html(said)}</em></div>')
        markdown.append(f"- *{as_literal(said)}*")
        text.append(plain(said))
    if revised := plain(generation.revised_prompt).strip():
        short = shortened(revised, _LONGEST_REVISED)
        html.append(
            f'<details style="{QUIET}"><summary>{as_html(say("As its maker put it"))}</summary>'
            f'<div dir="auto" style="white-space:pre-wrap;margin-left:1.2em">{as_html(short)}</div>'
            "</details>"
        )
    foot = " · ".join(_foot(generation))
    html.append(f'<div dir="auto" style="{QUIET}">{as_html(foot)}</div>')
    markdown.append(f"\n*{as_literal(foot)}*")
    text.append(plain(foot))
    bundle = {
        "text/html": f'<div {NO_MATHS} style="{STYLE}">{"".join(html)}</div>',
        "text/markdown": "\n".join(markdown),
        "text/plain": "\n".join(text),
    }
    return bundle, {"agentcell": facts(generation, home)}


def facts(generation: Generation, home: Path) -> dict[str, Any]:
    """Return what an output's metadata says of a generation, as JSON values.

    Parameters
    ----------
    home
        The notebook's folder: paths in it are written without it.
    """
    return {
        "generation": generation.job_id,
        "maker": plain(generation.maker),
        "seed": generation.seed,
        "cost": None if generation.cost is None else f"{generation.cost.normalize():f}",
        "parents": list(generation.parents),
        "files": [
            {
                "path": plain(_place(one.path, home)[0]),
                "type": one.mime_type,
                "digest": one.digest,
                "bytes": one.size_bytes,
                "alt": plain(one.alt),
            }
            for one in generation.artifacts
        ],
    }


def _foot(generation: Generation) -> Iterable[str]:
    yield plain(generation.maker)
    if generation.seed is not None:
        yield say("seed {number}", number=generation.seed)
    if generation.cost is None:
        yield say("cost unknown")
    elif generation.cost:
        yield dollars(generation.cost)


def _described(artifact: Artifact) -> str:
    kind = word(_TYPES.get(artifact.mime_type, artifact.mime_type))
    if artifact.width and artifact.height:
        return say(", ").join([kind, f"{artifact.width} × {artifact.height} px"])
    return kind


def _place(path: Path, home: Path) -> tuple[str, str]:
    """Return a file's name as it is shown, and the link to it; empty where none would work."""
    with_links = Path(os.path.realpath(path))
    for one, start in ((path, home), (with_links, Path(os.path.realpath(home)))):
        if one.is_absolute() and one.is_relative_to(start):
            name = one.relative_to(start).as_posix()
            is_seen = " ".join(plain(name).split()) == name  # a link leads where its text says
            return name, quote(name, errors="replace") if is_seen else ""
    return str(path), ""


def _quoted(link: str) -> str:
    return f'"{as_html(link)}"'
