"""Plain Python functions as tools: the schema is made of the types, the descriptions of the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome, run_in_thread
from hudkit.agent.workspace import quote
from hudkit.errors import ConfigError

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What every provider takes as the name of a tool."""


def function_tool(
    function: Callable[..., Any], *, name: str = "", description: str = "", reads_only: bool = False
) -> Tool:
    """Return a function as a tool; `LoopOptions.tools` takes functions as they are, too.

    The parameters' types are the schema, with `Annotated[…, msgspec.Meta(…)]` for bounds; the docstring (Google,
    NumPy, reST or Epydoc style) describes tool and parameters. The model does not see a parameter of the type
    `ToolContext`, which is filled with the session's context. The answer is a text, a `ToolOutcome`, or anything that
    can be JSON. An exception is the model's answer. A function that is no coroutine runs in a thread, which goes on
    where the call is cancelled. `reads_only`: it changes nothing, so that it may run beside its neighbours.

    Raises `ConfigError` where the function cannot be called with named arguments that are JSON.
    """
    name = name or getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{quote(name)} cannot be the name of a tool", hint="function_tool(function, name=…) gives it one"
        )
    hints = _hints(function, name)
    parameters = inspect.signature(function).parameters.values()
    context_name = next((each.name for each in parameters if hints.get(each.name) is ToolContext), "")
    about, documented = _described(function)
    fields = [
        _field(each, hints.get(each.name, Any), documented.get(each.name, ""), name)
        for each in parameters
        if each.name != context_name
    ]
    kind = _arguments_struct(name, fields)
    is_async = inspect.iscoroutinefunction(_called(function))

    async def run(arguments: ToolInput, context: ToolContext) -> ToolOutcome:
        named = {field: getattr(arguments, field) for field in arguments.__struct_fields__}
        if context_name:
            named[context_name] = context
        answer = await (function(**named) if is_async else run_in_thread(lambda _: function(**named)))
        return _outcome(await answer if inspect.isawaitable(answer) else answer)

    def needs(_: ToolInput, __: ToolContext) -> Sequence[RequiredPermission]:
        return (RequiredPermission(name, ("*",), f"{name}, a function of this program"),)

    return Tool(name, description or about or name, kind, run, needs, reads_only=reads_only)


def _called(function: Callable[..., Any]) -> Any:
    """What runs when it is called: a function, or the method of an object."""
    return function if inspect.isroutine(function) else type(function).__call__


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(_called(function), include_extras=True)
    except Exception as error:
        raise ConfigError(
            f"the types of the tool {name} cannot be read: {error}", hint="Import them where it is defined"
        ) from None


def _described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The function's description and those of its parameters."""
    from docstring_parser import parse

    parsed = parse(inspect.getdoc(function) or "")
    parameters = {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
    return "\n\n".join(filter(None, (parsed.short_description, parsed.long_description))), parameters


def _field(parameter: inspect.Parameter, type: Any, description: str, tool: str) -> tuple[str, Any, Any]:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ConfigError(
            f"the parameter {parameter} of the tool {tool} has no name of its own",
            hint="A tool's parameters are named; leave out *args, **kwargs and /",
        )
    if description:
        type = Annotated[type, Meta(description=description)]
    default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
    if isinstance(default, list | dict | set | bytearray):
        value = default
        default = msgspec.field(default_factory=value.copy)
    return parameter.name, type, default


def _arguments_struct(name: str, fields: list[tuple[str, Any, Any]]) -> type[ToolInput]:
    try:
        kind = msgspec.defstruct(
            f"_{name.title().replace('_', '').replace('-', '')}Arguments",
            fields,
            bases=(ToolInput,),
            frozen=True,
            forbid_unknown_fields=True,
            kw_only=True,
        )
        msgspec.json.schema(kind)
    except TypeError as error:
        raise ConfigError(
            f"the parameters of the tool {name} cannot be described: {error}", hint="Use types that JSON has"
        ) from None
    assert issubclass(kind, ToolInput)
    return kind


def _outcome(answer: object) -> ToolOutcome:
    if isinstance(answer, ToolOutcome):
        return answer
    if isinstance(answer, str):
        return ToolOutcome(answer)
    if answer is None:
        return ToolOutcome("done")
    return ToolOutcome(msgspec.json.encode(answer, enc_hook=str).decode())
