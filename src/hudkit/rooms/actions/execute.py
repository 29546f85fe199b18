"""Executing a reply: each response and each action is evaluated alone, and what came of it is appended to the log."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec.structs import fields

from hudkit.compose import shorten
from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log.secret_patterns import replace_secrets
from hudkit.rooms import world_events as e
from hudkit.rooms.actions.action import ACTIONS, ActionArguments, ActionContext, PositiveId
from hudkit.rooms.actions.room_actions import post_message, visible_message
from hudkit.rooms.reply_parser import ParsedReply, is_silence
from hudkit.rooms.world import World
from hudkit.rooms.world_log import Transaction

# What an agent sees of an action among its recent ones is cut to these, so that one action cannot fill its HUD.
_MAX_VALUE_CHARACTERS = 160
_MAX_RESULT_CHARACTERS = 800
"""Of what a tool came to."""
_MAX_FIELDS = 12
_MAX_FIELD_NAME_CHARACTERS = 40

_SEND_MESSAGE = "send_message"
"""An action that is a response (003 has both)."""

_REDACTED_KEY = "[key]"


class _ResponseArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    message: str = ""
    content: str = ""
    reply_to: PositiveId | None = None


def execute_reply(
    transaction: Transaction, world: World, agent_id: int, number: int, reply: ParsedReply, now: int
) -> None:
    """Do what a reply asks for, actions first, then responses (003).

    `agent_id` is who was asked, `number` its beat, `now` Unix ms. Appends `ActionApplied` and then its effects for an
    action that is carried out, the message for a response, and `ActionRefused` with the reason for what is not done,
    and for each fault of the reply. Never raises for what an agent wrote.
    """
    context = ActionContext(world, agent_id, now, transaction.secret)
    context.beat = number
    context.use_tool = transaction.use_tool
    if world.agents[agent_id].retired:
        _refuse(transaction, context, number, {}, "you were retired")
        return
    for fault in reply.faults:
        _refuse(transaction, context, number, {}, fault)
    # Each alone: a wrong action costs itself, not the reply.
    for raw in reply.actions:
        _execute(transaction, context, number, raw)
    for raw in reply.responses:
        _execute(transaction, context, number, {"type": _SEND_MESSAGE, **raw})


def evaluate_action(context: ActionContext, raw: Mapping[str, Any]) -> None:
    """Evaluate one action; its effects are in the context then. Raises `OperationError` where it is refused."""
    context.begin_action()
    name = raw.get("type")
    if name == _SEND_MESSAGE:
        example = {"room_id": 8, "message": "Hello!"}
        _respond(context, _convert_arguments(_ResponseArguments, raw, "a response", example))
        return
    action = ACTIONS.get(name) if isinstance(name, str) else None
    if action is None:
        near = get_close_matches(str(name), ACTIONS, 1)
        hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(ACTIONS)}"
        raise OperationError(f"there is no action {str(name)!r:.60}", hint=hint)
    action.run(context, _convert_arguments(action.arguments, raw, f'"{name}"', action.example))


def _respond(context: ActionContext, args: _ResponseArguments) -> None:
    if args.message and args.content and args.message != args.content:
        raise OperationError("it has a message and another content", hint="Only one of them")
    content = args.message or args.content
    if is_silence(content):
        return
    answered = visible_message(context, args.reply_to, args.room_id) if args.reply_to else None
    post_message(context, args.room_id, content, answered)


def _convert_arguments(
    kind: type[msgspec.Struct], raw: Mapping[str, Any], subject: str, example: Mapping[str, Any]
) -> Any:
    """Return the arguments of an action. Raises `OperationError` with an example of a right one.

    Fields that the action does not have are refused, but for empty ones: a TOON table has a cell for every column. An
    empty field that need not be given counts as not given.
    """
    required = _required_fields(kind)
    arguments = {key: raw[key] for key in raw if key in required or (key != "type" and raw[key] not in (None, ""))}
    try:
        return msgspec.convert(arguments, kind, strict=False)
    except msgspec.ValidationError as error:
        right = msgspec.json.encode(example).decode()
        raise OperationError(f"{subject}: {error}{_choices(kind, str(error))}", hint=f"Such as {right}") from None


@cache
def _required_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.required)


def _choices(kind: type[msgspec.Struct], error: str) -> str:
    """Return what there is to choose from, where a value is none of it."""
    field = error.rpartition("`$.")[2].rstrip("`")
    choices = get_args(get_type_hints(kind).get(field)) if error.startswith("Invalid enum value") else ()
    return f", which is one of {', '.join(choices)}" if choices else ""


def _execute(transaction: Transaction, context: ActionContext, number: int, raw: Mapping[str, Any]) -> None:
    """Evaluate one action and append what came of it."""
    raw = _without_secrets(raw)
    tool = raw.get("type")
    try:
        if isinstance(tool, str) and tool in context.world.rules.tools:
            context.begin_action()
            _append(transaction, context, e.ActionApplied(context.actor, number, _tool_action(context, tool, raw)))
            return
        evaluate_action(context, raw)
    except OperationError as refusal:
        # A guess at a key counts although nothing else of it happened.
        for effect in context.effects_if_refused:
            _append(transaction, context, effect)
        _refuse(transaction, context, number, _as_recent_action(raw), str(refusal))
        return
    # A response is its message, and no action beside it: agents would read everything that they say twice.
    if raw.get("type") != _SEND_MESSAGE:
        _append(transaction, context, e.ActionApplied(context.actor, number, _as_recent_action(raw)))
    for effect in context.effects:
        _append(transaction, context, effect)
    for agent, text in context.whispers:
        transaction.whisper(agent, text)


def _tool_action(context: ActionContext, tool: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Let the world's game master carry out a tool; return the action with its result. Raises `OperationError`."""
    if context.use_tool is None:
        raise OperationError(f"nobody carries out {tool!r} now")
    arguments = {key: value for key, value in raw.items() if key != "type"}
    result = context.use_tool(context.world, context.actor, tool, arguments)
    return {**_as_recent_action(raw), "result": shorten(result, _MAX_RESULT_CHARACTERS)}


def _refuse(transaction: Transaction, context: ActionContext, number: int, action: dict[str, Any], why: str) -> None:
    _append(transaction, context, e.ActionRefused(context.actor, number, action, why))


def _append(transaction: Transaction, context: ActionContext, event: e.WorldEvent) -> None:
    transaction.append(event, timestamp=context.now, origin=Origin.AGENT)


def _without_secrets(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an action without secrets, so that what is evaluated is what is appended.

    A key that is tried must reach the evaluation as it is; `_as_recent_action` takes it away before it is appended.
    """
    if raw.get("type") == "request_access":
        return raw
    body = msgspec.json.encode(raw)
    clean = replace_secrets(body)
    return raw if clean is body else msgspec.json.decode(clean)


def _as_recent_action(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action as its agent sees it afterwards: long values cut, a key that was tried left out."""
    tried_key = raw.get("type") == "request_access"
    shown: dict[str, Any] = {}
    for key, value in islice(raw.items(), _MAX_FIELDS):
        secret = tried_key and key not in ("type", "room_id")
        shown[shorten(key, _MAX_FIELD_NAME_CHARACTERS)] = _REDACTED_KEY if secret else _shortened(value)
    return shown


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, _MAX_VALUE_CHARACTERS)
    if isinstance(value, dict | list):
        text = msgspec.json.encode(value).decode()
        return value if len(text) <= _MAX_VALUE_CHARACTERS else shorten(text, _MAX_VALUE_CHARACTERS)
    return value
