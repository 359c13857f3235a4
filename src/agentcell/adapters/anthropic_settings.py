"""Settings that Anthropic names otherwise or lacks, to its own fields or to what to do instead.

Fields as in the anthropic SDK 2.14 (`output_config`, `thinking`), read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.settings import Asked

EFFORTS = ("low", "medium", "high", "xhigh", "max")

_BUDGETED = re.compile(r"claude-(?:\w+-4-[0-5]\b|\w+-4-20\d|3|2)")
"""How ids of models begin that think up to a budget and know no effort. Of these Opus 4.5 alone
knows one; but like the others it does not decide by itself whether to think."""


def instead_of(*, is_own: bool) -> dict[str, str]:
    """Return the common settings that the service does not take, each with what to do instead.

    Parameters
    ----------
    is_own
        Whether it is Anthropic's own. Other servers speak an older version of the protocol,
        which has temperature and top_p.
    """
    instead = {
        "seed": "leave it out; no answer of this service can be had twice.",
        "detail": "leave it out; a smaller image costs less: use --detail auto, or scale it.",
    }
    if is_own:
        sampling = "leave it out; say in the prompt how free the answer may be, or set reasoning."
        instead |= {"temperature": sampling, "top_p": sampling}
    return instead


def thinking_fields(reasoning: Mapping[str, Any] | None, asked: Asked) -> dict[str, Any]:
    """Return ``thinking`` and ``output_config`` for the setting "reasoning".

    An effort lets the model think as much as that; ``none`` turns thinking off. What stands
    beside it goes into ``thinking`` as it is: ``budget_tokens``, ``type``, ``display``. Thoughts
    are shown unless ``display`` says otherwise.
    """
    if reasoning is None:
        return {}
    fields = dict(reasoning)
    effort = fields.pop("effort", None)
    if effort == "none":
        if fields:
            others = ", ".join(sorted(map(str, fields)))
            asked.refuse(
                f"reasoning is off for {asked.name}, and yet {others} is set.",
                "give reasoning='none' alone.",
            )
        return {"thinking": {"type": "disabled"}}
    if effort is not None and effort not in EFFORTS:
        choices = ", ".join(("none", *EFFORTS))
        asked.refuse(
            f"{asked.name} knows no effort {effort!r}; one of {choices} was expected.",
            f"set reasoning to one of {choices}.",
        )
    is_budgeted = _BUDGETED.match(asked.model) is not None
    if effort is not None and is_budgeted and "budget_tokens" not in fields:
        asked.refuse(
            f"{asked.name} takes no effort.",
            "give reasoning={'budget_tokens': 4096}, 1024 or more and below max_tokens.",
        )
    kind = "enabled" if "budget_tokens" in fields else "adaptive"
    thinking = {"type": kind, **fields}
    if thinking["type"] == "adaptive":
        thinking.setdefault("display", "summarized")
    result: dict[str, Any] = {"thinking": thinking}
    if effort is not None and not is_budgeted:
        result["output_config"] = {"effort": effort}
    return result
