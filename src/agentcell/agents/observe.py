"""An agent's standing parts and one input → the messages of one call; nothing is kept of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcell.agents.output import format_sections
from agentcell.assets.asset import MediaAsset
from agentcell.assets.wording import a_type, short
from agentcell.errors import FieldError, HistoryError
from agentcell.history.provider import HistoryProvider
from agentcell.messages import (
    Block,
    MediaMessageBlock,
    Message,
    TextMessageBlock,
    content_text,
    media_blocks,
)
from agentcell.modality import FieldModality
from agentcell.prompts.fields import FieldSpec, FieldWarning, check_tree
from agentcell.prompts.skill import Skill, render_skills
from agentcell.prompts.tags import TagRegistry, announcement
from agentcell.prompts.template import fill, find_slots, near_miss
from agentcell.prompts.values import Tree
from agentcell.warned import warn

MESSAGE_HEAD = "MESSAGE TO YOU"

_QUERY_NAMES = ("input", "task", "task_description", "question", "query", "message", "content")
"""Where the words of a question are looked for, to ask a history by; ``text`` is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an agent is made of, as far as its messages depend on it; never changed."""

    role_name: str
    instructions: str
    prompt_template: str
    fields: Mapping[str, FieldSpec]
    outputs: Mapping[str, FieldSpec]
    attributes: Mapping[str, Any]
    skills: tuple[Skill, ...]
    hide_unused_fields: bool
    reuse_attachment_tags: bool

    def __repr__(self) -> str:
        return f"Standing({short(self.role_name, 80)!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one call sends, and what its turn is remembered by.

    Parameters
    ----------
    system_prompt, user_prompt
        As text.
    messages
        System, history, user: what the model is sent.
    turn
        The user's message as it is remembered: without the rules for the answer's form.
    outputs
        What the answer must hold.
    tags
        The names in use.
    """

    system_prompt: str
    user_prompt: str
    messages: list[Message]
    turn: Message
    outputs: Mapping[str, FieldSpec]
    tags: TagRegistry = field(repr=False)

    def __repr__(self) -> str:
        return f"Observation({len(self.messages)} messages, {short(self.user_prompt, 80)!r})"


def observe(
    standing: Standing,
    given: Mapping[str, Any],
    history: HistoryProvider | None,
    *,
    fields: Mapping[str, FieldSpec],
    outputs: Mapping[str, FieldSpec],
) -> Observation:
    """Return the messages for one input.

    Parameters
    ----------
    standing
        The agent's parts.
    given
        The input, by field.
    history
        Where earlier messages come from.
    fields, outputs
        Further declarations, under the agent's own.

    Raises
    ------
    FieldError
        If an input is missing, not of its field's kind, or has no text.
    HistoryError
        If the history gives something that is no message.
    """
    specs = {**fields, **standing.fields}
    wanted = {**outputs, **standing.outputs}
    trees = _trees(standing, given, specs)
    system = _system_text(standing)
    past = _past(history, _query(given, trees, standing.prompt_template))
    past_texts = [content_text(message["content"]) for message in past]
    own_texts = [text for tree in trees.values() for text in tree.texts()]
    seen = [*past_texts, system, standing.prompt_template, *own_texts]
    tags = TagRegistry(seen)
    system_blocks = _skill_blocks(standing.skills, TagRegistry(seen))
    for block in system_blocks:
        if isinstance(block, MediaMessageBlock):
            tags.see(block.tag)
    if standing.reuse_attachment_tags:
        for past_block in media_blocks(past):
            tags.adopt(past_block.tag, past_block.asset)
    told, blocks = _told(trees, specs, tags, fresh=not standing.reuse_attachment_tags)
    sections = _sections(standing, told)
    rules = format_sections(wanted)
    former = _former(history, past, past_texts) if blocks else {}
    turn = _message("user", blocks, sections or rules, former)
    sent = _message("user", blocks, [*sections, *rules], former)
    head: list[Message] = []
    if system or system_blocks:
        text: list[Block] = [TextMessageBlock(system)] if system else []
        head = [{"role": "system", "content": [*text, *system_blocks] if system_blocks else system}]
    return Observation(
        system_prompt=system,
        user_prompt=_joined([*sections, *rules]),
        messages=[*head, *past, sent],
        turn=turn,
        outputs=wanted,
        tags=tags,
    )


def _trees(
    standing: Standing, given: Mapping[str, Any], specs: Mapping[str, FieldSpec]
) -> dict[str, Tree]:
    """Return each field's checked value: declared ones first, then as they were given."""
    if not isinstance(given, Mapping):
        raise FieldError(
            f"The input is {a_type(given)}; a mapping of fields to values was expected.",
            fix='give {"question": "..."}.',
        )
    for name in given:
        if not isinstance(name, str):
            raise FieldError(
                f"The input has the key {str(name)[:60]!r}, a {type(name).__name__}.",
                fix="name fields by text.",
            )
    context = {**standing.attributes, **given}
    trees: dict[str, Tree] = {}
    for name in [*specs, *(name for name in context if name not in specs)]:
        spec = specs.get(name) or FieldSpec(name, description=name)
        if name not in context:
            _check_absent(spec, context, specs, standing.prompt_template)
            continue
        trees[name] = Tree(context[name], name, _leaf(spec))
        check_tree(spec, trees[name])
    return trees


def _leaf(spec: FieldSpec) -> Callable[[object], Any]:
    """Return what makes attachments or text of a field's paths, bytes, figures, tables, …."""

    def made(value: object) -> Any:
        from agentcell.assets.coerce import coerce  # most agents are given text and assets only

        if spec.modality is FieldModality.TEXT and isinstance(value, os.PathLike):
            return os.fsdecode(value)
        return coerce(value, name=spec.name, modality=spec.modality)

    return made


def _check_absent(
    spec: FieldSpec, context: Mapping[str, Any], specs: Mapping[str, FieldSpec], template: str
) -> None:
    """Refuse the absence of a required field; warn where it was probably not meant."""
    meant = near_miss(spec.name, [name for name in context if name not in specs])
    if spec.required:
        raise FieldError(
            f"Field '{spec.name}' expects modality '{spec.modality}', but received nothing.",
            fix=f"did you mean it by '{meant}'?" if meant else f"give '{spec.name}' as an input.",
        )
    is_media = spec.modality in (FieldModality.IMAGE, FieldModality.PDF)
    is_named = any(slot.name == spec.name for slot in find_slots(template))
    if meant or (is_named and not is_media):
        hint = f"is '{meant}' a misspelling of it?" if meant else "the prompt names it."
        warn(f"Field '{spec.name}' is declared, but the input lacks it: {hint}", FieldWarning)


def _system_text(standing: Standing) -> str:
    """Return the instructions, with the agent's own attributes filled in, and its skills as is."""

    def own(name: str) -> str | None:
        if name == "role_name":
            return standing.role_name
        value = standing.attributes.get(name)
        return value if isinstance(value, str) else None

    # Never a field of the input: what a user typed has no place among the instructions.
    instructions = fill(standing.instructions, own)
    skills = render_skills(standing.skills)
    return "\n\n".join(part for part in (instructions, skills) if part)


def _skill_blocks(skills: Sequence[Skill], tags: TagRegistry) -> list[Block]:
    blocks: list[Block] = []
    number = 0
    for skill in skills:
        for asset in skill.media:
            number += 1
            name = f"skill_media_{number}"
            tag, _ = tags.reserve(asset, name, asset.default_filename, fresh=True)
            block = MediaMessageBlock(asset, name, tag, asset.default_filename)
            blocks += [TextMessageBlock(announcement(block)), block]
    return blocks


def _past(history: HistoryProvider | None, query: str) -> list[Message]:
    if history is None:
        return []
    messages = history.get_messages(query, top_k=-1)
    if not isinstance(messages, Iterable):
        raise HistoryError(
            f"{type(history).__name__}.get_messages gave {str(messages)[:60]!r}; a list of"
            " messages was expected.",
            fix="return [] where there are none.",
        )
    messages = list(messages)
    for message in messages:
        if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
            raise HistoryError(
                f"{type(history).__name__}.get_messages gave {str(message)[:60]!r}; a message was"
                " expected.",
                fix='return dicts like {"role": "user", "content": "..."}.',
            )
    return [dict(message) for message in messages]


def _query(given: Mapping[str, Any], trees: Mapping[str, Tree], template: str) -> str:
    for name in (*_QUERY_NAMES, "text"):
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return value
    texts = {name: "\n".join(tree.texts()) for name, tree in trees.items()}
    return fill(template, texts.get) or "\n".join(texts.values())


def _told(
    trees: Mapping[str, Tree], specs: Mapping[str, FieldSpec], tags: TagRegistry, *, fresh: bool
) -> tuple[dict[str, str], list[MediaMessageBlock]]:
    """Return each field's text, attachments as tags, and the attachments that go out."""
    blocks: list[MediaMessageBlock] = []
    told = dict.fromkeys(specs, "")
    for name, tree in trees.items():
        description = specs[name].description if name in specs else name

        def tag_of(asset: MediaAsset, name: str = name, description: str = description) -> str:
            tag, is_new = tags.reserve(asset, name, description, fresh=fresh)
            if is_new:
                blocks.append(MediaMessageBlock(asset, name, tag, description))
            return tag

        told[name] = tree.render(tag_of)
    return told, blocks


def _sections(standing: Standing, told: Mapping[str, str]) -> list[tuple[str, str]]:
    values = {"role_name": standing.role_name, **told}
    sections: list[tuple[str, str]] = []
    if standing.prompt_template:
        sections.append((MESSAGE_HEAD, fill(standing.prompt_template, values.get)))
    if not standing.hide_unused_fields:
        used = {slot.name for slot in find_slots(standing.prompt_template)}
        sections += [(name, text) for name, text in told.items() if name not in used and text]
    return sections


def _former(
    history: HistoryProvider | None, past: Sequence[Message], texts: Iterable[str]
) -> dict[str, str]:
    """Return, by fingerprint, a tag that earlier texts mention and whose attachment is gone."""
    former_tags = getattr(history, "former_tags", None)
    if former_tags is None:
        return {}
    visible = {block.fingerprint for block in media_blocks(past)}
    mentioned = "\n".join(texts)
    return {
        identity: tag
        for identity, known in former_tags().items()
        for tag in known
        if identity not in visible and tag in mentioned
    }


def _message(
    role: str,
    blocks: Sequence[MediaMessageBlock],
    sections: Sequence[tuple[str, str]],
    former: Mapping[str, str],
) -> Message:
    text = _joined(sections)
    if not text and not blocks:
        raise FieldError(
            "There is nothing to say: the input and the prompt template are empty.",
            fix="give an input, or a prompt_template.",
        )
    if not blocks:
        return {"role": role, "content": text}
    content: list[Block] = []
    for block in blocks:
        before = former.get(block.fingerprint, "")
        content += [TextMessageBlock(announcement(block, before)), block]
    if text:
        content.append(TextMessageBlock(text))
    return {"role": role, "content": content}


def _joined(sections: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{head}:\n{text}" for head, text in sections)
