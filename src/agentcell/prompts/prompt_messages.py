"""The sections of a prompt file, filled in, and images → messages with what the file asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentcell.errors import PromptError, PromptFormatError
from agentcell.openai_shape import text_part
from agentcell.prompts.prompt_file import PromptFile
from agentcell.prompts.prompt_slots import ImagePlace, filled, pieces


class PromptMessages(list[dict[str, Any]]):
    """OpenAI-shaped messages, and what the prompt's front matter says of the model.

    Parameters
    ----------
    messages
        ``{"role": …, "content": text or parts}`` each.
    model, settings
        Of the front matter; None and empty where it does not say. A copy made by slicing or
        adding is a plain list without them.
    """

    def __init__(
        self,
        messages: Iterable[dict[str, Any]] = (),
        *,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(messages)
        self.model = model
        self.settings = dict(settings or {})

    def __repr__(self) -> str:
        return f"PromptMessages({len(self)} messages, model={self.model!r})"


def filled_messages(
    file: PromptFile, values: Mapping[str, str], images: Sequence[dict[str, Any]]
) -> PromptMessages:
    """Return the messages of `file`.

    Parameters
    ----------
    values
        By slot; a slot without one stays as it is.
    images
        As parts of messages.

    Raises
    ------
    PromptError
        If a place has no image.
    """
    rendered = [(one.role, filled(one.text, values)) for one in file.sections]
    loose = unplaced([parts for _, parts in rendered], len(images))
    last = max(at for at, (role, _) in enumerate(rendered) if role == "user")
    messages = [
        {"role": role, "content": _content(parts, images, loose, is_last=at == last)}
        for at, (role, parts) in enumerate(rendered)
    ]
    return PromptMessages(messages, model=file.model, settings=file.settings)


def check_places(file: PromptFile, name: str) -> None:
    """Refuse an image's place outside what the user says, and two for all images.

    Raises
    ------
    PromptFormatError
        If there is one.
    """
    seen = False
    for section in file.sections:
        for place in (one for one in pieces(section.text) if isinstance(one, ImagePlace)):
            if section.role != "user":
                raise PromptFormatError(
                    name,
                    section.line,
                    f"${section.role}$ has a place for images; only $user$ may",
                    fix="move it there, or write %%images%% for the word itself.",
                )
            if place.number == 0 and seen:
                raise PromptFormatError(
                    name,
                    section.line,
                    "%images% stands twice",
                    fix="keep one, or place images singly: %image:1%.",
                )
            seen = seen or place.number == 0


def unplaced(texts: Iterable[list[str | ImagePlace]], count: int) -> list[int]:
    """Return the numbers of the images, from 0, that no text places by number.

    Parameters
    ----------
    texts
        Of all sections, filled in.
    count
        How many images there are.

    Raises
    ------
    PromptError
        If a place has no image.
    """
    placed: set[int] = set()
    for parts in texts:
        for place in (one for one in parts if isinstance(one, ImagePlace) and one.number):
            if not 1 <= place.number <= count:
                number = max(place.number, 0)
                raise PromptError(
                    f"The prompt has a place for image {number}, but {count} were given.",
                    fix="give as many images as it places, counted from 1.",
                )
            placed.add(place.number - 1)
    return [at for at in range(count) if at not in placed]


def _content(
    pieces_: list[str | ImagePlace],
    images: Sequence[dict[str, Any]],
    loose: list[int],
    *,
    is_last: bool,
) -> str | list[dict[str, Any]]:
    """Return a message's content; `loose` images are taken out of the list once placed."""
    content: list[dict[str, Any]] = []
    for piece in pieces_:
        if isinstance(piece, str):
            if piece.strip():
                content.append(text_part(piece))
        elif piece.number:
            content.append(images[piece.number - 1])
        else:
            content += [images[at] for at in loose]
            loose.clear()
    if is_last:
        content += [images[at] for at in loose]
        loose.clear()
    if any(part["type"] != "text" for part in content):
        return content
    return "".join(piece for piece in pieces_ if isinstance(piece, str))
