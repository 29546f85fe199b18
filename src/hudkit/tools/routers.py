"""The routers `hud` and `memory`: their definitions for a model's list, and the way from a call to an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
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

    `origin` is set by the channel, never by the arguments. Raises `OperationError`, whose text ends with a call that
    is right and does no harm, as `router` takes it, and a `StoreError` where nothing could be recorded.
    """
    operation, raw = find_operation(name), {} if args is None else args
    if operation is None:
        raise _with_example(*_near(unknown_operation(name), name, raw, router))
    try:
        arguments = convert_arguments(operation, raw)
    except OperationError as error:
        raise _with_example(error, _own_call(error, operation, raw, router) or _help_on(operation, router)) from None
    target, carried_out = operation.name, operation
    try:
        if isinstance(operation, OperationAlias):
            target, arguments = msgspec.structs.astuple(operation.to(arguments))
            carried_out = OPERATIONS[target]
        return cast("Operation", carried_out).run(session, arguments, origin)
    except OperationError as error:
        raise _with_example(
            error, _own_call(error, operation, raw, router) or _reading_of(error, target, session, router)
        ) from None


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
    sent = _object(arguments, "the call", _shape(router, "notes.add"))
    name = sent.get("tool")
    if not isinstance(name, str) or not name.strip():
        raise _with_example(_toolless(sent), _guess(sent, router) or call_text(router, "help", {}))
    name = name.strip()
    operation = find_operation(name)
    example = _shape(router, operation.name if operation else "notes.add")
    beside = {key: value for key, value in sent.items() if key not in ("tool", "args")}
    args = sent.get("args")
    if args is None or args in ("", {}):
        return name, beside
    inner = _object(args, '"args"', example)
    if beside and inner:
        names = ", ".join(quote(str(key), 40) for key in list(beside)[:5])
        error = OperationError(f'{names} is beside "args"', hint="Put all arguments of the operation into it.")
        raise _with_example(error, example)
    return name, inner


def _shape(router: str, name: str) -> str:
    """A call that shows how any call is written, and asks about this operation: whoever sends it changes nothing."""
    return call_text(router, "help", {"operation": name})


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
            args = sent.get("args") or {name: value for name, value in sent.items() if name not in (key, "args")}
            return _repeated(operation, args, router) or _help_on(operation, router)
    return None


# --- The call that a refusal shows. Models copy it, so it must be right and must do no harm: it is the agent's own
# call with one thing put right, or it only reads. It never has words or items that the agent did not name.


_TAKES_AWAY = frozenset(
    {"clear", "hud_clear", "update", "hud_update", "undo", "import"}
    | {"remove", "supersede", "complete", "resolve", "resume", "close"}
)
"""Operations, or their last word, that end, replace or take something over: they are shown only where the agent's
words leave no doubt that it meant them."""

_SAME_WORDS = {"remove": ("delete", "drop", "withdraw", "discard"), "complete": ("done", "finish", "close", "check")}
"""Other words that agents have for an operation of a group."""

_READ_INSTEAD = {
    "task.resume": "sessions",
    "task": "task.get",
    "project": "project.get",
    "undo": "history",
    "output": "messages",
    "message": "messages",
    "compare": "sessions",
}
"""What an operation or a group is read with that has no `list` of its own; for all others, the whole state."""

_SAME_SPELLING = 0.75
"""From this likeness on (0 to 1) a word is a misspelling of another, not another word."""


def _own_call(error: OperationError, operation: Operation | OperationAlias, raw: object, router: str) -> str | None:
    """The agent's own call with the one thing put right that was wrong in it, or `None`."""
    details = error.details
    if not isinstance(raw, Mapping):
        return None
    if "rename" in details:
        wrong, right = str(details["wrong"]), str(details["rename"])
        # `{"keep": "notes"}` is not `{"section": "notes"}`, though clearing has no other argument.
        if _takes_away(operation.name) and not get_close_matches(right, (wrong,), 1, _SAME_SPELLING):
            return None
        return _repeated(operation, {right if key == wrong else key: value for key, value in raw.items()}, router)
    if "right" in details:
        mended = {key: _put(value, details["wrong"], details["right"]) for key, value in raw.items()}
        return _repeated(operation, mended, router)
    # What is not known is left out, where that cannot make the call do more than the agent wanted.
    part = {key: value for key, value in raw.items() if key in operation.arguments.__struct_fields__}
    if _takes_away(operation.name) or part == raw:
        return None
    return _repeated(operation, part, router)


def _repeated(operation: Operation | OperationAlias, args: object, router: str) -> str | None:
    """A call of an operation with the agent's own arguments; `None` where it would not be right, or not the same.

    Without arguments it is shown only where it reads.
    """
    if not isinstance(args, Mapping) or not _fits(operation, args):
        return None
    if not args and (operation.writes or operation.name in _READ_INSTEAD):
        return None
    # Of help, the router is ours: `reply` puts it there.
    if operation.name == "help":
        args = {key: value for key, value in args.items() if key != "router"}
    text = call_text(router, operation.name, args)
    try:
        shown = json.loads(text[len(router) + 1 : -1])
    except ValueError:
        return None
    # A long text is shortened there and a secret is left out: sent so, it would be recorded so.
    return text if shown.get("args", {}) == args else None


def _help_on(operation: Operation | OperationAlias, router: str) -> str:
    """A call that tells how an operation is called right; one that reads and needs no arguments is shown itself."""
    if not operation.writes and operation.name not in _READ_INSTEAD and _fits(operation, {}):
        return call_text(router, operation.name, {})
    return _shape(router, operation.name)


def _reading_of(error: OperationError, name: str, session: SessionCore, router: str) -> str:
    """A call that shows what there is, after an operation of this name was refused for what is there."""
    if "instead" in error.details:
        return call_text(router, *cast("tuple[str, Mapping[str, Any]]", error.details["instead"]))
    operation = OPERATIONS[name]
    if not operation.writes and name not in _READ_INSTEAD:
        return _help_on(operation, router)
    group = name.partition(".")[0]
    shows = _READ_INSTEAD.get(name) or _READ_INSTEAD.get(group)
    if shows in ("sessions", "messages") and session.past is None:
        shows = "history"
    return call_text(router, shows or (f"{group}.list" if f"{group}.list" in OPERATIONS else "snapshot"), {})


def _near(error: OperationError, name: str, raw: object, router: str) -> tuple[OperationError, str]:
    """The error about an unknown operation, with the call of the nearest one that takes these arguments."""
    near = [match for match in map(find_operation, cast("list[str]", error.details["near"])) if match is not None]
    if not near:
        return error, call_text(router, "help", {})
    for operation in near:
        meant = not _takes_away(operation.name) or _means(name, operation.name)
        text = _repeated(operation, raw, router) if meant else None
        if text is not None:
            return error, text
    group, point, _ = near[0].name.partition(".")
    return error, _shape(router, group if point else near[0].name)


def _takes_away(name: str) -> bool:
    return name in _TAKES_AWAY or ("." in name and name.rpartition(".")[2] in _TAKES_AWAY - {"update"})


def _means(word: str, name: str) -> bool:
    """Whether a name that is no operation says the same as one that is, in its last word."""
    word, name = word.rpartition(".")[2].casefold(), name.rpartition(".")[2]
    return word in _SAME_WORDS.get(name, ()) or bool(get_close_matches(word, (name,), 1, _SAME_SPELLING))


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
