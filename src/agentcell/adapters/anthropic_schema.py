"""A JSON schema, to one that Anthropic enforces.

Its grammar knows types, enums, references, unions, and a few formats of texts; every object must
forbid further properties. A limit that it does not know (a length, a range, a pattern) becomes a
line in the description, where the model reads it. Read in the anthropic SDK 2.14 on 2026-11-29.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.schema import Schema
from agentcell.adapters.settings import Asked

_NAMED = {"properties", "$defs", "definitions"}
_LITERAL = {"type", "enum", "const", "$ref", "required", "description", "title"}
_NESTED = {name: name for name in ("anyOf", "allOf", "items", "additionalProperties")}
_NESTED["oneOf"] = "anyOf"  # the model answers by one of them either way

_DROPPED = {"$schema", "$id", "$comment", "default", "examples", "example", "deprecated"}
"""What limits nothing."""

_FORMATS = (
    *("date-time", "time", "date", "duration", "email"),
    *("hostname", "uri", "ipv4", "ipv6", "uuid"),
)
_SOME = {("format", name) for name in _FORMATS} | {("minItems", "0"), ("minItems", "1")}
"""Words that are known with these values only."""


def answer_schema(schema: Schema, asked: Asked) -> dict[str, Any]:
    """Return the document of `schema` with what the service does not enforce put into words.

    Raises
    ------
    Unsupported
        If an object is to have free keys: the service can describe no such object.
    """
    return _enforced(schema.document, asked)  # type: ignore[no-any-return]


def _enforced(schema: Any, asked: Asked) -> Any:
    if isinstance(schema, list):
        return [_enforced(item, asked) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    said: list[str] = []
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, Mapping):
            result[key] = {name: _enforced(item, asked) for name, item in value.items()}
        elif key in _LITERAL or (key, str(value)) in _SOME:
            result[key] = value
        elif key in _NESTED:
            result[_NESTED[key]] = _enforced(value, asked)
        elif key not in _DROPPED:
            said.append(f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}")
    if said:
        words = [str(result["description"])] if result.get("description") else []
        result["description"] = "\n".join([*words, f"({', '.join(said)})"])
    is_object = result.get("type") == "object" or "properties" in result
    return _closed(result, asked) if is_object else result


def _closed(schema: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Return an object's schema with further properties forbidden."""
    free = schema.get("additionalProperties", True)
    if isinstance(free, Mapping) or (free and not schema.get("properties")):
        name = schema.get("title") or "an object"
        asked.refuse(
            f"The schema for {asked.name} lets {name!r} have any keys; only named ones work.",
            "name the keys, or use a list of objects with 'key' and 'value'.",
        )
    return {"type": "object", **schema, "additionalProperties": False}
