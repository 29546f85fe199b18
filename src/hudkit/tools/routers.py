"""The routers `hud` and `memory`: their definitions for a model's list, and the way from a call to an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

import msgspec

from hudkit.compose import visible
from hudkit.errors import ConfigError, HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.tools.answer_text import quote
from hudkit.tools.arguments import convert_arguments
from hudkit.tools.help import call_text, unknown_operation
from hudkit.tools.operation import OPERATIONS, Operation, OperationAlias, OperationResult, find_operation

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string"},
        "args": {"type": "object", "additionalProperties": True},
    },
    "required": ["tool"],
    "additionalProperties": False,
}

DEFINITIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud",
        "description": (
            "Reads and updates what outlives compaction: task, constraints, decisions, steps, notes, files, "
            'blockers, errors. Example: {"tool": "notes.add", "args": {"content": "..."}}. '
            '{"tool": "help"} lists operations.'
        ),
        "parameters": _PARAMETERS,
    },
    {
        "name": "memory",
        "description": (
            "Finds what was said or done in any session, also before a compaction: search, sessions, messages, "
            'plans. Example: {"tool": "search", "args": {"query": "..."}}. Also all of `hud`. {"tool": "help"} lists '
            "operations."
        ),
        "parameters": _PARAMETERS,
    },
)
"""Name, description and JSON Schema of the tools in a model's list; they are paid for in every call."""

_NAMES = tuple(str(definition["name"]) for definition in DEFINITIONS)

_INSTEAD = ("operation", "name", "action", "op", "command", "method", "function")
"""What agents write where `tool` belongs."""


class RouterReply(msgspec.Struct, frozen=True):
    """What a router says to the agent; `ok` is false where the call was refused or could not be recorded."""

    text: str
    ok: bool
    answer: OperationResult | None = None


def call(
    session: SessionCore,
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    origin: Origin = Origin.AGENT,
    router: str = "hud",
) -> OperationResult:
    """Carry out one operation under any of its spellings, and return its answer.

    `origin` is set by the channel, never by the arguments. Raises `OperationError`, whose text ends with a correct
    call as `router` takes it, and a `StoreError` where nothing could be recorded.
    """
    operation, raw = find_operation(name), {} if args is None else args
    if operation is None:
        raise _with_example(*_near(unknown_operation(name), raw, router))
    try:
        wanted = convert_arguments(operation, raw)
        if isinstance(operation, OperationAlias):
            target = operation.to(wanted)
            return OPERATIONS[target.operation].run(session, target.arguments, origin)
        return operation.run(session, wanted, origin)
    except OperationError as error:
        raise _with_example(error, _right(error, operation, raw, router)) from None


def route(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> str:
    """Return the text for the agent of a router's call.

    `arguments` is what the model sent: an object, or its JSON text. Never raises for what an agent or the log's
    medium did wrong: the text says what and how to call it right.
    """
    return reply(session, router, arguments, origin=origin).text


def reply(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> RouterReply:
    """Return what `route` does, with whether it went well and the answer's data."""
    if router not in _NAMES:
        raise ConfigError(f"there is no router {router!r}", hint=f"There are: {', '.join(_NAMES)}")
    # Until the operation is known it may be one that writes: an agent must not believe that it was recorded.
    writes = True
    try:
        name, args = _parse_request(arguments, router)
        operation = find_operation(name)
        writes = operation is None or operation.writes
        # Help lists first what this router is for, whichever was asked.
        if name == "help" and "router" not in args:
            args = {**args, "router": router}
        answer = call(session, name, args, origin=origin, router=router)
    except OperationError as error:
        return RouterReply(str(error), False)
    except HudkitError as error:
        return RouterReply(f"{'not recorded' if writes else 'not available'}: {visible(str(error))}", False)
    return RouterReply(answer.text, True, answer)


def _parse_request(arguments: object, router: str = "hud") -> tuple[str, Mapping[str, Any]]:
    """The operation's name and arguments of what a model sent.

    Understood beside `{tool, args}`: the whole or `args` as JSON text, and operation arguments beside `tool` where
    there are no `args`. Raises `OperationError`.
    """
    example = _example(router)
    sent = _object(arguments, "the call", example)
    name = sent.get("tool")
    if not isinstance(name, str) or not name.strip():
        raise _with_example(_toolless(sent), _guess(sent, router) or example)
    beside = {key: value for key, value in sent.items() if key not in ("tool", "args")}
    args = sent.get("args")
    if args is None or args in ("", {}):
        return name.strip(), beside
    inner = _object(args, '"args"', example)
    if beside and inner:
        names = ", ".join(quote(str(key), 40) for key in list(beside)[:5])
        error = OperationError(f'{names} is beside "args"', hint="Put all arguments of the operation into it.")
        raise _with_example(error, example)
    return name.strip(), inner


@cache
def _example(router: str) -> str:
    return call_text(router, "notes.add", {"content": "..."})


def _object(value: object, what: str, example: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value, object_pairs_hook=_unique_keys, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            reason = error.args[0] if isinstance(error, _RepeatedKey) else "it is not JSON"
            raise _with_example(OperationError(f"{what} cannot be read: {reason}"), example) from None
    if not isinstance(value, Mapping):
        raise _with_example(OperationError(f"{what} must be an object"), example)
    return value


class _RepeatedKey(ValueError):
    """A key stands twice in one object: which one was meant is anybody's guess."""


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    # `json` would silently take the last one.
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for n, key in enumerate(keys) if key in keys[:n])
        raise _RepeatedKey(f"the key {quote(twice, 40)} stands twice")
    return table


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def _toolless(sent: Mapping[str, Any]) -> OperationError:
    if "tool" in sent:
        return OperationError('"tool" must be the name of an operation')
    wrong = next((key for key in _INSTEAD if isinstance(sent.get(key), str)), None)
    hint = f'The operation is named by "tool", not "{wrong}".' if wrong else ""
    return OperationError('"tool" is missing', hint=hint)


def _guess(sent: Mapping[str, Any], router: str) -> str | None:
    """The call that was meant, where the operation stands under another key."""
    for key in _INSTEAD:
        named = sent.get(key)
        operation = (find_operation(named) or find_operation(f"hud_{named}")) if isinstance(named, str) else None
        if operation is not None:
            return _call_of(
                operation, sent.get("args") or {name: value for name, value in sent.items() if name != key}, router
            )
    return None


def _right(error: OperationError, operation: Operation | OperationAlias, raw: object, router: str) -> str:
    """A correct call: the agent's own where one thing in it can be put right, else the operation's example."""
    details = error.details
    if isinstance(raw, Mapping):
        mended: dict[str, Any] = dict(raw)
        if "rename" in details:
            mended = {str(details["rename"]) if key == details["wrong"] else key: value for key, value in raw.items()}
        elif "right" in details:
            mended = {key: _put(value, details["wrong"], details["right"]) for key, value in raw.items()}
        # A call that is shown must be right: the mended one only where it would be accepted.
        if mended != raw and _fits(operation, mended):
            return call_text(router, operation.name, mended)
    return call_text(router, operation.name, operation.example)


def _near(error: OperationError, raw: object, router: str) -> tuple[OperationError, str]:
    """The error about an unknown operation, with the call of the nearest one that takes these arguments."""
    near = [match for match in map(find_operation, cast("list[str]", error.details["near"])) if match is not None]
    if not near:
        return error, call_text(router, "help", {})
    fits = (match for match in near if raw and _fits(match, raw))
    return error, _call_of(next(fits, near[0]), raw, router)


def _call_of(operation: Operation | OperationAlias, raw: object, router: str) -> str:
    """A call of an operation: with these arguments where it takes them, else its example."""
    if isinstance(raw, Mapping) and _fits(operation, raw):
        return call_text(router, operation.name, raw)
    return call_text(router, operation.name, operation.example)


def _fits(operation: Operation | OperationAlias, raw: object) -> bool:
    try:
        convert_arguments(operation, raw)
    except OperationError:
        return False
    return True


def _put(value: object, wrong: object, right: object) -> object:
    # Without the type, 1 and True would be the same.
    if type(value) is type(wrong) and value == wrong:
        return right
    return [_put(entry, wrong, right) for entry in value] if isinstance(value, list | tuple) else value


def _with_example(error: OperationError, example: str) -> OperationError:
    hint = f"{error.hint} Example: {example}".strip()
    return OperationError(error.message, hint=hint, **{**error.details, "example": example})
