"""A model's answer → the declared outputs, or what is wrong with it, to be asked again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcell.agents.lenient import Lenient
from agentcell.errors import AnswerError, FieldError
from agentcell.modality import FieldModality
from agentcell.prompts.fields import FieldSpec

FORMAT_HEAD = "RESPONSE FORMAT REQUIREMENTS"
FIELDS_HEAD = "REQUIRED OUTPUT FIELDS AND THEIR DESCRIPTIONS"

_THOUGHT = re.compile(r"\s*<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking)>", re.IGNORECASE)
_FENCED = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
_MOST_STARTS = 50
"""How many opening braces in an answer are tried as the start of its object."""


class Malformed(Exception):
    """An answer that cannot be used, and why; the model may do better when told."""

    def __init__(self, problem: str, *, final: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.final = final
        """Whether asking again would give the same."""


def check_outputs(outputs: Mapping[str, FieldSpec]) -> None:
    """Refuse outputs that no model's text can be.

    Raises
    ------
    FieldError
        If one is declared as IMAGE or PDF.
    """
    for name, spec in outputs.items():
        if spec.modality in (FieldModality.IMAGE, FieldModality.PDF):
            raise FieldError(
                f"Output '{name}' is declared as {spec.modality}; a model's answer is text.",
                fix="declare it as TEXT, or take the attachment from the input.",
            )


def format_sections(outputs: Mapping[str, FieldSpec]) -> list[tuple[str, str]]:
    """Return what the prompt says about the answer's form, as heads and texts."""
    if not outputs:
        return []
    lists = [json.dumps(name, ensure_ascii=False) for name, spec in outputs.items() if spec.many]
    as_list = f" A list is wanted for {', '.join(lists)}." if lists else ""
    keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in outputs)
    described = {name: spec.description for name, spec in outputs.items()}
    return [
        (
            FORMAT_HEAD,
            f"Answer with one JSON object and nothing else, no code fence. Its keys: {keys}."
            + as_list,
        ),
        (FIELDS_HEAD, json.dumps(described, ensure_ascii=False, indent=2)),
    ]


def schema_of(outputs: Mapping[str, FieldSpec], title: str) -> dict[str, Any]:
    """Return a JSON schema of the outputs, such as every provider's strict mode takes."""
    properties: dict[str, Any] = {}
    for name, spec in outputs.items():
        text: dict[str, Any] = {"type": "string"}
        one: dict[str, Any] = {"type": "array", "items": text} if spec.many else text
        properties[name] = {**one, "description": spec.description} if spec.description else one
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(outputs),
        "additionalProperties": False,
    }


def with_schema(
    model: Any, settings: dict[str, Any] | None, outputs: Mapping[str, FieldSpec], agent: str
) -> dict[str, Any] | None:
    """Return `settings` with the outputs' schema, where the model answers by one."""
    able = getattr(model, "capabilities", None)
    if not outputs or not getattr(able, "structured_output", False):
        return settings
    return {"schema": schema_of(outputs, f"{agent}_answer"), **(settings or {})}


def without_thoughts(text: str) -> str:
    """Return an answer without the reasoning that some models write before it."""
    found = _THOUGHT.match(text)
    if found:
        while found:
            text = text[found.end() :]
            found = _THOUGHT.match(text)
        return text.strip()
    end = _THOUGHT_END.search(text)
    if end and "<think" not in text[: end.start()].lower():
        return text[end.end() :].strip()  # the opening mark stood in the model's own template
    return text


def read_answer(
    text: str, outputs: Mapping[str, FieldSpec], finish_reason: str = "stop"
) -> dict[str, Any]:
    """Return the outputs in an answer.

    Parameters
    ----------
    text
        The answer, without thoughts.
    outputs
        What was asked for. Where it is empty, any answer is right: an answer that is one JSON
        object gives its keys, any other is ``{"answer": text}``.
    finish_reason
        Why the model stopped; one cut short is not finished for it.

    Raises
    ------
    Malformed
        If an output is missing, or there is no object.
    """
    if finish_reason in ("refusal", "content_filter") and outputs:
        raise Malformed(f"the model declined: {quoted(text)}", final=True)
    is_cut = finish_reason == "length"
    if not outputs:
        plain = _strict(unfenced(text))
        return plain if plain is not None else {"answer": text}
    best: dict[str, Any] | None = None
    for found in values_in(text, is_cut=is_cut):
        named = _with_names(found, outputs)
        if not _missing(named, outputs):
            return named
        best = named if best is None else best
    if is_cut:
        raise Malformed("it stopped at the limit of its tokens", final=True)
    if best is None:
        problem = "it is empty" if not text.strip() else "it holds no JSON object"
        raise Malformed(problem)
    raise Malformed("it lacks " + ", ".join(f"'{name}'" for name in _missing(best, outputs)))


def repair_note(problem: str, outputs: Mapping[str, FieldSpec]) -> str:
    """Return what the model is told about an answer that cannot be used."""
    keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in outputs)
    return (
        f"Your answer cannot be used: {problem}. Give it again, as one JSON object with the keys"
        f" {keys} and nothing else."
    )


def answer_error(text: str, problem: Malformed, outputs: Mapping[str, FieldSpec]) -> AnswerError:
    """Return the error for an answer that stayed unusable."""
    keys = ", ".join(outputs)
    fix = "ask again, or take a model that follows a format better."
    if "limit of its tokens" in problem.problem:
        fix = "raise max_tokens."
    elif problem.final:
        fix = "word the question differently."
    return AnswerError(
        f"The model's answer cannot be used: {problem.problem}. A JSON object with {keys} was"
        f" expected; it said {quoted(text)}.",
        fix=fix,
    )


def values_in(text: str, *, is_cut: bool, opening: str = "{") -> Iterator[Any]:
    """Yield the objects in an answer, the likeliest first; with ``[`` for `opening`, the lists."""
    whole = _strict(text, dict if opening == "{" else list)
    if whole is not None:
        yield whole
        return
    starts = 0
    for place in [*_FENCED.findall(text), text]:
        at = place.find(opening)
        while at >= 0 and starts < _MOST_STARTS:
            starts += 1
            reader = Lenient(place, at)
            try:
                value = reader.value()
            except (ValueError, RecursionError):
                at = place.find(opening, at + 1)
                continue
            if not (is_cut and reader.unfinished):
                yield value
            at = place.find(opening, max(reader.at, at + 1))


def _strict(text: str, kind: type = dict) -> Any:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


def unfenced(text: str) -> str:
    """Return what stands in a code fence, where an answer is nothing else."""
    found = _FENCED.fullmatch(text.strip())
    return found.group(1) if found else text


def _with_names(found: dict[str, Any], outputs: Mapping[str, FieldSpec]) -> dict[str, Any]:
    """Return `found` with keys that differ from a missing output's only by case under its name."""
    named = dict(found)
    for name in _missing(found, outputs):
        close = [key for key in found if key.strip().casefold() == name.strip().casefold()]
        if len(close) == 1 and close[0] not in outputs:
            named[name] = named.pop(close[0])
    return named


def _missing(found: Mapping[str, Any], outputs: Mapping[str, FieldSpec]) -> list[str]:
    return [
        name
        for name, spec in outputs.items()
        if name not in found or (spec.required and found[name] in (None, "", []))
    ]


def quoted(text: str) -> str:
    """Return an answer as an error repeats it."""
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 80 else shown[:79] + "…")  # noqa: PLR2004
