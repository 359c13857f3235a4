"""What a `%generate` line says: a command, or a prompt among options → checked values."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentcell.errors import CellError
from agentcell_magics.line import Option, parse, shown
from agentcell_magics.words import pieces

GENERATE_OPTIONS = (
    Option(
        flags=("-m", "--model"),
        key="maker",
        kind="text",
        value="MODEL",
        help="who makes it: a maker, or MAKER/MODEL; see %generate models",
    ),
    Option(
        flags=("-n", "--n"),
        key="count",
        kind="count",
        value="N",
        help="how many pictures, 1 to 8",
    ),
    Option(
        flags=("--size",),
        key="size",
        kind="text",
        value="WIDTHxHEIGHT",
        help="in pixels, for example 1024x1024; or auto",
    ),
    Option(
        flags=("--format",),
        key="format",
        kind="choice",
        value="FORMAT",
        choices=("png", "webp", "jpeg", "jpg"),
        help="how pictures are stored: png (at first), webp or jpeg",
    ),
    Option(
        flags=("--quality",),
        key="quality",
        kind="choice",
        value="LEVEL",
        choices=("low", "medium", "high", "xhigh", "max", "auto"),
        help="more costs more; not every maker has all of them",
    ),
    Option(
        flags=("--edit",),
        key="edit",
        kind="text",
        value="IMG",
        many=True,
        help="start from this picture, a path or a variable; several times: from all of them",
    ),
    Option(
        flags=("--mask",),
        key="mask",
        kind="text",
        value="IMG",
        help="what may change in the first picture: where this one is transparent",
    ),
    Option(
        flags=("--seed",),
        key="seed",
        kind="integer",
        value="NUMBER",
        help="the same number gives the same picture, where the maker keeps to that",
    ),
    Option(
        flags=("--negative",),
        key="negative",
        kind="text",
        value="TEXT",
        help="what is not to be seen",
    ),
    Option(
        flags=("--video",),
        key="video",
        kind="flag",
        help="make a clip: that takes minutes",
    ),
    Option(
        flags=("--duration",),
        key="seconds",
        kind="count",
        value="SECONDS",
        help="how long the clip is",
    ),
    Option(
        flags=("--aspect",),
        key="aspect",
        kind="text",
        value="WIDTH:HEIGHT",
        help="the clip's shape, for example 16:9",
    ),
    Option(
        flags=("--output",),
        key="place",
        kind="text",
        value="PATH",
        help="where the file goes; else into generated-media beside the notebook",
    ),
    Option(
        flags=("-o",),
        key="variable",
        kind="name",
        value="VAR",
        help="keep the result in this variable, for {VAR} in the next cells",
    ),
    Option(
        flags=("--async",),
        key="in_background",
        kind="flag",
        help="make it in the background; the cell's result is a handle to wait for, or cancel",
    ),
    Option(
        flags=("--dry-run",),
        key="dry_run",
        kind="flag",
        help="show who would make it and what it would cost, and send nothing",
    ),
)

COMMANDS = {
    "models": "what can be named with --model",
    "backends": "who can make pictures and clips here, and what opens the others",
    "jobs": "what was asked here, and what became of it; --all: finished jobs too",
    "resume": "fetch a job that was paid for and is not on disk; nothing is asked anew",
    "cancel": "stop a job: one in the background, or at its service where that can be done",
}

_TAKES = {"resume": "ID [-o VAR]", "cancel": "ID", "jobs": "[--all]"}

_WITH_VARIABLE = 3
"""Words behind `resume`: ID -o VAR."""

_LONG_DASHES = "\u2012\u2013\u2014\u2015\u2212"
"""What a chat or a word processor puts where two dashes were typed; `parse` tells of it."""

_IN_WISH = (
    *("count", "size", "format", "quality"),
    *("seed", "negative", "seconds", "aspect"),
)
_CLIP_ONLY = {"seconds": "--duration", "aspect": "--aspect"}
_PICTURE_ONLY = {"format": "--format", "count": "--n", "mask": "--mask"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """What the line says besides its prompt.

    Parameters
    ----------
    wish
        What goes into a `GenerationWish` as it is, by its parameters' names.
    edit, mask
        Places of pictures: paths, addresses or variables.
    place
        Where the file goes; empty: where such files go.
    variable
        What keeps the result.
    in_background
        Whether the cell is over before it is made.
    dry_run
        Whether only the plan is shown.
    """

    wish: dict[str, Any]
    edit: tuple[str, ...] = ()
    mask: str = ""
    place: str = ""
    variable: str | None = None
    in_background: bool = False
    dry_run: bool = False


def command_of(line: str) -> tuple[str, list[str]] | None:
    """Return the command that a `%generate` line gives, with its words; None for a prompt.

    A line that begins like a command never makes a picture: that may cost money.

    Raises
    ------
    CellError
        If it looks like a command and is none, or is given too much or too little.
    """
    words = line.split()
    if not words:
        return "jobs", []
    name, rest = words[0], words[1:]
    close = difflib.get_close_matches(name.lower(), [*COMMANDS, "job"], n=1, cutoff=0.8)
    if name not in COMMANDS:
        if not rest and close and name.isalpha():
            meant = "jobs" if close[0] == "job" else close[0]
            raise CellError(
                f"%generate {shown(name)}: did you mean %generate {meant}?",
                fix=f"for a picture of that word, write it in quotes, or below %%generate: {name}",
            )
        return None
    takes = _TAKES.get(name, "")
    if name == "resume" and len(rest) == _WITH_VARIABLE and rest[1] == "-o":
        _, found = parse(" ".join(rest[1:]), GENERATE_OPTIONS, "%generate resume")
        rest = [rest[0], found["variable"]]
    elif not _fits(takes, rest):
        given = shown(" ".join(rest)) or "nothing"
        raise CellError(
            f"%generate {name} takes {takes or 'nothing more'}, but {given} was given.",
            fix=f"write %generate {name} {takes}".rstrip()
            + "; a prompt that begins so goes in quotes, or below %%generate.",
        )
    return name, rest


def _fits(takes: str, rest: list[str]) -> bool:
    if takes.startswith("ID"):
        return len(rest) == 1 and not rest[0].startswith("-")
    return not rest or (takes == "[--all]" and rest == ["--all"])


def generate_options(line: str, body: str | None = None) -> tuple[str, GenerateOptions]:
    """Return the prompt as typed, and the options.

    Parameters
    ----------
    line
        Behind the magic's name. A prompt in it stays as typed, quotes and apostrophes included,
        unless all of it stands in one pair of quotes.
    body
        Below `%%generate`; None for `%generate`.

    Raises
    ------
    CellError
        If the line cannot be read, or there is no prompt, or two.
    """
    magic = "%generate" if body is None else "%%generate"
    prompt, options = _split(line)
    _, found = parse(options, GENERATE_OPTIONS, magic)
    text = (body or "").strip("\n").rstrip()
    if text.strip() and prompt:
        raise CellError(
            f"%%generate takes its prompt below the line, but {shown(prompt)} stands on it too.",
            fix="write all of it below the line.",
        )
    prompt = text if text.strip() else prompt
    if not prompt.strip():
        raise CellError(
            f"This {magic} has no prompt.",
            fix="say what is to be seen, for example %generate a lighthouse at dusk.",
        )
    return prompt, _options(found)


def _split(line: str) -> tuple[str, str]:
    """Return the prompt in a line, and all else of it."""
    by_flag = {flag: option for option in GENERATE_OPTIONS for flag in option.flags}
    prompt: list[tuple[int, int]] = []
    options: list[str] = []
    words = pieces(line)
    for start, end, value in words:
        raw = line[start:end]
        is_slip = raw[0] in _LONG_DASHES and f"--{raw.lstrip(_LONG_DASHES + '-')}" in by_flag
        if not is_slip and (not raw.startswith("-") or raw == "-"):
            prompt.append((start, end))
            continue
        options.append(raw)
        flag, equals, _ = value.partition("=")
        option = by_flag.get(flag)
        if option is not None and option.kind != "flag" and not equals:
            following = next(words, None)
            options += [] if following is None else [line[following[0] : following[1]]]
    text = " ".join(line[start:end] for start, end in _runs(line, prompt))
    if len(prompt) == 1 and text[:1] in {'"', "'", "“"}:
        text = next(pieces(text))[2]
    return text, " ".join(options)


def _runs(line: str, words: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield words that only blanks part as one piece: the prompt as it was typed."""
    begun: tuple[int, int] | None = None
    for start, end in words:
        if begun is not None and not line[begun[1] : start].strip():
            begun = begun[0], end
            continue
        if begun is not None:
            yield begun
        begun = start, end
    if begun is not None:
        yield begun


def _options(found: dict[str, Any]) -> GenerateOptions:
    for option in GENERATE_OPTIONS:
        given = found.get(option.key)
        texts = given if isinstance(given, list) else [given]
        if any(isinstance(text, str) and not text.strip() for text in texts):
            raise CellError(
                f"{option.flags[-1]} is empty.", fix="give it a value, or leave it out."
            )
    is_video = found.pop("video", False)
    wrong = _PICTURE_ONLY if is_video else _CLIP_ONLY
    for key, flag in wrong.items():
        if key in found:
            what, other = ("a picture's", "a clip") if is_video else ("a clip's", "a picture")
            raise CellError(
                f"{flag} is {what}, and {other} was asked for.",
                fix="leave it out"
                + (" or leave out --video." if is_video else ", or add --video."),
            )
    if found.get("format") == "jpg":
        found["format"] = "jpeg"
    wish: dict[str, Any] = {key: found.pop(key) for key in _IN_WISH if key in found}
    if "maker" in found:
        wish["model"] = found.pop("maker")
    if is_video:
        wish["kind"] = "video"
    return GenerateOptions(wish=wish, edit=tuple(found.pop("edit", ())), **found)
