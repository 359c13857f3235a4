"""Conversations → a notebook whose cells ask the same again, with the answers saved in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentcell.adapters.registry import providers
from agentcell.assets.sniff import EXTENSIONS
from agentcell.history.chapters import Chapter, Exported, FileNames
from agentcell.history.notebook import MAIN
from agentcell.history.saved_facts import saved_facts
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock
from agentcell.prompts.tags import announced_tag
from agentcell.safe_text import as_literal, plain, safe_markdown

_SLOT = re.compile(r"\{([^\W\d]\w*)\}")
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def exported(title: str, chapters: list[Chapter], folder: str) -> Exported:
    """Return the notebook, and the attachments that its cells name in `folder`.

    Tools, schemas and skills are no part of the history: a cell says where there were any.

    Parameters
    ----------
    title
        Any text.
    folder
        The name of the folder beside the file.
    """
    writer = _Writer(folder)
    writer.markdown(f"# {as_literal(title)}")
    writer.code("%load_ext agentcell")
    for chapter in chapters:
        if len(chapters) > 1:
            writer.markdown(f"## {as_literal(chapter.name)}")
        for turn in chapter.turns:
            writer.turn(chapter, turn)
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "cells": writer.cells,
        "metadata": {"kernelspec": python, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    return Exported(text=text, files=writer.files)


class _Writer:
    """Gathers the cells and what lies beside them."""

    def __init__(self, folder: str) -> None:
        self.cells: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self._folder = folder
        self._names = FileNames()
        self._providers = {info.name for info in providers()}
        self._ids: set[str] = set()
        self._has_classes = False

    def markdown(self, text: str) -> None:
        """Add a cell of text."""
        cell = {"cell_type": "markdown", "id": self._id(""), "metadata": {}, "source": text}
        self.cells.append(cell)

    def code(self, source: str, outputs: Iterable[Any] = (), name: str = "") -> None:
        """Add a cell of code with what it showed."""
        self.cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "id": self._id(name),
                "metadata": {},
                "outputs": list(outputs),
                "source": source,
            }
        )

    def turn(self, chapter: Chapter, turn: Turn) -> None:
        """Add the cell that asks a turn's question again."""
        question = turn.question
        wanted = [block for block in turn.attachments if block.fingerprint not in chapter.forgotten]
        names = _names(wanted, question)
        words = list(self._line(chapter, turn))
        missing = [b.tag for b in turn.attachments if b.fingerprint in chapter.forgotten]
        missing += _missing(turn)
        for block, name in zip(wanted, names, strict=True):
            place = self._place(block, name)
            if place is None:
                missing.append(block.tag)
                continue
            question = _with_slot(question, block.tag, name)
            if place:
                words.append(f"-a {name}={quoted(place)}")
            words += self._declaration(block, name)
        for note in self._notes(turn, missing):
            self.markdown(f"*{as_literal(note)}*")
        body = question.strip("\n").rstrip()
        if not body.strip():
            self.markdown(f"*{as_literal('A question without words stood here.')}*")
            return
        source = f"{' '.join(['%%agent', *words])}\n{body}"
        self.code(source, self._outputs(chapter, turn, source), turn.id)

    def _line(self, chapter: Chapter, turn: Turn) -> Iterator[str]:
        if turn.model.partition("/")[0] in self._providers:
            yield f"-m {quoted(turn.model)}"
        if chapter.name != MAIN:
            yield f"-c {quoted(chapter.name)}"
        if turn.fresh:
            yield "--fresh"
        if turn.system is not None:
            yield f"-s {quoted(turn.system)}"
        forms = [turn.forms[b.fingerprint] for b in turn.attachments if b.fingerprint in turn.forms]
        details = {form.detail for form in forms}
        kinds = {form.pdf_as for form in forms}
        if len(details) == 1 and details != {""}:
            yield f"--detail {details.pop()}"
        if len(kinds) == 1 and kinds != {"pdf"}:
            yield f"--pdf-as {kinds.pop()}"

    def _place(self, block: MediaMessageBlock, name: str) -> str | None:
        """Return what ``-a`` names; "" where a variable holds it, None if its content is gone."""
        asset = block.asset
        if asset.url:
            return str(asset.url)
        if asset.file_id:
            self._set_variable(block, name)
            return ""
        if asset.snapshot is None:
            return None
        file = self._names.name(block, EXTENSIONS.get(asset.mime_type, "bin"))
        self.files[file] = asset.load_bytes()
        return f"{self._folder}/{file}"

    def _set_variable(self, block: MediaMessageBlock, name: str) -> None:
        lines = []
        if not self._has_classes:
            self._has_classes = True
            lines.append("from agentcell import ImageAsset, PdfAsset\n")
        asset = block.asset
        kind = "PdfAsset" if str(asset.modality) == "PDF" else "ImageAsset"
        given = f"{asset.file_id!r}, mime_type={asset.mime_type or None!r}"
        lines.append(f"{name} = {kind}.from_file_id({given})")
        self.code("\n".join(lines))

    def _declaration(self, block: MediaMessageBlock, name: str) -> Iterator[str]:
        label = block.description or block.field_name
        if block.asset.url or label != name:
            flat = " ".join(plain(label).split())
            yield f"-i {name}={quoted(f'{block.asset.modality}:{flat}')}"

    def _notes(self, turn: Turn, missing: list[str]) -> Iterator[str]:
        if missing:
            yield f"Not in this notebook: {', '.join(dict.fromkeys(missing))}."
        called = {c.name for m in turn.messages for c in m.get("tool_calls") or ()}
        if called:
            yield f"The next answer used tools: {', '.join(sorted(called))}. Name them with -T."
        if turn.skills:
            yield "From the next question on a skill held. Name its folder with --skill."

    def _outputs(self, chapter: Chapter, turn: Turn, source: str) -> Iterator[dict[str, Any]]:
        if not turn.answer.strip():
            return
        blocks = [b for b in turn.attachments if b.fingerprint not in chapter.forgotten]
        facts = saved_facts(turn, chapter.name, blocks, question=turn.question, source=source)
        yield {
            "data": {
                "text/markdown": safe_markdown(turn.answer),
                "text/plain": plain(turn.answer),
            },
            "metadata": {"agentcell": facts},
            "output_type": "display_data",
        }

    def _id(self, wanted: str) -> str:
        fits = _CELL_ID.fullmatch(wanted) and wanted not in self._ids
        name = wanted if fits else f"cell-{len(self.cells) + 1}"
        self._ids.add(name)
        return name


def quoted(text: str) -> str:
    r"""Return `text` as one value of a magic's line: in quotes, on one line; \" and \\ escape."""
    flat = re.sub(r"\s*[\r\n\x0b\x0c\x85\u2028\u2029]\s*", " ", text)
    escaped = re.sub(r'"|\\(?=["\\]|$)', r"\\\g<0>", flat)
    return f'"{escaped}"'


def _names(blocks: list[MediaMessageBlock], question: str) -> list[str]:
    """Return a name for each attachment, none of which the question has in braces already."""
    taken = set(_SLOT.findall(question))
    names = []
    for block in blocks:
        stem = re.sub(r"\W+", "_", block.field_name).strip("_")
        stem = stem if stem.isidentifier() else f"attachment_{stem}".rstrip("_")
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name)
        names.append(name)
    return names


def _with_slot(question: str, tag: str, name: str) -> str:
    """Return the question with ``{name}`` for a tag; a tag in braces needs more of them."""

    def slot(found: re.Match[str]) -> str:
        around = min(len(found[1]), len(found[2]))
        return f"{found[1]}{'{' * around}{{{name}}}{'}' * around}{found[2]}"

    return re.sub(rf"(\{{*){re.escape(tag)}(\}}*)", slot, question)


def _missing(turn: Turn) -> list[str]:
    """Return the tags of attachments that stood in the question, and whose contents are gone."""
    content = turn.messages[0]["content"]
    if isinstance(content, str):
        return []
    here = {block.tag for block in turn.attachments}
    texts = (getattr(block, "text", "") for block in content)
    tags = (announced_tag(text) for text in texts)
    return [tag for tag in tags if tag and tag not in here]
