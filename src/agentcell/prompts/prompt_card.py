"""What a prompt file says → the card that a notebook shows of it: its slots first."""

from __future__ import annotations

from agentcell.card import card
from agentcell.prompts.prompt_file import PromptFile
from agentcell.prompts.prompt_slots import ImagePlace, pieces, slots


def prompt_card(name: str, file: PromptFile) -> dict[str, str]:
    """Return the card.

    Parameters
    ----------
    name
        What the file is called.
    file
        What it says.
    """
    texts = [one.text for one in file.sections]
    places = any(isinstance(one, ImagePlace) for text in texts for one in pieces(text))
    where = "where the text places them, else after" if places else "after"
    facts = [
        ("Slots", ", ".join(f"%{slot}%" for slot in slots(texts)) or "none"),
        ("Images", f"{where} the last user text"),
        ("Model", file.model or "not named here"),
        *((setting, str(value)) for setting, value in file.settings.items()),
    ]
    if file.metadata:
        facts.append(("Also in the front matter", ", ".join(file.metadata)))
    folded = [(f"${one.role}$, {_length(one.text)}", one.text) for one in file.sections]
    return card(f"Prompt {name}", facts, folded)


def _length(text: str) -> str:
    return f"{len(text):,} character{'' if len(text) == 1 else 's'}"
