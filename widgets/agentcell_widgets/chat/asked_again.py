"""A turn → what asks the same again: its text, and its attachments under their names."""

from __future__ import annotations

from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.history.turns import Turn
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.template import literal


def text_again(turn: Turn) -> str:
    """Return a turn's question as it is to be written for the same question to come of it.

    Parameters
    ----------
    turn
        Any.
    """
    return literal(turn.question, asks_again(turn)["attach"])


def asks_again(turn: Turn) -> dict[str, Any]:
    """Return the options of `Session.prepare` that a turn was asked with.

    Skills are left out: those of the turns before it hold.

    Parameters
    ----------
    turn
        Any; it may have failed.
    """
    attach: dict[str, list[MediaAsset]] = {}
    fields: dict[str, FieldSpec] = {}
    for block in turn.attachments:
        name, number = block.field_name, 1
        while name in fields and fields[name].description != block.description:
            number += 1
            name = f"{block.field_name}_{number}"
        fields[name] = FieldSpec(name=name, description=block.description)
        attach.setdefault(name, []).append(block.asset)
    return {"attach": attach, "fields": fields, "system": turn.system, "fresh": turn.fresh}
