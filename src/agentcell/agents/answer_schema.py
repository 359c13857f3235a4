"""A pydantic model, dataclass, TypedDict, type or JSON schema → answers that are values of it."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from agentcell.adapters.schema import tightened
from agentcell.agents.output import (
    FORMAT_HEAD,
    Malformed,
    quoted,
    unfenced,
    values_in,
    without_thoughts,
)
from agentcell.agents.readable_types import readable
from agentcell.agents.repairing import Wanted
from agentcell.agents.signature import problems
from agentcell.agents.untellable import told, untellable
from agentcell.assets.wording import a_type
from agentcell.errors import AgentError, AnswerError

WRAPPER = "value"
"""The one key of the object that holds an answer which is none itself, such as a list."""

_SCHEMA_WORDS = {"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items"}
_MOST_TOLD = 5
"""Problems of one answer that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSchema:
    """What an answer must be, as a provider takes it, and as a check.

    Parameters
    ----------
    name
        What people call it.
    document
        A JSON schema; its root is an object, as every provider wants it.
    is_wrapped
        Whether the answer's value stands under `WRAPPER` in that object.
    """

    name: str
    document: dict[str, Any] = field(repr=False)
    is_wrapped: bool = False
    _check: Callable[[Any], Any] = field(repr=False)

    @classmethod
    def of(cls, value: Any) -> Self:
        """Return the schema that `value` is.

        Parameters
        ----------
        value
            A pydantic model, a dataclass, a TypedDict, any type that pydantic reads
            (``list[Model]``, ``Literal["a", "b"]``, …), or a JSON schema as a mapping.

        Raises
        ------
        AgentError
            If it is none of them, or cannot be told to a model.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            return cls._of_document(value)
        return cls._of_type(value)

    @classmethod
    def _of_document(cls, given: Mapping[str, Any]) -> Self:
        import jsonschema  # type: ignore[import-untyped]  # it carries no types
        import referencing

        if not given.keys() & _SCHEMA_WORDS:
            keys = f"a mapping with the keys {', '.join(map(str, given))[:80]!r}"
            raise AgentError(
                f"The schema is {keys if given else 'an empty mapping'}; a JSON schema was"
                " expected.",
                fix='write for example {"type": "object", "properties": {"total":'
                ' {"type": "number"}}, "required": ["total"]}.',
            )
        try:
            document = json.loads(json.dumps(given))
            kind = jsonschema.validators.validator_for(document, jsonschema.Draft202012Validator)
            kind.check_schema(document)
        except (TypeError, ValueError, RecursionError, jsonschema.SchemaError) as error:
            first = getattr(error, "message", None) or str(error)
            raise AgentError(
                f"The schema is no JSON schema: {first[:160]}.", fix="correct it."
            ) from error
        for reference in _references(document):
            if not reference.startswith("#"):
                raise AgentError(
                    f"The schema refers to {reference[:80]!r}, which is not in it; nothing is"
                    " fetched.",
                    fix="put what is meant under $defs.",
                )
        checker = kind(document, registry=referencing.Registry())

        def check(found: Any) -> Any:
            errors = [_told(error) for error in checker.iter_errors(found)]
            if errors:
                raise ValueError("; ".join(errors[:_MOST_TOLD]))
            return found

        name = document.get("title")
        return cls._made(name if isinstance(name, str) else "the schema", document, check)

    @classmethod
    def _of_type(cls, given: Any) -> Self:
        import pydantic

        is_type = isinstance(given, (type, types.UnionType)) or typing.get_origin(given)
        if not is_type or given is type(None):
            raise AgentError(
                f"{a_type(given, start=True)} was given as the schema; a pydantic model, a"
                " dataclass, a TypedDict or a JSON schema was expected.",
                fix="give the class itself, not an object of it.",
            )
        name = getattr(given, "__name__", "") if isinstance(given, type) else str(given)
        try:
            adapter = pydantic.TypeAdapter(readable(given))
            adapter.rebuild()
            document = tightened(adapter.json_schema())
        except Exception as error:
            why, fix = untellable(error, given)
            raise AgentError(f"{name[:80]!r} cannot be told to a model: {why}.", fix=fix) from error

        def check(found: Any) -> Any:
            try:
                return adapter.validate_json(json.dumps(found))
            except pydantic.ValidationError as error:
                raise ValueError(problems(error, whole="the answer")) from None
            except Exception as error:  # of a validator or a class of the person's own
                raise Malformed(
                    f"{name[:80]}'s own check failed with {told(error)}", final=True
                ) from error

        return cls._made(name, document, check)

    @classmethod
    def _made(cls, name: str, document: dict[str, Any], check: Callable[[Any], Any]) -> Self:
        if "type" not in document and "properties" in document:
            document = {"type": "object", **document}
        if document.get("type") == "object":
            return cls(name=name, document=document, _check=check)
        inner = dict(document)
        hoisted: dict[str, Any] = {
            key: inner.pop(key) for key in ("$defs", "definitions") if key in inner
        }
        inner.pop("$schema", None)
        whole: dict[str, Any] = {
            "title": str(inner.get("title") or "answer"),
            "type": "object",
            "properties": {WRAPPER: inner},
            "required": [WRAPPER],
            "additionalProperties": False,
            **hoisted,
        }
        return cls(name=name, document=whole, is_wrapped=True, _check=check)

    def wanted(self) -> Wanted:
        """Return this as what an answer is asked for again by."""
        return Wanted(read=self.read, note=self._note, error=self._error)

    def instructions(self) -> str:
        """Return what a model is told that does not answer by a schema of itself."""
        schema = json.dumps(self.document, ensure_ascii=False)
        return (
            f"{FORMAT_HEAD}:\nAnswer with one JSON object and nothing else, no code fence. It"
            f" follows this JSON schema:\n{schema}"
        )

    def restored(self, found: Any) -> Any:
        """Return the value that was written as these JSON values.

        Raises
        ------
        ValueError
            If they are none of it.
        """
        return self._check(found)

    def value_in(self, text: str) -> Any:
        """Return the value of an answer that was read before; None where it holds none."""
        try:
            return self.read(without_thoughts(text))
        except Malformed:
            return None

    def read(self, text: str, finish_reason: str = "stop") -> Any:
        """Return an answer's value.

        Parameters
        ----------
        text
            The answer, without thoughts.
        finish_reason
            Why the model stopped; one cut short is not finished for it.

        Raises
        ------
        Malformed
            If it holds none, or none that fits.
        """
        if finish_reason in ("refusal", "content_filter"):
            raise Malformed(f"the model declined: {quoted(text)}", final=True)
        is_cut = finish_reason == "length"
        problem = "it holds no JSON" if text.strip() else "it is empty"
        is_first = True
        for found in self._candidates(text, is_cut=is_cut):
            try:
                return self._value(found)
            except ValueError as error:
                problem = str(error) if is_first else problem
                is_first = False
        if is_cut:
            raise Malformed("it stopped at the limit of its tokens", final=True)
        raise Malformed(problem)

    def _candidates(self, text: str, *, is_cut: bool) -> Iterator[Any]:
        yield from values_in(text, is_cut=is_cut)
        if not self.is_wrapped:
            return
        yield from values_in(text, is_cut=is_cut, opening="[")
        try:  # a number or a word, as some models answer where an object was asked for
            yield json.loads(unfenced(text))
        except (ValueError, RecursionError):
            return

    def _value(self, found: Any) -> Any:
        if self.is_wrapped and isinstance(found, dict) and found.keys() == {WRAPPER}:
            found = found[WRAPPER]
        return self._check(found)

    def _note(self, problem: Malformed) -> str:
        return (
            f"Your answer cannot be used: {problem.problem}. Give it again, as one JSON object"
            " that follows the schema, and nothing else."
        )

    def _error(self, text: str, problem: Malformed) -> AnswerError:
        fix = "ask again, or take a model that follows a schema better."
        if "limit of its tokens" in problem.problem:
            fix = "raise max_tokens."
        elif "own check failed" in problem.problem:
            fix = "mend that check, or let it raise ValueError for what it does not take."
        elif problem.final:
            fix = "word the question differently."
        said = f" It said {quoted(text)}." if text.strip() else ""
        return AnswerError(
            f"The model's answer is not what {self.name[:80]} wants: {problem.problem}.{said}",
            fix=fix,
        )


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(found := value.get("$ref"), str):
            yield found
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _told(error: Any) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "the answer"
    return f"{place}: {error.message[:160]}"
