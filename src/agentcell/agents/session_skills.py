"""The skills of a conversation → its system message, and where their media stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentcell.adapters.model import Model
from agentcell.agents.parts import read_skills
from agentcell.messages import Block, MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.session_tags import SessionTags
from agentcell.prompts.skill import Skill, render_skills
from agentcell.prompts.tags import announcement


def skill_blocks(skills: Any, tags: SessionTags) -> tuple[Block, ...] | None:
    """Return what skills say and show; None where none are given, nothing for an empty list.

    Parameters
    ----------
    skills
        Skills, or the folders that they are in; one or several.
    tags
        Names for their media.

    Raises
    ------
    SkillError
        If one cannot be read.
    """
    if skills is None:
        return None
    read: list[Skill] = list(read_skills(skills))
    blocks: list[Block] = [TextMessageBlock(render_skills(read))] if read else []
    for asset in (asset for skill in read for asset in skill.media):
        name, label = "skill_media", asset.default_filename
        block = MediaMessageBlock(asset, name, tags.tag(asset, FieldSpec(name, label)), label)
        blocks += [TextMessageBlock(announcement(block)), block]
    return tuple(blocks)


def system_message(rules: str, skills: Sequence[Block]) -> list[Message]:
    """Return the message of instructions and skills; none where there are neither."""
    texts = [block.text for block in skills[:1] if isinstance(block, TextMessageBlock)]
    text = "\n\n".join(part for part in (rules, *texts) if part)
    more = skills[1:]
    if not text:
        return []
    return [{"role": "system", "content": [TextMessageBlock(text), *more] if more else text}]


def skill_notes(model: Model, skills: Sequence[Block] | None) -> tuple[str, ...]:
    """Return what to tell the person of where skills' media go."""
    media = [block.tag for block in skills or () if isinstance(block, MediaMessageBlock)]
    if not media or model.capabilities.system_media != "refused":
        return ()
    why = f"{model.name} takes no attachments among instructions"
    return (f"{why}; the skill's own go with the first question: {', '.join(media)}.",)


def without_system_media(messages: list[Message]) -> list[Message]:
    """Return `messages` with the instructions' media before the first question."""
    moved: list[Block] = []
    sent = list(messages)
    for at, message in enumerate(sent):
        content = message["content"]
        if message["role"] == "system" and isinstance(content, list):
            for block in content:
                if isinstance(block, MediaMessageBlock):
                    line = TextMessageBlock(f"Attached to the instructions: {block.tag}")
                    moved += [line, block]
            kept = [
                TextMessageBlock(block.tag) if isinstance(block, MediaMessageBlock) else block
                for block in content
            ]
            sent[at] = {**message, "content": kept}
        elif message["role"] == "user" and moved:
            own = [TextMessageBlock(content)] if isinstance(content, str) else content
            sent[at] = {**message, "content": [*moved, *own]}
            break
    return sent
