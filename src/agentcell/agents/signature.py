"""A Python function's signature and docstring → what a model is told, and its arguments checked."""

from __future__ import annotations

import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from agentcell.agents.docstring import documented
from agentcell.agents.readable_types import readable
from agentcell.agents.untellable import named_in, told
from agentcell.errors import ToolError


class Hidden:
    """Marks a parameter that the model neither sees nor sets: ``Annotated[Connection, Hidden]``."""


class Arguments:
    """The parameters of one function, as a JSON schema and as a check.

    Parameters
    ----------
    function
        Any callable with a readable signature.
    hidden
        Names of further parameters that the model does not see.

    Raises
    ------
    ToolError
        If a parameter's type cannot be told to a model, or a hidden name is no parameter.
    """

    def __init__(self, function: Callable[..., Any], hidden: Collection[str] = ()) -> None:
        self.function_name = name_of(function)
        try:
            signature = inspect.signature(function)
        except (ValueError, TypeError) as error:  # of many classes written in C
            raise ToolError(
                f"Tool '{self.function_name}' does not say which parameters it takes.",
                fix="write a function around it.",
            ) from error
        hints = _hints(function, signature, self.function_name)
        unknown = [name for name in hidden if name not in signature.parameters]
        if unknown:
            raise ToolError(
                f"Tool '{self.function_name}' has no parameter '{unknown[0]}' to hide.",
                fix=f"its parameters are {', '.join(signature.parameters) or 'none'}.",
            )
        self.parameters: dict[str, inspect.Parameter] = {}
        self.hidden: dict[str, inspect.Parameter] = {}
        self._defaults: dict[str, Any] = {}  # of parameters whose default is pydantic's Field
        for name, parameter in signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            is_hidden = name in hidden or name.startswith("_") or _is_marked(hints.get(name))
            (self.hidden if is_hidden else self.parameters)[name] = parameter
        self._model = self._made(hints, documented(function)[1])
        self.schema = self._schema()

    def lacks_object(self, function: object) -> bool:
        """Whether `function` is a method as its class holds it, and would be asked for ``self``."""
        first = next(iter(self.parameters), "")
        held = str(getattr(function, "__qualname__", "")).rpartition(".")[0]
        is_method = inspect.isfunction(function) and bool(held) and not held.endswith("<locals>")
        return is_method and first in {"self", "cls"}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as Python values; what was not given is left to the function.

        Raises
        ------
        ToolError
            Saying of each wrong argument what was given and what is expected.
        """
        import pydantic

        try:
            checked = self._model.model_validate(dict(given))
        except pydantic.ValidationError as error:
            raise ToolError(
                f"The arguments of '{self.function_name}' cannot be used: {problems(error)}.",
                fix=f"call it with {', '.join(self.parameters) or 'no arguments'}.",
            ) from None
        fields = checked.model_fields_set
        return {
            name: getattr(checked, f"p{at}")
            for at, name in enumerate(self.parameters)
            if f"p{at}" in fields or name in self._defaults
        }

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return `values` as positional and keyword arguments."""
        by_place: list[Any] = []
        by_name = dict(values)
        for name, parameter in {**self.parameters, **self.hidden}.items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in by_name:
                by_place.append(by_name.pop(name))
        return by_place, by_name

    def _made(self, hints: Mapping[str, Any], texts: Mapping[str, str]) -> Any:
        import pydantic
        import pydantic_core
        from pydantic.fields import FieldInfo

        fields: dict[str, Any] = {}
        for at, (name, parameter) in enumerate(self.parameters.items()):
            hint = readable(hints.get(name, Any))
            default = ... if parameter.default is parameter.empty else parameter.default
            described = _annotated_text(hint) or texts.get(name) or None
            if isinstance(default, FieldInfo):  # def f(x: int = Field(3, ge=0))
                described = default.description or described
                marks = tuple(default.metadata)  # ge=0 and the like
                hint = Annotated[(hint, *marks)] if marks else hint
                default = default.get_default(call_default_factory=True)
                if default is pydantic_core.PydanticUndefined:
                    default = ...
                else:
                    self._defaults[name] = default
            # Fields have names of our own: "json" or "model_x" would clash with pydantic's.
            info = pydantic.Field(default, alias=name, description=described)
            fields[f"p{at}"] = (hint, info)
        config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pydantic.warnings.ArbitraryTypeWarning)
                return pydantic.create_model("Arguments", __config__=config, **fields)
        except Exception as error:
            raise self._untellable(error, fields) from error

    def _schema(self) -> dict[str, Any]:
        from pydantic.json_schema import GenerateJsonSchema

        class Quiet(GenerateJsonSchema):
            # A default that is no JSON is left out, without a warning.
            ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

            def field_title_should_be_set(self, schema: Any) -> bool:
                del schema
                return False

        try:
            made = self._model.model_json_schema(by_alias=True, schema_generator=Quiet)
        except Exception as error:
            hints = {name: (one.annotation,) for name, one in self._model.model_fields.items()}
            raise self._untellable(error, hints) from error
        schema: dict[str, Any] = {"type": "object", "properties": made.get("properties", {})}
        if made.get("required"):
            schema["required"] = made["required"]
        if "$defs" in made:
            schema["$defs"] = {
                name: {key: value for key, value in one.items() if key != "title"}
                for name, one in made["$defs"].items()
            }
        return schema

    def _untellable(self, error: Exception, fields: Mapping[str, Any]) -> ToolError:
        for at, name in enumerate(self.parameters):
            hint = fields[f"p{at}"][0]
            if not _is_tellable(hint):
                what = f"Parameter '{name}' of tool '{self.function_name}'"
                return ToolError(
                    f"{what} cannot be told to a model: its type is {named_in(hint)[:160]}.",
                    fix="give it a type of text, numbers, lists, dataclasses or pydantic models,"
                    " or hide it: Annotated[Type, Hidden].",
                )
        first = told(error).splitlines()[0][:160]
        return ToolError(
            f"The parameters of tool '{self.function_name}' cannot be told to a model: {first}.",
            fix="give them types of text, numbers, lists, dataclasses or pydantic models,"
            " or hide them: Annotated[Type, Hidden].",
        )


def name_of(function: Any) -> str:
    """Return a callable's own name; a partial's is its function's."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _hints(function: Any, signature: inspect.Signature, name: str) -> dict[str, Any]:
    """Return the parameters' types. What the function returns is not asked for."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isclass(function):
        function = function.__init__
    elif not inspect.isroutine(function):
        function = type(function).__call__
    plain = inspect.unwrap(getattr(function, "__func__", function))
    cells = getattr(plain, "__closure__", None) or ()
    names = getattr(getattr(plain, "__code__", None), "co_freevars", ())
    local = {
        one: cell.cell_contents for one, cell in zip(names, cells, strict=False) if _full(cell)
    }

    def holder() -> None: ...

    holder.__annotations__ = {
        one.name: one.annotation
        for one in signature.parameters.values()
        if one.annotation is not one.empty
    }
    try:
        return typing.get_type_hints(
            holder, getattr(plain, "__globals__", {}), local, include_extras=True
        )
    except (NameError, SyntaxError, TypeError) as error:
        raise ToolError(
            f"Tool '{name}' has a parameter whose type is not known here: {error}.",
            fix="define the type outside of any function, before the tool.",
        ) from error


def _is_tellable(hint: Any) -> bool:
    import pydantic

    try:
        pydantic.TypeAdapter(hint).json_schema()
    except Exception:  # noqa: BLE001 (whatever it is: no schema)
        return False
    return True


def _full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is bound later
        return False
    return True


def _is_marked(hint: Any) -> bool:
    marks = getattr(hint, "__metadata__", ())
    return any(mark is Hidden or isinstance(mark, Hidden) for mark in marks)


def _annotated_text(hint: Any) -> str:
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, str):
            return mark
        described = getattr(mark, "description", None)
        if isinstance(described, str):
            return described
    return ""


def problems(error: Any, *, whole: str = "arguments") -> str:
    """Return what pydantic's `ValidationError` says, on one line; the first five of it.

    Parameters
    ----------
    whole
        What stands for all that was checked, where a problem is of no single field.
    """
    said = []
    for one in error.errors(include_url=False, include_context=False)[:5]:
        place = ".".join(str(part) for part in one["loc"]) or whole
        given = "" if one["type"] == "missing" else f" (given: {repr(one['input'])[:60]})"
        said.append(f"{place}: {one['msg']}{given}")
    return "; ".join(said)
