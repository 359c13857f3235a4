"""A ``.prompt`` file and values for its slots → OpenAI-shaped messages, with images as data URLs.

What the file's front matter says of the model goes along with the messages, and is used where
nothing nearer says otherwise: the argument of a call goes before a cell's option, that before the
file's front matter, and that before a session's default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from agentcell.assets.access import AccessPolicy
from agentcell.assets.intake import local_path
from agentcell.assets.wording import short
from agentcell.errors import PromptError, PromptWarning
from agentcell.prompts.prompt_card import prompt_card
from agentcell.prompts.prompt_disk import prompt_text, save_text
from agentcell.prompts.prompt_file import read_prompt, write_prompt
from agentcell.prompts.prompt_images import MAX_BYTES, MAX_IMAGES, ImageRules, image_parts
from agentcell.prompts.prompt_messages import PromptMessages, check_places, filled_messages
from agentcell.prompts.prompt_sections import Section
from agentcell.prompts.prompt_slots import IMAGES, ImagePlace, filled, slots
from agentcell.prompts.prompt_values import slot_text
from agentcell.prompts.template import near_miss
from agentcell.warned import warn

Missing: TypeAlias = Literal["strict", "keep", "empty"]
"""What becomes of a slot without a value: an error, itself as it stands, or nothing."""

_MISSING = ("strict", "keep", "empty")


class SimplePrompt:
    """A prompt file: sections for system, user and assistant, with slots for text and images.

    Parameters
    ----------
    path
        A ``.prompt`` file: UTF-8, read once, at most 4 MB.
    missing
        What becomes of a slot without a value: ``strict`` (an error that lists them all),
        ``keep`` or ``empty``.
    strict_unused
        Whether a value that no slot asks for is an error; else it is a `PromptWarning`.
    strict_images
        Whether a picture that is of another type than its name or data URL says is an error;
        else it is corrected, with a `PromptWarning`.
    allow_urls
        Whether ``images`` may hold addresses, which the provider fetches; nothing is fetched
        here.
    max_image_bytes, max_images
        Of one picture's file, and in one prompt.
    access
        Where paths in ``images`` may lead, by the rules for paths that a model chose. None: to
        every regular file that the person can read, for paths that a person wrote.

    Raises
    ------
    PromptError
        If there is no such file, or an option is of the wrong kind.
    PromptFormatError
        If it cannot be read; says the line.
    """

    def __init__(  # noqa: PLR0913 (each is a rule of its own)
        self,
        path: str | os.PathLike[str],
        *,
        missing: Missing = "strict",
        strict_unused: bool = False,
        strict_images: bool = False,
        allow_urls: bool = False,
        max_image_bytes: int = MAX_BYTES,
        max_images: int = MAX_IMAGES,
        access: AccessPolicy | None = None,
    ) -> None:
        found = local_path(path)
        self._take(
            prompt_text(found),
            found.name,
            missing=missing,
            strict_unused=strict_unused,
            strict_images=strict_images,
            allow_urls=allow_urls,
            max_image_bytes=max_image_bytes,
            max_images=max_images,
            access=access,
        )

    def _take(  # noqa: PLR0913 (see the constructor)
        self,
        text: str,
        name: str,
        *,
        missing: Missing = "strict",
        strict_unused: bool = False,
        strict_images: bool = False,
        allow_urls: bool = False,
        max_image_bytes: int = MAX_BYTES,
        max_images: int = MAX_IMAGES,
        access: AccessPolicy | None = None,
    ) -> None:
        if missing not in _MISSING:
            raise PromptError(
                f"missing is {str(missing)[:40]!r}; one of {', '.join(_MISSING)} was expected.",
                fix='use missing="strict" to be told of every slot without a value.',
            )
        self.name = name
        self._file = read_prompt(text, name)
        self._missing = missing
        self._strict_unused = strict_unused
        self._rules = ImageRules(
            max_bytes=_count("max_image_bytes", max_image_bytes),
            max_images=_count("max_images", max_images),
            allow_urls=allow_urls,
            strict=strict_images,
            access=access,
        )
        check_places(self._file, name)

    @classmethod
    def from_text(cls, text: str, *, name: str = "the prompt", **options: Any) -> Self:
        """Return the prompt that a file with this text would be.

        Parameters
        ----------
        text
            All of a prompt file.
        name
            What it is called in errors.
        options
            Those of the constructor.

        Raises
        ------
        PromptFormatError
            If it cannot be read.
        """
        made = cls.__new__(cls)
        made._take(text, name, **options)  # noqa: SLF001 (it is one of this class)
        return made

    @classmethod
    def of(
        cls,
        *sections: tuple[str, str],
        front: Mapping[str, Any] | None = None,
        name: str = "the prompt",
        **options: Any,
    ) -> Self:
        """Return the prompt of these sections, for example to save it.

        Parameters
        ----------
        sections
            Each a role (``system``, ``user``, ``assistant``) and a text, whose ``%name%`` are
            slots. A line that looks like a section's mark is text here.
        front
            The front matter: ``model``, ``temperature``, anything else.
        name, options
            As for `from_text`.

        Raises
        ------
        PromptFormatError
            If no file can hold it: blank lines around a text, or fenced code that is not closed.
        """
        parts = [Section(role, text) for role, text in sections]
        return cls.from_text(write_prompt(parts, front or {}, name), name=name, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Return the prompt in a file; the same as the constructor.

        Parameters
        ----------
        path, options
            Those of the constructor.
        """
        return cls(path, **options)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the prompt to a file, whole or not at all, and return its path.

        Parameters
        ----------
        path
            In a folder that is there; a file of that name is replaced.

        Raises
        ------
        PromptError
            If it cannot be written.
        """
        return save_text(self.text, path)

    # -- what it says

    @property
    def text(self) -> str:
        """The whole file."""
        return self._file.text

    @property
    def model(self) -> str | None:
        """Who is asked, by the front matter; None if it does not say."""
        return self._file.model

    @property
    def settings(self) -> dict[str, Any]:
        """``temperature``, ``top_p`` and ``max_tokens``, as far as the front matter gives them."""
        return dict(self._file.settings)

    @property
    def metadata(self) -> dict[str, Any]:
        """The front matter's other keys."""
        return dict(self._file.metadata)

    @property
    def config(self) -> dict[str, Any]:
        """All of the front matter."""
        named = {} if self.model is None else {"model": self.model}
        return {**named, **self._file.settings, **self._file.metadata}

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """Roles and texts, slots as they stand, in the file's order."""
        return tuple((one.role, one.text) for one in self._file.sections)

    @property
    def missing(self) -> Missing:
        """What becomes of a slot without a value."""
        return self._missing

    @property
    def slots(self) -> tuple[str, ...]:
        """The names that want a value, in order; ``images`` is none of them."""
        return tuple(slots(text for _, text in self.sections))

    def __repr__(self) -> str:
        return f"SimplePrompt({short(self.name)!r}, slots={list(self.slots)})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return prompt_card(self.name, self._file)

    # -- filled in

    def build_messages(self, /, **context: Any) -> PromptMessages:
        """Return the messages with values in their slots.

        Parameters
        ----------
        context
            A value for each slot: a text, a number, or a list or mapping, which becomes compact
            JSON. What stands in a value is text: no slot, no section. ``images``: a picture or a
            list of them, each a path, a data URL, bytes, an `ImageAsset`, or what a notebook
            shows as a picture; None and ``[]`` are none.

        Returns
        -------
        PromptMessages
            A list of dicts. A user's content is a list of parts where images are in it, else a
            text. Images stand where ``%image:N%`` (from 1) and ``%images%`` (all that have no
            place of their own) are, others after the last user's text.

        Raises
        ------
        PromptError
            If a slot has no value (unless ``missing`` says otherwise), a value has no text, or
            an image's place has no image.
        AttachmentError
            If an image cannot be used; it is named by its number.

        Warns
        -----
        PromptWarning
            If no slot asks for a value, or an image is of another type than it claims.
        """
        images = context.pop(IMAGES, None)
        values = self._values(context)
        return filled_messages(self._file, values, image_parts(images, self._rules))

    def fill(self, /, **context: Any) -> list[tuple[str, list[str | ImagePlace]]]:
        """Return roles and texts with values in them, images' places between; no images.

        Parameters
        ----------
        context
            As for `build_messages`, without ``images``.

        Raises
        ------
        PromptError
            As there.
        """
        values = self._values(context)
        return [(one.role, filled(one.text, values)) for one in self._file.sections]

    def _values(self, context: Mapping[str, Any]) -> dict[str, str]:
        wanted = self.slots
        absent = sorted(set(wanted) - context.keys())
        unused = sorted(context.keys() - set(wanted))
        if absent and self._missing == "strict":
            hints = ((name, near_miss(name, unused)) for name in absent)
            meant = next((f"{near} → {name}" for name, near in hints if near), "")
            raise PromptError(
                f"{self.name} wants values that were not given: {', '.join(absent)}.",
                fix=f"rename {meant}." if meant else f"give them: build_messages({absent[0]}=…).",
            )
        if unused:
            known = ", ".join(f"%{name}%" for name in wanted) or "none"
            said = f"{self.name} has no slot for {', '.join(unused)}; its slots are {known}"
            if self._strict_unused:
                raise PromptError(f"{said}.", fix="leave the others out.")
            warn(f"{said}.", PromptWarning)
        given = {name: slot_text(name, context[name]) for name in wanted if name in context}
        return given | dict.fromkeys(absent, "") if self._missing == "empty" else given


def _count(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise PromptError(
        f"{name} is {repr(value)[:40]}; a whole number, at least 1, was expected.",
        fix=f"set {name} to one, or leave it out.",
    )
