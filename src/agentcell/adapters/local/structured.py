"""A JSON schema and documents → a JSON object whose every value was read, none invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from agentcell.adapters.local.evidence import Evidence
from agentcell.adapters.local.finding import Named, find_for, quotes
from agentcell.adapters.local.values import find_values
from agentcell.adapters.schema import Schema
from agentcell.errors import AnswerError, Unsupported

Kind = Literal["string", "number", "integer", "array"]

_SAID_ONLY = frozenset({"title", "description", "default", "examples", "type", "items", "anyOf"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of the object.

    Parameters
    ----------
    kind
        ``array`` is one of texts.
    bounds
        What the schema says of a number: ``minimum`` and its like.
    is_nullable, is_required
        Whether it may be null, and whether it must be there.
    """

    name: str
    description: str = ""
    kind: Kind = "string"
    bounds: Mapping[str, float] = field(default_factory=dict)
    is_nullable: bool = False
    is_required: bool = True


def fields_of_outputs(outputs: Mapping[str, str]) -> list[Field]:
    """Return the fields that an agent's prompt names, with their descriptions."""
    return [Field(name=name, description=text) for name, text in outputs.items()]


def fields_of_schema(schema: Schema, model: str) -> list[Field]:
    """Return the fields of a flat schema.

    Raises
    ------
    Unsupported
        If a field is something else than a text, a number or a list of texts.
    """
    properties = schema.document.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise _unsupported(model, "has no properties")
    required = schema.document.get("required") or ()
    return [
        _field(str(name), document, is_required=name in required, model=model)
        for name, document in properties.items()
    ]


def fill(
    fields: Sequence[Field],
    question: str,
    documents: Sequence[Named],
    *,
    first: Sequence[str] = (),
    nothing: str = "",
) -> tuple[dict[str, Any], list[Evidence]]:
    """Return the object, and the lines that its values come from.

    Parameters
    ----------
    first
        The tags of the documents that are probably meant.
    nothing
        What a text says for which no line was found.

    Raises
    ------
    AnswerError
        If a number that must be there was not found.
    """
    values: dict[str, Any] = {}
    evidence: list[Evidence] = []
    for each in fields:
        lines = find_for(
            each.name,
            each.description,
            question,
            documents,
            first,
            is_only=len(fields) == 1,
            may_sum_up=each.kind in ("string", "array"),
        )
        found, used = _value(each, lines)
        if used:
            values[each.name] = found
            evidence += [line for line in used if line not in evidence]
        elif each.is_nullable:
            values[each.name] = None
        elif each.is_required:
            values[each.name] = _absent(each, nothing)
    return values, evidence


def _value(wanted: Field, lines: Sequence[Evidence]) -> tuple[Any, Sequence[Evidence]]:
    """Return a field's value and the lines it was taken from: none if there is no such value."""
    if not lines:
        return None, ()
    if wanted.kind == "array":
        return quotes(lines), lines
    if wanted.kind == "string":
        return quotes(lines[:1])[0], lines[:1]
    for line in lines:
        number = _number(line)
        if number is not None and _fits(wanted, number):
            return (int(number) if number == int(number) else number), [line]
    return None, ()


def _number(line: Evidence) -> float | None:
    """Return the one number that `line` answers with."""
    for text in filter(None, (line.value, line.quote)):
        numbers = {found.number for found in find_values(text) if found.number is not None}
        if len(numbers) == 1:
            return float(numbers.pop())
    return None


def _fits(wanted: Field, number: float) -> bool:
    if wanted.kind == "integer" and number != int(number):
        return False
    least, most = wanted.bounds.get("minimum"), wanted.bounds.get("maximum")
    above, below = wanted.bounds.get("exclusiveMinimum"), wanted.bounds.get("exclusiveMaximum")
    return (
        (least is None or number >= least)
        and (most is None or number <= most)
        and (above is None or number > above)
        and (below is None or number < below)
    )


def _absent(wanted: Field, nothing: str) -> Any:
    if wanted.kind == "string":
        return nothing
    if wanted.kind == "array":
        return []
    raise AnswerError(
        f"No line holds the number {wanted.name!r} ({wanted.description or 'no description'}).",
        fix="ask for it in other words, let it be null in the schema, or choose another model.",
    )


def _field(name: str, document: object, *, is_required: bool, model: str) -> Field:
    if not isinstance(document, Mapping):
        raise _unsupported(model, f"says {document!r} of {name!r}")
    kinds, inner = _kinds(document)
    is_nullable = "null" in kinds
    kinds = [kind for kind in kinds if kind != "null"]
    kind = kinds[0] if len(kinds) == 1 else ""
    allowed = _SAID_ONLY | _BOUNDS if kind in ("number", "integer") else _SAID_ONLY
    unknown = sorted({*document, *inner} - allowed)
    items = inner.get("items")
    is_texts = (
        isinstance(items, Mapping)
        and items.get("type") == "string"
        and not (set(items) - _SAID_ONLY)
    )
    if (
        kind not in ("string", "number", "integer", "array")
        or unknown
        or (kind == "array" and not is_texts)
    ):
        what = f"{name!r} with {unknown[0]!r}" if unknown else f"{name!r} as {kind or kinds}"
        raise _unsupported(model, f"wants {what}")
    return Field(
        name=name,
        description=str(document.get("description") or document.get("title") or ""),
        kind=cast("Kind", kind),
        bounds={key: inner[key] for key in _BOUNDS & set(inner)},
        is_nullable=is_nullable,
        is_required=is_required,
    )


def _kinds(document: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """Return the types that `document` allows, and the part that says more of the first."""
    choices = document.get("anyOf")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        real = [choice for choice in choices if choice.get("type") != "null"]
        return [choice.get("type") for choice in choices], real[0] if real else document
    kinds = document.get("type")
    return (kinds if isinstance(kinds, list) else [kinds]), document


def _unsupported(model: str, what: str) -> Unsupported:
    return Unsupported(
        f"The schema {what}; local/{model} fills texts, numbers and lists of texts, each copied"
        " from a line of the attachment.",
        fix="ask for such fields, or choose another model with `-m`.",
        provider="local",
        model=model,
    )
