"""A JSON schema, or a pydantic model class, to what a provider needs to answer by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with a name.

    Parameters
    ----------
    name
        1 to 64 letters, digits, ``_`` or ``-``, as OpenAI wants it.
    document
        The JSON schema; its root is an object.
    strict
        Whether it is one that OpenAI's strict mode can enforce: every object lists all its
        properties as required and forbids others.
    """

    name: str
    document: dict[str, Any]
    strict: bool

    @classmethod
    def of(cls, value: object) -> Schema:
        """Return the schema in `value`: a JSON schema, or a pydantic model class.

        Raises
        ------
        ValueError
            If it is neither, or its root is no object.
        """
        if isinstance(value, type) and hasattr(value, "model_json_schema"):
            document = tightened(value.model_json_schema())
            return cls(_name(value.__name__), document, is_strict(document))
        if isinstance(value, Mapping):
            document = _plain(value)
            if document.get("type") == "object" or "properties" in document or "$ref" in document:
                title = document.get("title")
                return cls(_name(title), document, is_strict(document))
            shown = document.get("type") or sorted(document)[:4]
            raise ValueError(f"schema describes {shown!r}; an object was expected.")
        raise ValueError(f"schema is a {type(value).__name__}; a JSON schema was expected.")


def is_strict(schema: object) -> bool:
    """Return whether every object in `schema` lists all properties as required, and no others."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if schema.get("type") == "object" or properties is not None:
            if schema.get("additionalProperties") is not False:
                return False
            if set(properties or ()) != set(schema.get("required") or ()):
                return False
        # Under these two the keys are names of fields and definitions, not words of the schema.
        named = [*(properties or {}).values(), *(schema.get("$defs") or {}).values()]
        rest = [value for key, value in schema.items() if key not in {"properties", "$defs"}]
        return all(map(is_strict, [*named, *rest]))
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    return True


def tightened(schema: Any) -> Any:
    """Return a pydantic class's schema with all its fields required and no others allowed.

    A field with a default is then answered too, and the class checks what comes.
    """
    if isinstance(schema, list):
        return [tightened(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result = {key: tightened(value) for key, value in schema.items() if key != "default"}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        # Inside "properties" a key is a field's name, also one called "default".
        result["properties"] = {name: tightened(value) for name, value in properties.items()}
        result["required"] = list(properties)
        result.setdefault("additionalProperties", False)
    return result


def _name(title: object) -> str:
    name = re.sub(r"[^a-zA-Z0-9_-]+", "_", title if isinstance(title, str) else "").strip("_")
    return name[:64] or "answer"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
