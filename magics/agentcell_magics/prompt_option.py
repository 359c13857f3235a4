"""`--prompt FILE NAME=VALUE …` and a cell's body → what the session is asked.

One rule for a value: the name of a variable is that variable's value, everything else is the text
as it was typed. ``images=`` may be given several times; its values are pictures or paths. A body
that is not blank is the value of the slot ``%text%``; nothing in it is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentcell.errors import CellError
from agentcell.messages import Message
from agentcell.modality import FieldModality
from agentcell.prompts.place import field_name
from agentcell.prompts.prompt_messages import unplaced
from agentcell.prompts.prompt_slots import IMAGES, ImagePlace
from agentcell.prompts.simple_prompt import SimplePrompt
from agentcell.prompts.template import near_miss
from agentcell_magics.attach import asset_at
from agentcell_magics.line import shown
from agentcell_magics.options import AgentOptions
from agentcell_magics.wording import say

_BODY = "text"
"""The slot that a cell's body fills."""

_MOST_HINTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """A prompt file, filled in, as `Session.prepare` takes it.

    Parameters
    ----------
    text
        The last user's text; ``{name}`` stands for the attachment of that name, and no other.
    attach, fields
        The images, by name, and that they are images.
    system
        The instructions; None if the file has none.
    examples
        What is said between instructions and question.
    model, settings
        Of the file's front matter.
    hints
        What looks like a slip, one sentence each.
    """

    text: str
    attach: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    system: str | None = None
    examples: tuple[Message, ...] = ()
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    hints: tuple[str, ...] = ()


def prompted(
    file: str,
    slots: Iterable[tuple[str, str]],
    body: str,
    values: Mapping[str, Any],
    taken: Collection[str] = (),
) -> Prompted:
    """Return what the session is asked.

    Parameters
    ----------
    file
        A path, or the name of a variable that holds a `SimplePrompt`.
    slots
        Names and values as typed.
    body
        The cell's; may be blank.
    values
        The notebook's variables.
    taken
        Names that other attachments of the cell have.

    Raises
    ------
    CellError
        If a slot has no value or two, a value has no slot, or the prompt has sections that one
        question of a notebook cannot hold.
    PromptError, AttachmentError
        If the file, a value or an image cannot be used.
    """
    prompt = _prompt(file, values)
    given = _given(slots, body, prompt)
    pictures = given.pop(IMAGES, [])
    context = {name: _value(raw[0], values) for name, raw in given.items() if name != _BODY}
    if _BODY in given:
        context[_BODY] = body if body.strip() else _value(given[_BODY][0], values)
    _check_names(prompt, context)
    images = _images(pictures, values, taken)
    sections = prompt.fill(**context)
    names = list(images)
    loose = unplaced([parts for _, parts in sections], len(names))
    *before, (role, last) = [(role, parts) for role, parts in sections if role != "system"]
    if role != "user":
        raise CellError(
            f"{prompt.name} ends with ${role}$; a question ends with $user$.",
            fix="end it with $user$, or use AgentRunner, which sends any messages.",
        )
    if any(isinstance(piece, ImagePlace) for _, parts in before for piece in parts):
        raise CellError(
            f"{prompt.name} has a place for an image before its last $user$.",
            fix="move it there, or use AgentRunner, which sends any messages.",
        )
    system = [_joined(parts) for role, parts in sections if role == "system"]
    return Prompted(
        text=_text(last, names, loose),
        attach=images,
        fields={name: f"IMAGE:{name}" for name in names},
        system=system[0] if system else None,
        examples=tuple({"role": role, "content": _joined(parts)} for role, parts in before),
        model=prompt.model,
        settings=prompt.settings,
        hints=tuple(_hints(given, values))[:_MOST_HINTS],
    )


def with_prompt(options: AgentOptions, file: Prompted) -> AgentOptions:
    """Return what a cell's line says, and below it what the prompt file does.

    Parameters
    ----------
    options
        They go before the file's front matter; that goes before the session's own.
    file
        Filled in.
    """
    return replace(
        options,
        model=options.model or file.model,
        settings={**file.settings, **options.settings},
        system=file.system if options.system is None else options.system,
        fields={**options.fields, **file.fields},
    )


def _prompt(file: str, values: Mapping[str, Any]) -> SimplePrompt:
    held = values.get(file)
    if isinstance(held, SimplePrompt) and not Path(file).exists():
        return held
    return SimplePrompt(file)


def _given(
    slots: Iterable[tuple[str, str]], body: str, prompt: SimplePrompt
) -> dict[str, list[str]]:
    """Return the values as typed, by name; the body under its own."""
    given: dict[str, list[str]] = {}
    for name, raw in slots:
        given.setdefault(name, []).append(raw)
    for name, raws in given.items():
        if len(raws) > 1 and name != IMAGES:
            raise CellError(f"{shown(name)}= is given twice.", fix="keep one of them.")
    if body.strip():
        if _BODY in given:
            raise CellError(
                f"The slot %{_BODY}% is given twice: by the line, and by the cell's text.",
                fix="keep one of them.",
            )
        if _BODY not in prompt.slots:
            raise CellError(
                f"This cell has a text, but {prompt.name} has no slot %{_BODY}% for it.",
                fix="leave it out, or write that slot into the file.",
            )
        given[_BODY] = [body]
    return given


def _value(raw: str, values: Mapping[str, Any]) -> Any:
    return values.get(raw, raw)


def _check_names(prompt: SimplePrompt, context: Mapping[str, Any]) -> None:
    slots = prompt.slots
    known = ", ".join(slots) or "none"
    for name in context:
        if name not in slots:
            near = near_miss(name, slots)
            raise CellError(
                f"{prompt.name} has no slot %{shown(name)}%; its slots are: {known}.",
                fix=f"did you mean {near}=?" if near else "leave it out, or name one of these.",
            )
    absent = [name for name in slots if name not in context]
    if absent and prompt.missing == "strict":
        line = " ".join(f"{name}=…" for name in absent)
        more = f", or write {_BODY} below it" if _BODY in absent else ""
        raise CellError(
            f"{prompt.name} wants values that were not given: {', '.join(absent)}.",
            fix=f"add to the line: {line}{more}.",
        )


def _images(
    raws: Iterable[str], values: Mapping[str, Any], taken: Collection[str]
) -> dict[str, Any]:
    """Return pictures by a name of their own each."""
    found: dict[str, Any] = {}
    for raw in raws:
        value = _value(raw, values)
        several = list(value) if isinstance(value, (list, tuple)) else [value]
        for one in several:
            place = str(one) if isinstance(one, (str, Path)) else None
            base = raw if raw in values else field_name(raw)
            if place is not None and len(several) > 1:
                base = field_name(place)
            name, number = base, 2
            while name in found or name in taken:
                name, number = f"{base}_{number}", number + 1
            if place is not None:  # as typed: no variable is meant by what a variable holds
                one = asset_at(place, FieldModality.IMAGE, {}, option=f"{IMAGES}=")  # noqa: PLW2901
            found[name] = one
    return found


def _text(pieces: Iterable[str | ImagePlace], names: list[str], loose: list[int]) -> str:
    """Return the question: an image's place holds its name in braces, no other braces mean any."""
    said = []
    for piece in pieces:
        if isinstance(piece, str):
            said.append(_literal(piece, names))
        elif piece.number:
            said.append(f"{{{names[piece.number - 1]}}}")
        else:
            said.append(", ".join(f"{{{names[at]}}}" for at in loose))
    return "".join(said)


def _literal(text: str, names: Iterable[str]) -> str:
    """Return `text` so that no name in braces is taken for an attachment's."""

    def doubled(found: re.Match[str]) -> str:
        left, name, right = found.groups()
        pairs = min(len(left), len(right))
        return f"{left}{'{' * pairs}{name}{'}' * pairs}{right}"

    for name in names:
        text = re.sub(rf"(\{{+)({re.escape(name)})(\}}+)", doubled, text)
    return text


def _joined(pieces: Iterable[str | ImagePlace]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _hints(given: Mapping[str, list[str]], values: Mapping[str, Any]) -> Iterable[str]:
    """Yield what looks like a misspelt variable."""
    for name, raws in given.items():
        for raw in raws:
            if raw.isidentifier() and raw not in values and (near := near_miss(raw, values)):
                yield say(
                    "{name}={value} goes out as that text: did you mean the variable {near}?",
                    name=name,
                    value=raw,
                    near=near,
                )
