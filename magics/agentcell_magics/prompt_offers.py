"""A line with `--prompt FILE`, and the word that is begun, to slots and what may fill them."""

from __future__ import annotations

from agentcell_magics.begun_line import Line
from agentcell_magics.offers import Known, Offer, Offers, can_attach, matching, models, paths


def slot_offers(known: Known, line: Line, begun: str) -> Offers:
    """Return what the begun word may become: ``NAME=``, or a value behind it.

    Parameters
    ----------
    line
        Its whole words; `Line.prompt` names the file, which is read.
    begun
        What the word says so far.
    """
    from agentcell.errors import AgentcellError
    from agentcell.prompts.simple_prompt import SimplePrompt

    name, equals, value = begun.partition("=")
    variables = known.variables()
    if equals:
        if name == "images":
            pictures = (key for key, one in variables.items() if can_attach(one))
            offers = [*matching(pictures, value, "variable"), *paths(value, "image")]
        else:
            plain = (key for key, one in variables.items() if not callable(one))
            offers = matching(plain, value, "variable")
        return [one.behind(f"{name}=") for one in offers]
    held = variables.get(line.prompt)
    try:
        prompt = held if isinstance(held, SimplePrompt) else SimplePrompt(line.prompt)
    except AgentcellError:  # told when the cell runs
        return []
    filled = {word.partition("=")[0] for word in line.plain if "=" in word}
    names = [one for one in prompt.slots if one not in filled]
    found = [
        Offer(f"{one}=", "slot", goes_on=True)
        for one in (*names, "images")
        if one.startswith(begun)
    ]
    return found or ([] if "model" in line.given else models(begun))
