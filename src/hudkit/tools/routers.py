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
from hudkit.tools.arguments import convert
from hudkit.tools.help import unknown, written
from hudkit.tools.lines import echo
from hudkit.tools.operation import OPERATIONS, Alias, Answer, Operation, spelled

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

_NAMES = tuple(str(one["name"]) for one in DEFINITIONS)

_INSTEAD = ("operation", "name", "action", "op", "command", "method", "function")
"""What agents write where `tool` belongs."""


class Reply(msgspec.Struct, frozen=True):
    """What a router says to the agent; `ok` is false where the call was refused or could not be recorded."""

    text: str
    ok: bool
    answer: Answer | None = None


def call(
    session: SessionCore,
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    origin: Origin = Origin.AGENT,
    router: str = "hud",
) -> Answer:
    """Carry out one operation under any of its spellings.

    `origin` is set by the channel, never by the arguments. Raises `OperationError`, whose text ends with a correct
    call as `router` takes it, and a `StoreError` where nothing could be recorded.
    """
    found, given = spelled(name), {} if args is None else args
    if found is None:
        raise _told(*_near(unknown(name), given, router))
    try:
        wanted = convert(found, given)
        if isinstance(found, Alias):
            target = found.to(wanted)
            return OPERATIONS[target.operation].run(session, target.arguments, origin)
        return found.run(session, wanted, origin)
    except OperationError as error:
        raise _told(error, _right(error, found, given, router)) from None


def route(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> str:
    """The text for the agent of a router's call. `arguments` is what the model sent: an object, or its JSON text.

    Never raises for what an agent or the log's medium did wrong: the text says what and how to call it right.
    """
    return reply(session, router, arguments, origin=origin).text


def reply(session: SessionCore, router: str, arguments: object, *, origin: Origin = Origin.AGENT) -> Reply:
    """`route`, with whether it went well and the answer's data."""
    if router not in _NAMES:
        raise ConfigError(f"there is no router {router!r}", hint=f"There are: {', '.join(_NAMES)}")
    writes = True
    try:
        name, args = request(arguments, router)
        found = spelled(name)
        writes = found is None or found.writes
        if name == "help" and "router" not in args:
            args = {**args, "router": router}
        answer = call(session, name, args, origin=origin, router=router)
    except OperationError as error:
        return Reply(str(error), False)
    except HudkitError as error:
        return Reply(f"{'not recorded' if writes else 'not available'}: {visible(str(error))}", False)
    return Reply(answer.text, True, answer)


def request(arguments: object, router: str = "hud") -> tuple[str, Mapping[str, Any]]:
    """The operation's name and arguments of what a model sent.

    Understood beside `{tool, args}`: the whole or `args` as JSON text, and operation arguments beside `tool` where
    there are no `args`. Raises `OperationError`.
    """
    example = _example(router)
    sent = _object(arguments, "the call", example)
    name = sent.get("tool")
    if not isinstance(name, str) or not name.strip():
        raise _told(_toolless(sent), _guess(sent, router) or example)
    beside = {key: value for key, value in sent.items() if key not in ("tool", "args")}
    args = sent.get("args")
    if args is None or args in ("", {}):
        return name.strip(), beside
    inner = _object(args, '"args"', example)
    if beside and inner:
        names = ", ".join(echo(str(key), 40) for key in list(beside)[:5])
        error = OperationError(f'{names} is beside "args"', hint="Put all arguments of the operation into it.")
        raise _told(error, example)
    return name.strip(), inner


@cache
def _example(router: str) -> str:
    return written(router, "notes.add", {"content": "..."})


def _object(value: object, what: str, example: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value, object_pairs_hook=_once, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            reason = error.args[0] if isinstance(error, _Twice) else "it is not JSON"
            raise _told(OperationError(f"{what} cannot be read: {reason}"), example) from None
    if not isinstance(value, Mapping):
        raise _told(OperationError(f"{what} must be an object"), example)
    return value


class _Twice(ValueError):
    """A key stands twice in one object: which one was meant is anybody's guess."""


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for n, key in enumerate(keys) if key in keys[:n])
        raise _Twice(f"the key {echo(twice, 40)} stands twice")
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
        found = (spelled(named) or spelled(f"hud_{named}")) if isinstance(named, str) else None
        if found is not None:
            return _call_of(found, sent.get("args") or {name: it for name, it in sent.items() if name != key}, router)
    return None


def _right(error: OperationError, found: Operation | Alias, given: object, router: str) -> str:
    """A correct call: the agent's own where one thing in it can be put right, else the operation's example."""
    details = error.details
    if isinstance(given, Mapping):
        mended: dict[str, Any] = dict(given)
        if "rename" in details:
            mended = {str(details["rename"]) if key == details["wrong"] else key: it for key, it in given.items()}
        elif "right" in details:
            mended = {key: _put(value, details["wrong"], details["right"]) for key, value in given.items()}
        if mended != given and _fits(found, mended):
            return written(router, found.name, mended)
    return written(router, found.name, found.example)


def _near(error: OperationError, given: object, router: str) -> tuple[OperationError, str]:
    """The error about an unknown operation, with the call of the nearest one that takes these arguments."""
    near = [one for one in map(spelled, cast("list[str]", error.details["near"])) if one is not None]
    if not near:
        return error, written(router, "help", {})
    fits = (one for one in near if given and _fits(one, given))
    return error, _call_of(next(fits, near[0]), given, router)


def _call_of(found: Operation | Alias, given: object, router: str) -> str:
    """A call of an operation: with these arguments where it takes them, else its example."""
    if isinstance(given, Mapping) and _fits(found, given):
        return written(router, found.name, given)
    return written(router, found.name, found.example)


def _fits(found: Operation | Alias, given: object) -> bool:
    try:
        convert(found, given)
    except OperationError:
        return False
    return True


def _put(value: object, wrong: object, right: object) -> object:
    if type(value) is type(wrong) and value == wrong:
        return right
    return [_put(one, wrong, right) for one in value] if isinstance(value, list | tuple) else value


def _told(error: OperationError, example: str) -> OperationError:
    hint = f"{error.hint} Example: {example}".strip()
    return OperationError(error.message, hint=hint, **{**error.details, "example": example})
